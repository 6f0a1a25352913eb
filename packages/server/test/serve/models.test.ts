import { shipModel, startProvider } from "@detent/knowledge/testing/ProviderServer"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { modelServer } from "../support/modelServer.ts"

describe("models over HTTP", () => {
  it.live("are chosen by the request, estimated, stopped at a budget and continued with a larger one", () =>
    Effect.gen(function* () {
      const { client, provider, body, post, ended } = yield* modelServer()
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
      const { documents } = yield* client.batches.documents({ params: { batchId }, query: {} })
      assert.deepStrictEqual(
        documents.map(({ chunks, tokens }) => ({ chunks, tokens })),
        [1, 2, 3].map(() => ({ chunks: 1, tokens: 240 })),
      )
      const cost = documents.reduce((sum, one) => sum + (one.cost ?? 0), 0)
      assert.isAbove(cost, 0)
      assert.closeTo(cost, end.usage?.cost ?? 0, 1e-9)
    }),
  )

  it.live("take no address from a request, since the server would send its key there", () =>
    Effect.gen(function* () {
      const { provider, body, post } = yield* modelServer()
      const elsewhere = yield* startProvider("chat", shipModel)
      const refused = yield* post("/api/v1/batch", body({ extractor: "openai:gpt-4o-mini", baseUrl: elsewhere.url }))
      assert.strictEqual(refused.status, 400)
      assert.include(refused.detail, "baseUrl is not known")
      const misspelt = yield* post("/api/v1/batch", body({}, { extractor: "gpt-4o-mini" }))
      assert.strictEqual(misspelt.status, 400)
      const unpriced = yield* post("/api/v1/batch", body({ budget: "1usd" }, { extractor: "openai:house" }))
      assert.strictEqual(unpriced.status, 422)
      assert.include(
        unpriced.detail,
        "openai:house: its price is not known; give its price, add it to knowledge.prices, or set a budget of tokens",
      )
      assert.strictEqual(provider.heard.length + elsewhere.heard.length, 0)
    }),
  )
})
