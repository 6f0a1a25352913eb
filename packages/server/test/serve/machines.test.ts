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
        ["UploadBatch", "UploadItem", "batch", "tally", "workflow/extraction"],
      )
      const tally = machines.find(({ name }) => name === "tally")
      assert.deepStrictEqual(tally?.counts, { Open: 1, Paused: 0, Closed: 0 })
      const details = yield* client.machines.get({ params: { machine: "tally" } })
      assert.strictEqual(details.model?.name, "tally")
      assert.include(JSON.stringify(details.eventSchemas["Add"]), "integer")

      for (const machine of ["tally", "batch", "UploadBatch", "UploadItem"]) {
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

  it.live("are drawn with the whole way of an instance, in every format", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const key = { machine: "tally", id: "one" }
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      for (const payload of [{ _tag: "Add", by: 3 }, { _tag: "Pause" }, { _tag: "Resume" }, { _tag: "Close" }])
        yield* client.instances.send({ params: key, headers: {}, payload })
      const drawn = (format: string, query = "?instance=one") => request(`${url}/api/v1/machines/tally/diagram/${format}${query}`)
      const contains = {
        svg: /^<svg /,
        mermaid: /Open --> Paused : ● Pause/,
        flowchart: /linkStyle /,
        dot: /digraph/,
        sequence: /e->>m: Add[^\n]*\n +Note over m: Open[^\n]*\n +e->>m: Pause\n +Note over m: Open → Paused\n(.*\n)+ +e->>m: Close/,
        timeline: /step3 -> step4 \[label="Close/,
      }
      for (const [format, pattern] of Object.entries(contains)) {
        const { status, text } = yield* drawn(format)
        assert.strictEqual(status, 200, format)
        assert.match(text, pattern)
        assert.notInclude(text, "pin-4711", "a sensitive field is not drawn")
      }
      for (const format of ["sequence", "timeline"]) assert.strictEqual((yield* drawn(format, "")).status, 422)
      assert.strictEqual((yield* drawn("mermaid", "?instance=none")).status, 404)
    }),
  )
})
