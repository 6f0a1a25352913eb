import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { json, request, served } from "../support/served.ts"

const cases = [
  [
    "a setting of a batch",
    "/api/v1/batch",
    { folder: corpusFolder, manifest: smallManifest, confg: {} },
    "confg is not known; did you mean config?",
  ],
  [
    "a setting of a manifest",
    "/api/v1/batch",
    { folder: corpusFolder, manifest: { ...smallManifest, language: "de" } },
    "manifest.language is not known; use one of targetNamespace, ontology, shapes, examples, mapping, extractor, documents",
  ],
  ["a field of a start", "/api/v1/instances/tally", { id: "two", inputs: {} }, "inputs is not known; did you mean input?"],
  ["the id of a start", "/api/v1/instances/tally", { idd: "two" }, "idd is not known; did you mean id?"],
  [
    "the machine of a filter",
    "/api/v1/instances/bulk",
    { filter: { machne: "tally" }, event: { _tag: "Add", by: 1 } },
    "filter.machne is not known; did you mean machine?",
  ],
  ["a filter of a retry", "/api/v1/commands/retry", { slott: "sendBill" }, "slott is not known; did you mean slot?"],
  ["a setting of a withdrawal", "/api/v1/batch/batch-000000000000/withdraw", { froce: true }, "froce is not known; did you mean force?"],
  ["a setting of a budget", "/api/v1/batch/batch-000000000000/budget", { budget: "5usd", base: 1 }, "base is not known"],
  ["a field of a retry of one command", "/api/v1/commands/none/retry", { force: true }, "force is not known; this request takes no fields"],
  [
    "a field of an event of an execution",
    "/api/v1/executions/x/y/events",
    { event: "go", valeu: 1 },
    "valeu is not known; did you mean value?",
  ],
  ["a field of a pause", "/api/v1/queues/words/pause", { until: "monday" }, "until is not known; this request takes no fields"],
] as const

it.live("a body with a key that does not exist is refused with the nearest one, and nothing is done", () =>
  Effect.gen(function* () {
    const { client, url } = yield* served()
    for (const [what, path, body, problem] of cases) {
      const answer = yield* request(`${url}${path}`, json(body))
      assert.strictEqual(answer.status, 400, `${what}: ${answer.text}`)
      assert.include(JSON.parse(answer.text).detail, problem, what)
    }
    assert.deepStrictEqual((yield* client.batches.list({ query: {} })).batches, [])
    assert.deepStrictEqual((yield* client.instances.list({ query: {} })).instances, [])
  }),
)

it.live("an event with a field that it does not have is refused with the nearest one", () =>
  Effect.gen(function* () {
    const { client, url } = yield* served()
    yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
    const answer = yield* request(`${url}/api/v1/instances/tally/one/events`, json({ _tag: "Add", by: 3, bye: 4 }))
    assert.strictEqual(answer.status, 422)
    assert.include(JSON.parse(answer.text).detail, "bye is not known; did you mean by?")
    assert.strictEqual((yield* client.instances.get({ params: { machine: "tally", id: "one" } })).sequence, 0)
  }),
)
