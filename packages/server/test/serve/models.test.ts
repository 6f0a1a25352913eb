import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { key, shipModel, startProvider } from "@detent/knowledge/testing/ProviderServer"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { json, request, served, temporaryFolder } from "../support/served.ts"

const ontology = `
@prefix : <https://example.org/sea#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Ship a owl:Class ; rdfs:label "ship" .
:passed a owl:ObjectProperty ; rdfs:label "passed" ; rdfs:domain :Ship ; rdfs:range :Ship .
`

/** A server whose environment names a provider, and a folder of logs. */
const port = Effect.gen(function* () {
  const provider = yield* startProvider("chat", shipModel)
  const input = yield* temporaryFolder
  yield* Effect.promise(async () => {
    await mkdir(join(input, "logs"))
    await writeFile(join(input, "sea.ttl"), ontology)
    for (const name of ["Adler", "Bussard", "Condor"])
      await writeFile(join(input, `logs/${name}.txt`), `Ship${name} passed ShipZephyr${name} off the coast.`)
  })
  const environment = ConfigProvider.fromUnknown({ OPENAI_API_KEY: key, OPENAI_BASE_URL: provider.url })
  const { url, client } = yield* Effect.provideService(served({ readable: [input] }), ConfigProvider.ConfigProvider, environment)
  const folder = `${pathToFileURL(input)}/`
  const documents = ["Adler", "Bussard", "Condor"].map((name) => ({ source: `logs/${name}.txt` }))
  const body = (config: object, more: object = {}) => ({
    folder,
    manifest: { targetNamespace: "sea", ontology: "sea.ttl", documents, ...more },
    config: { concurrency: 1, ...config },
  })
  const post = (path: string, content: object) =>
    Effect.map(request(`${url}${path}`, json(content)), ({ status, text }) => ({ status, ...JSON.parse(text) }))
  const ended = (batchId: string) =>
    Effect.repeat(client.batches.get({ params: { batchId: batchId as never } }), {
      until: ({ isTerminal }) => isTerminal,
      schedule: Schedule.spaced("50 millis"),
    })
  return { provider, body, post, ended }
})

describe("models over HTTP", () => {
  it.live("are chosen by the request, estimated, stopped at a budget and continued with a larger one", () =>
    Effect.gen(function* () {
      const { provider, body, post, ended } = yield* port
      const estimate = yield* post("/api/v1/batch/estimate", body({ extractor: "openai:gpt-4o-mini" }))
      assert.deepInclude(estimate, { status: 200, extractor: "openai:gpt-4o-mini", documents: 3, chunks: 3, calls: 6, currency: "USD" })
      assert.strictEqual(provider.heard.length, 0)
      const { batchId, status } = yield* post("/api/v1/batch", body({ extractor: "openai:gpt-4o-mini", budget: "9200tokens" }))
      assert.strictEqual(status, 202)
      const stopped = yield* ended(batchId)
      assert.deepInclude(stopped, { state: "Failed", extractor: "openai:gpt-4o-mini", budget: "9200tokens" })
      assert.strictEqual(stopped.failure?.code, "BudgetExhausted")
      const raised = yield* post(`/api/v1/batch/${batchId}/budget`, { budget: "1usd" })
      assert.strictEqual(raised.status, 200)
      const end = yield* ended(batchId)
      assert.deepInclude(end, { state: "Completed", budget: "1usd" })
      assert.deepInclude(end.usage, { calls: 6, inputTokens: 600, outputTokens: 120, currency: "USD" })
      assert.strictEqual(provider.heard.length, 6)
    }),
  )

  it.live("take no address from a request, since the server would send its key there", () =>
    Effect.gen(function* () {
      const { provider, body, post } = yield* port
      const elsewhere = yield* startProvider("chat", shipModel)
      const refused = yield* post("/api/v1/batch", body({ extractor: "openai:gpt-4o-mini", baseUrl: elsewhere.url }))
      assert.strictEqual(refused.status, 400)
      assert.include(refused.detail, "baseUrl is not known")
      const misspelt = yield* post("/api/v1/batch", body({}, { extractor: "gpt-4o-mini" }))
      assert.strictEqual(misspelt.status, 400)
      const unpriced = yield* post("/api/v1/batch", body({ budget: "1usd" }, { extractor: "openai:house" }))
      assert.strictEqual(unpriced.status, 422)
      assert.include(unpriced.detail, "openai:house: its price is not known; add it to knowledge.prices, or set a budget of tokens")
      assert.strictEqual(provider.heard.length + elsewhere.heard.length, 0)
    }),
  )
})
