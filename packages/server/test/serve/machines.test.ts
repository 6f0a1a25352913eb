import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { request, served } from "../support/served.ts"

describe("machines over HTTP", () => {
  it.live("are listed with their counts, described and drawn", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      const { machines } = yield* client.machines.list()
      assert.deepStrictEqual(
        machines.map(({ name }) => name),
        ["HNItem", "UploadBatch", "batch", "tally", "workflow/extraction"],
      )
      const tally = machines.find(({ name }) => name === "tally")
      assert.deepStrictEqual(tally?.counts, { Open: 1, Paused: 0, Closed: 0 })
      const details = yield* client.machines.get({ params: { machine: "tally" } })
      assert.strictEqual(details.model?.name, "tally")
      assert.include(JSON.stringify(details.eventSchemas["Add"]), "integer")

      for (const machine of ["tally", "batch", "UploadBatch", "HNItem"]) {
        const svg = yield* request(`${url}/api/v1/machines/${machine}/diagram/svg`)
        assert.deepStrictEqual([svg.status, svg.type], [200, "image/svg+xml"])
        assert.match(svg.text, /^<svg /)
        const mermaid = yield* request(`${url}/api/v1/machines/${machine}/diagram/mermaid`)
        assert.include(mermaid.text, "stateDiagram-v2")
        const dot = yield* request(`${url}/api/v1/machines/${machine}/diagram/dot`)
        assert.include(dot.text, "digraph")
      }
      const none = yield* request(`${url}/api/v1/machines/workflow%2Fextraction/diagram/svg`)
      assert.strictEqual(none.status, 404)
      const wrong = yield* request(`${url}/api/v1/machines/tally/diagram/png`)
      assert.strictEqual(wrong.status, 400)
    }),
  )
})
