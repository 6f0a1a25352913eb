/** Requests on their way between nodes, with nodes that a test plays: a request is in one call at a time. */

import type { RemoteAnswer, RemoteRequest } from "@detent/durable/internal"
import type { Overloaded, PersistenceFailed } from "@detent/machine"
import type { InstanceKey } from "@detent/store"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { type Answer, Delivery, defaultOutgoing } from "../src/Delivery.ts"
import { callCharacters } from "../src/Protocol.ts"

interface HeardCall {
  readonly address: string
  /** Of each request, whether it says that it was not sent before. */
  readonly isFirst: ReadonlyArray<boolean>
  /** The ids of its requests, in their order. */
  readonly ids: ReadonlyArray<string>
  /** What the node says: answers by position. None: it has the requests. */
  readonly says: (...answers: ReadonlyArray<readonly [number, RemoteAnswer]>) => Effect.Effect<void>
  readonly ends: Effect.Effect<void>
}

const elsewhere: RemoteAnswer = { _tag: "Elsewhere", reason: "the instance is not here" }
const done: Answer = { _tag: "Done" }
const refused: Answer = { _tag: "Refused", error: "{}" }

/** Longer than a request that found no node waits. */
const longer = Effect.sleep(400)

const keyOf = (id: string): InstanceKey => ({ machine: "counter", id })

const idOf = (request: RemoteRequest): string => (request._tag === "Send" ? request.id : request._tag)

/** A delivery, the calls it makes, and the owner of all instances. */
const makeDelivery = (patienceMillis = 10_000, limits = defaultOutgoing) =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const calls: Array<HeardCall> = []
    let owner: string | undefined = "one"
    const delivery = new Delivery({
      ownerOf: () => owner,
      refreshOwners: () => undefined,
      call: (address, parcels, { progress, over }) => {
        const saying = (say: () => void) => Effect.andThen(Effect.sync(say), Effect.sleep(1))
        calls.push({
          address,
          isFirst: parcels.flatMap(({ requests }) => requests.map((one) => one._tag === "Send" && one.first === true)),
          ids: parcels.flatMap(({ requests }) => requests.map(idOf)),
          says: (...answers) => saying(() => progress(answers)),
          ends: saying(() => over(`${address}: it did not answer`)),
        })
      },
      run: (effect) => void Effect.runForkWith(context)(effect),
      clock: yield* Clock.Clock,
      patienceMillis,
      limits,
    })
    const send = (instance: string, id: string, event = "{}"): Effect.Effect<Fiber.Fiber<Answer, PersistenceFailed | Overloaded>> =>
      Effect.forkDetach(delivery.request(keyOf(instance), { _tag: "Send", event, id, first: true }), { startImmediately: true })
    /** The next call, once it is made. */
    const call = (index: number) =>
      Effect.map(Effect.repeat(Effect.sleep(1), { until: () => calls.length > index }), () => calls[index] as HeardCall)
    const moveTo = (address: string | undefined) =>
      Effect.sync(() => {
        owner = address
        delivery.ownersChanged()
      })
    return { calls, call, send, moveTo, delivery }
  })

const isAnswered = <A, E>(fiber: Fiber.Fiber<A, E>): boolean => fiber.pollUnsafe() !== undefined

