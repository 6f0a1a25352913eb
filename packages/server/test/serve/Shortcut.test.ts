import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { request, served } from "../support/served.ts"

const key = { machine: "tally", id: "one" }
const address = (url: string) => `${url}/api/v1/instances/tally/one`

/** An address that is spelled so that it goes the usual way. */
const usual = (url: string) => `${url}/api/v1/instances/tally/%6Fne`

describe("reading one instance, by the short way and the usual one", () => {
  it.live("gives the same bytes", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      for (const payload of [{ _tag: "Add", by: 3 }, { _tag: "Pause" }, { _tag: "Close" }]) {
        const [short, long] = yield* Effect.all([request(address(url)), request(usual(url))])
        assert.deepStrictEqual([short.status, short.type, short.text], [long.status, long.type, long.text])
        // A second time it is the answer that was kept.
        assert.strictEqual((yield* request(address(url))).text, long.text)
        yield* client.instances.send({ params: key, headers: {}, payload })
      }
      assert.strictEqual(JSON.parse((yield* request(address(url))).text).status, "final")
    }),
  )

  it.live("is never older than the change before it, however many read and write at once", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      let written = 0
      const writing = Effect.forEach(
        Array.from({ length: 100 }),
        () =>
          Effect.tap(client.instances.send({ params: key, headers: {}, payload: { _tag: "Add", by: 1 } }), () =>
            Effect.sync(() => {
              written++
            }),
          ),
        { discard: true },
      )
      const reading = Effect.gen(function* () {
        while (written < 100) {
          const before = written
          const { sequence } = JSON.parse((yield* request(address(url))).text)
          assert.isAtLeast(sequence, before)
        }
      })
      yield* Effect.all([writing, reading, reading, reading, reading], { concurrency: "unbounded" })
      assert.strictEqual(JSON.parse((yield* request(address(url))).text).sequence, 100)
    }),
  )

  it.live("tells the same problem", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const [short, long] = yield* Effect.all([request(address(url)), request(usual(url))])
      assert.deepStrictEqual([short.status, short.type, short.text], [404, "application/problem+json", long.text])
    }),
  )
})
