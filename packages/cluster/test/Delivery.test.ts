/** Requests on their way between nodes, with nodes that a test plays: a request is in one call at a time. */
import type { InstanceKey, RemoteAnswer, RemoteRequest } from "@detent/durable/internal"
import type { PersistenceFailed } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { type Answer, Delivery } from "../src/Delivery.ts"

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
const makeDelivery = (patienceMillis = 10_000) =>
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
    })
    const send = (instance: string, id: string): Effect.Effect<Fiber.Fiber<Answer, PersistenceFailed>> =>
      Effect.forkDetach(delivery.request(keyOf(instance), { _tag: "Send", event: "{}", id, first: true }), { startImmediately: true })
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
