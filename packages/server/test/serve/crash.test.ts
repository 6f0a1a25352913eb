import * as clients from "@detent/api/client"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import * as Schedule from "effect/Schedule"
import { openEvents } from "../support/eventStream.ts"
import { request, temporaryFolder } from "../support/served.ts"
import { killServer, startServer } from "../support/serverProcess.ts"

const start = (data: string, port: string) => startServer("serving.ts", data, port)

/** A request that was answered as busy, or not at all, is sent again under the same key. */
const insistently = <A, E>(send: Effect.Effect<A, E>) => Effect.retry(send, { schedule: Schedule.spaced("50 millis"), times: 400 })

describe("a server that is killed under load", () => {
  it.live("loses no request that it accepted, and applies none twice, while its clients retry", () =>
    Effect.gen(function* () {
      const data = yield* temporaryFolder
      const first = yield* start(data, "0")
      const port = new URL(first.url).port
      const running = yield* Ref.make(first)
      yield* Effect.addFinalizer(() => Effect.flatMap(Ref.get(running), ({ child }) => Effect.sync(() => child.kill("SIGKILL"))))
      const client = yield* clients.makeClient({ url: first.url })
      const instances = ["a", "b", "c", "d"]
      for (const id of instances) yield* client.instances.start({ params: { machine: "tally" }, payload: { id } })

      const sends = instances.flatMap((id) => Array.from({ length: 150 }, (_, index) => ({ id, key: `${id}-${index}` })))
      let answered = 0
      const load = Effect.forEach(
        sends,
        ({ id, key }) =>
          Effect.tap(
            insistently(
              client.instances.send({
                params: { machine: "tally", id },
                headers: { "idempotency-key": key },
                payload: { _tag: "Add", by: 1 },
              }),
            ),
            () =>
              Effect.sync(() => {
                answered++
              }),
          ),
        { concurrency: 16, discard: true },
      )
      /** In the middle of it, whenever so many more were answered. */
      const havoc = Effect.forEach(
        [100, 250, 400],
        (count) =>
          Effect.gen(function* () {
            while (answered < count) yield* Effect.sleep("5 millis")
            yield* killServer(yield* Ref.get(running), "SIGKILL")
            yield* Ref.set(running, yield* start(data, port))
          }),
        { discard: true },
      )
      yield* Effect.all([load, havoc], { concurrency: 2 })

      for (const id of instances) {
        const { state, sequence } = yield* client.instances.get({ params: { machine: "tally", id } })
        assert.deepStrictEqual([state["count"], sequence], [150, 150])
        const { entries } = yield* client.instances.history({ params: { machine: "tally", id }, query: { limit: 1000 } })
        assert.strictEqual(new Set(entries.map(({ dedupeId }) => dedupeId)).size, 150)
      }
    }),
  )
})

describe("a server that gets SIGTERM", () => {
  it.live("answers what it has begun, ends its streams, and ends with 0", () =>
    Effect.gen(function* () {
      const data = yield* temporaryFolder
      const running = yield* start(data, "0")
      yield* Effect.addFinalizer(() => Effect.sync(() => running.child.kill("SIGKILL")))
      const client = yield* clients.makeClient({ url: running.url })
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      const stream = yield* openEvents(`${running.url}/api/v1/instances/tally/one/events`)
      const sending = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 50 }, (_, index) => index),
          (index) =>
            Effect.exit(
              client.instances.send({
                params: { machine: "tally", id: "one" },
                headers: { "idempotency-key": `k-${index}` },
                payload: { _tag: "Add", by: 1 },
              }),
            ),
          { concurrency: 8 },
        ),
      )
      yield* stream.until(() => true)
      assert.strictEqual(yield* killServer(running, "SIGTERM"), 0)
      yield* stream.ended
      const accepted = (yield* Fiber.join(sending)).filter(({ _tag }) => _tag === "Success").length
      const again = yield* start(data, "0")
      yield* Effect.addFinalizer(() => Effect.sync(() => again.child.kill("SIGKILL")))
      const counted = yield* request(`${again.url}/api/v1/instances/tally/one`)
      assert.strictEqual(JSON.parse(counted.text).state.count, accepted)
      assert.strictEqual(yield* killServer(again, "SIGINT"), 0)
    }),
  )
})
