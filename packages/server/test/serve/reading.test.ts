import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { request, served } from "../support/served.ts"

const key = { machine: "tally", id: "one" }

describe("reading one instance", () => {
  it.live("shows every change that was answered before the request, while many clients read and one writes", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const read = Effect.map(request(`${url}/api/v1/instances/tally/one`), ({ text }) => JSON.parse(text))
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
          assert.isAtLeast((yield* read).sequence, before)
        }
      })
      yield* Effect.all([writing, reading, reading, reading, reading], { concurrency: "unbounded" })
      assert.strictEqual((yield* read).sequence, 100)
    }),
  )

  it.live("answers with the same view for every spelling of the address", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      const plain = yield* request(`${url}/api/v1/instances/tally/one`)
      const escaped = yield* request(`${url}/api/v1/instances/tally/%6Fne`)
      assert.deepStrictEqual([plain.status, plain.type, plain.text], [200, "application/json", escaped.text])
    }),
  )
})
