/** Connections to other nodes, with nodes that a test plays. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Socket from "effect/socket/Socket"
import * as TestClock from "effect/testing/TestClock"
import { Peers } from "../src/Peers.ts"
import type { Parcel } from "../src/Protocol.ts"

const parcel = (...ids: ReadonlyArray<string>): Parcel => ({
  machine: "counter",
  id: "c",
  requests: ids.map((id) => ({ _tag: "Send", event: "{}", id })),
})

interface Opened {
  readonly url: string
  /** The calls that the node has heard, by their number, with the ids of their requests. */
  readonly calls: Array<readonly [number, ReadonlyArray<string>]>
  readonly says: (message: string) => Effect.Effect<void>
  readonly closes: Effect.Effect<void>
  isClosed: boolean
}

/** Connections that open when `mayOpen` says so, and what was heard of each call. */
const makePeers = Effect.gen(function* () {
  const opened: Array<Opened> = []
  const mayOpen = yield* Deferred.make<void>()
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const open = (url: string) =>
    Effect.gen(function* () {
      const heard = yield* Queue.unbounded<string, Socket.SocketError>()
      const says = (message: string) => Effect.andThen(Queue.offer(heard, message), settle)
      const closed = new Socket.SocketError({ reason: new Socket.SocketCloseError({ code: 1006 }) })
      const one: Opened = { url, calls: [], says, closes: Effect.andThen(Queue.fail(heard, closed), settle), isClosed: false }
      opened.push(one)
      const write = (message: unknown) =>
        Effect.sync(() => {
          const { call, parcels } = JSON.parse(String(message)) as { call: number; parcels: ReadonlyArray<Parcel> }
          one.calls.push([call, parcels.flatMap(({ requests }) => requests.map((request) => (request._tag === "Send" ? request.id : "")))])
        })
      const reader = Effect.gen(function* () {
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            one.isClosed = true
          }),
        )
        yield* Deferred.await(mayOpen)
        return { pull: Effect.map(Queue.take(heard), (message) => [message] as const), upgrade: Socket.SocketUpgradeError.unsupported }
      })
      return Socket.make({ reader, writer: Effect.succeed({ write, writeAll: (all) => Effect.forEach(all, write, { discard: true }) }) })
    })
  const peers = new Peers({ open, run, scope: yield* Effect.scope, clock: yield* Clock.Clock, silenceMillis: 1000 })
  const call = (address: string, ...ids: ReadonlyArray<string>) => {
    const heard: Array<string> = []
    peers.call(address, [parcel(...ids)], {
      progress: (answers) => heard.push(`has ${answers.map(([position, answer]) => `${position} ${answer._tag}`).join(", ")}`.trim()),
      over: (reason) => heard.push(reason),
    })
    return Effect.as(settle, heard)
  }
  return { opened, mayOpen: Effect.andThen(Deferred.succeed(mayOpen, undefined), settle), call }
})

const settle = Effect.repeat(Effect.yieldNow, { times: 20 })

const done = '{"_tag":"Done"}'