describe("a request on its way", () => {
  it.live("says that it was not sent before in its first call, and in no other", () =>
    Effect.gen(function* () {
      const { call, send, moveTo } = yield* makeDelivery()
      const moved = yield* send("a", "a-1")
      const first = yield* call(0)
      assert.deepStrictEqual(first.isFirst, [true])
      yield* first.says([0, elsewhere])
      const second = yield* call(1)
      assert.deepStrictEqual([second.ids, second.isFirst], [["a-1"], [false]])
      yield* second.says()
      const later = yield* send("a", "a-2")
      assert.deepStrictEqual((yield* call(2)).isFirst, [true])
      yield* moveTo("two")
      const third = yield* call(3)
      assert.deepStrictEqual(
        [third.ids, third.isFirst],
        [
          ["a-1", "a-2"],
          [false, false],
        ],
      )
      yield* third.says([0, done], [1, done])
      yield* Fiber.join(moved)
      yield* Fiber.join(later)
    }),
  )

  it.live("is not sent a third time when the call that did not find its instance ends", () =>
    Effect.gen(function* () {
      const { calls, call, send } = yield* makeDelivery()
      const moved = yield* send("a", "a-1")
      const other = yield* send("b", "b-1")
      const first = yield* call(0)
      assert.deepStrictEqual(first.ids, ["a-1", "b-1"])
      yield* first.says([0, elsewhere])
      const second = yield* call(1)
      assert.deepStrictEqual(second.ids, ["a-1"])
      yield* second.says()
      yield* first.says([1, done])
      yield* first.ends
      yield* longer
      assert.lengthOf(calls, 2)
      yield* second.says([0, refused])
      assert.deepStrictEqual([yield* Fiber.join(other), yield* Fiber.join(moved)], [done, refused])
    }),
  )

  it.live("is sent again alone, where requests behind it found their instance", () =>
    Effect.gen(function* () {
      const { calls, call, send } = yield* makeDelivery()
      yield* send("a", "a-1")
      const behind = yield* send("a", "a-2")
      const first = yield* call(0)
      yield* first.says([0, elsewhere])
      const second = yield* call(1)
      assert.deepStrictEqual(second.ids, ["a-1"])
      yield* second.says()
      yield* first.says([1, refused])
      assert.deepStrictEqual(yield* Fiber.join(behind), refused)
      yield* first.ends
      yield* longer
      assert.lengthOf(calls, 2)
    }),
  )

  it.live("turns to the node that has its instance now, with all behind it; the node before can accept it, and no longer refuse it", () =>
    Effect.gen(function* () {
      const { call, send, moveTo } = yield* makeDelivery()
      const one = yield* send("a", "a-1")
      const two = yield* send("a", "a-2")
      const frozen = yield* call(0)
      const three = yield* send("a", "a-3")
      yield* moveTo("two")
      const second = yield* call(1)
      assert.deepStrictEqual([second.address, second.ids], ["two", ["a-1", "a-2", "a-3"]])
      yield* frozen.says([0, refused], [1, done])
      yield* Effect.sleep(5)
      assert.deepStrictEqual([isAnswered(one), isAnswered(two), isAnswered(three)], [false, true, false])
      yield* second.says([0, done], [1, done], [2, refused])
      assert.deepStrictEqual([yield* Fiber.join(one), yield* Fiber.join(two), yield* Fiber.join(three)], [done, done, refused])
    }),
  )

  it.live("waits behind one that the node has not got, and is sent when no node was known and one is", () =>
    Effect.gen(function* () {
      const { calls, call, send, moveTo } = yield* makeDelivery()
      yield* moveTo(undefined)
      const one = yield* send("a", "a-1")
      yield* Effect.sleep(30)
      assert.lengthOf(calls, 0)
      yield* moveTo("one")
      const first = yield* call(0)
      const two = yield* send("a", "a-2")
      yield* Effect.sleep(30)
      assert.lengthOf(calls, 1)
      yield* first.says()
      const second = yield* call(1)
      assert.deepStrictEqual(second.ids, ["a-2"])
      yield* second.says([0, done])
      yield* first.says([0, done])
      assert.deepStrictEqual([yield* Fiber.join(one), yield* Fiber.join(two)], [done, done])
    }),
  )

  it.live("fails after the patience where a node takes it and never answers it, with the reason and the next step", () =>
    Effect.gen(function* () {
      const { calls, send, delivery } = yield* makeDelivery(300)
      const one = yield* send("a", "a-1")
      let heard = 0
      while (!isAnswered(one)) {
        for (const call of calls.slice(heard)) {
          yield* call.says([7, done])
          yield* call.ends
          heard++
        }
        yield* Effect.sleep(2)
      }
      const error = yield* Effect.flip(Fiber.join(one))
      assert.include(error.message, "one: it did not answer; it may have been carried out: send it again under the same id")
      assert.strictEqual(delivery.size, 0)
    }),
  )
})