describe("calls to another node", () => {
  it.effect("wait until the connection is open, and share it", () =>
    Effect.gen(function* () {
      const { opened, mayOpen, call } = yield* makePeers
      const first = yield* call("one:1", "a", "b")
      const second = yield* call("one:1", "c")
      assert.deepStrictEqual(
        opened.map(({ url, calls }) => [url, calls.length]),
        [["ws://one:1/cluster", 0]],
      )
      yield* mayOpen
      yield* call("two:2", "d")
      const [one, two] = opened
      assert.deepStrictEqual(one?.calls, [
        [1, ["a", "b"]],
        [2, ["c"]],
      ])
      assert.deepStrictEqual(two?.calls, [[1, ["d"]]])
      yield* one?.says(`[[1,[]],[2,[[0,${done}]]]]`) ?? Effect.void
      assert.deepStrictEqual([first, second], [["has"], ["has 0 Done", "one:1: it did not answer"]])
      yield* one?.says(`[[1,[[1,${done}]]],[7,[]]]`) ?? Effect.void
      assert.deepStrictEqual(first, ["has", "has 1 Done"])
    }).pipe(Effect.scoped),
  )

  it.effect("are over when the connection is closed, and when the node says what is not a message; the next call opens another", () =>
    Effect.gen(function* () {
      const { opened, mayOpen, call } = yield* makePeers
      yield* mayOpen
      const cut = yield* call("one:1", "a")
      yield* opened[0]?.closes ?? Effect.void
      assert.deepStrictEqual(cut, ["one:1: the connection was closed (1006)"])
      for (const [index, garbage] of ["what?", "7", '[[1,[[0,{"_tag":"Sung"}]]]]'].entries()) {
        const heard = yield* call("one:1", "a")
        yield* opened[index + 1]?.says(garbage) ?? Effect.void
        const problem = garbage === "what?" ? "the message is not JSON" : "the message is other JSON"
        assert.deepStrictEqual(heard, [`one:1: the progress of calls was expected, and ${problem}`])
        assert.isTrue(opened[index + 1]?.isClosed)
      }
    }).pipe(Effect.scoped),
  )

  it.effect("are over when the node refuses the connection, and a node with another token is named as one", () =>
    Effect.gen(function* () {
      for (const [status, hint] of [
        [401, "; its token differs from that of this node: give all nodes the same"],
        [503, ""],
      ] as const) {
        const heard: Array<string> = []
        const peers = new Peers({
          open: (_, refused) =>
            Effect.sync(() => {
              const closed = new Socket.SocketError({ reason: new Socket.SocketCloseError({ code: 1006 }) })
              const opening = Effect.suspend(() => {
                refused(status)
                return Effect.fail(closed)
              })
              return Socket.make({ reader: opening, writer: Effect.succeed({ write: () => Effect.void, writeAll: () => Effect.void }) })
            }),
          run: Effect.runForkWith(yield* Effect.context<never>()),
          scope: yield* Effect.scope,
          clock: yield* Clock.Clock,
          silenceMillis: 1000,
        })
        peers.call("one:1", [parcel("a")], { progress: () => undefined, over: (reason) => heard.push(reason) })
        yield* settle
        assert.deepStrictEqual(heard, [`one:1: it did not accept the connection (HTTP status ${status})${hint}`])
      }
    }).pipe(Effect.scoped),
  )

  it.effect("are over when the node is silent for the time of a lease, also while the connection opens; a sign of life is enough", () =>
    Effect.gen(function* () {
      const { opened, mayOpen, call } = yield* makePeers
      const unopened = yield* call("one:1", "a")
      yield* TestClock.adjust(1500)
      assert.deepStrictEqual(unopened, ["one:1: it sent nothing for 1000 ms"])
      yield* mayOpen
      const heard = yield* call("one:1", "a")
      for (let times = 0; times < 5; times++) {
        yield* TestClock.adjust(900)
        yield* opened[1]?.says("[]") ?? Effect.void
      }
      assert.deepStrictEqual(heard, [])
      yield* TestClock.adjust(1500)
      assert.deepStrictEqual(heard, ["one:1: it sent nothing for 1000 ms"])
    }).pipe(Effect.scoped),
  )

  it.effect("leave a connection that closes when it was not used for a minute", () =>
    Effect.gen(function* () {
      const { opened, mayOpen, call } = yield* makePeers
      yield* mayOpen
      yield* call("one:1", "a")
      yield* opened[0]?.says(`[[1,[[0,${done}]]]]`) ?? Effect.void
      yield* TestClock.adjust("50 seconds")
      yield* call("one:1", "b")
      yield* opened[0]?.says(`[[2,[[0,${done}]]]]`) ?? Effect.void
      yield* TestClock.adjust("50 seconds")
      assert.deepStrictEqual([opened.length, opened[0]?.isClosed], [1, false])
      yield* TestClock.adjust("15 seconds")
      assert.isTrue(opened[0]?.isClosed)
    }).pipe(Effect.scoped),
  )
})