describe("many requests to one node", () => {
  it.live("are divided into calls of bounded size, where a larger one has a call of its own, and each instance keeps its order", () =>
    Effect.gen(function* () {
      const { calls, call, send } = yield* makeDelivery()
      const third = "x".repeat(callCharacters / 3)
      const whole = "x".repeat(callCharacters * 4)
      for (const id of ["a-1", "a-2", "a-3", "a-4"]) yield* send("a", id, third)
      yield* send("b", "b-1", whole)
      yield* send("c", "c-1")
      for (const [index, expected] of [["a-1", "a-2", "a-3"], ["b-1"], ["c-1", "a-4"]].entries()) {
        const { ids, says } = yield* call(index)
        assert.deepStrictEqual(ids, expected)
        yield* says(...ids.map((_, position) => [position, done] as const))
      }
      yield* longer
      assert.lengthOf(calls, 3)
    }),
  )

  it.live("are refused above their number, and accepted again when one is answered", () =>
    Effect.gen(function* () {
      const { call, send, delivery } = yield* makeDelivery(10_000, { requests: 3, characters: 1000 })
      for (const id of ["1", "2", "3"]) yield* send(id, id)
      const refused = yield* Effect.flip(Fiber.join(yield* send("a", "4")))
      assert.deepInclude(refused, { _tag: "Overloaded", machine: "counter", id: "a", waiting: 3, node: "one" })
      assert.include(refused.message, "send it again later")
      yield* (yield* call(0)).says([0, done])
      yield* send("a", "4")
      assert.strictEqual(delivery.size, 3)
    }),
  )

  it.live("are refused above their characters, also while no node is known, and count for the node that is known later", () =>
    Effect.gen(function* () {
      const { send, moveTo, delivery } = yield* makeDelivery(10_000, { requests: 100, characters: 1000 })
      const isRefused = Effect.fnUntraced(function* (size: number) {
        const fiber = yield* send("a", "more", "x".repeat(size))
        return fiber.pollUnsafe() === undefined ? "accepted" : (yield* Effect.flip(Fiber.join(fiber)))._tag
      })
      yield* moveTo(undefined)
      yield* send("a", "1", "x".repeat(600))
      assert.strictEqual(yield* isRefused(500), "Overloaded")
      yield* moveTo("one")
      assert.strictEqual(yield* isRefused(500), "Overloaded")
      assert.strictEqual(yield* isRefused(400), "accepted")
      yield* moveTo("two")
      assert.strictEqual(yield* isRefused(1), "Overloaded")
      assert.strictEqual(delivery.size, 2)
    }),
  )

  it.live("one that is larger than the bound is sent when nothing else waits", () =>
    Effect.gen(function* () {
      const { call, send } = yield* makeDelivery(10_000, { requests: 100, characters: 1000 })
      const large = yield* send("a", "1", "x".repeat(5000))
      yield* (yield* call(0)).says([0, done])
      assert.deepStrictEqual(yield* Fiber.join(large), done)
    }),
  )
})

describe("a caller that is interrupted", () => {
  it.live("withdraws a request that was not sent, and leaves the others as they are", () =>
    Effect.gen(function* () {
      const { calls, call, send, moveTo, delivery } = yield* makeDelivery(10_000, { requests: 3, characters: 1000 })
      yield* moveTo(undefined)
      yield* send("a", "a-1")
      const withdrawn = [yield* send("a", "a-2"), yield* send("b", "b-1")]
      yield* Fiber.interruptAll(withdrawn)
      assert.strictEqual(delivery.size, 1)
      yield* send("a", "a-3")
      yield* moveTo("one")
      assert.deepStrictEqual((yield* call(0)).ids, ["a-1", "a-3"])
      yield* longer
      assert.lengthOf(calls, 1)
    }),
  )

  it.live("does not withdraw what a call has, but it is not sent again, and counts until the call ends", () =>
    Effect.gen(function* () {
      const { calls, call, send, delivery } = yield* makeDelivery()
      const abandoned = yield* send("a", "a-1")
      yield* send("a", "a-2")
      const first = yield* call(0)
      assert.deepStrictEqual(first.ids, ["a-1", "a-2"])
      yield* Fiber.interrupt(abandoned)
      assert.strictEqual(delivery.size, 2)
      yield* first.ends
      const second = yield* call(1)
      assert.deepStrictEqual(second.ids, ["a-2"])
      yield* second.says([0, done])
      assert.strictEqual(delivery.size, 0)
      yield* longer
      assert.lengthOf(calls, 2)
    }),
  )

  it.live("withdraws 100,000 requests in a moment", () =>
    Effect.gen(function* () {
      const { moveTo, delivery } = yield* makeDelivery()
      yield* moveTo(undefined)
      const ids = Array.from({ length: 100_000 }, (_, index) => `${index}`)
      const sendAll = Effect.forEach(ids, (id) => delivery.request(keyOf("a"), { _tag: "Send", event: "{}", id }), {
        concurrency: "unbounded",
      })
      const sending = yield* Effect.forkDetach(sendAll, { startImmediately: true })
      yield* Effect.repeat(Effect.sleep(1), { until: () => delivery.size === ids.length })
      yield* Fiber.interrupt(sending)
      assert.strictEqual(delivery.size, 0)
    }),
  )
})
