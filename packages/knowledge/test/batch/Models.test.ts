import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Model from "effect/ai/Model"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Batches } from "../../src/batch/Batches.ts"
import type { ManifestFile } from "../../src/batch/Manifest.ts"
import * as Knowledge from "../../src/Knowledge.ts"
import type { KnowledgeSettings } from "../../src/KnowledgeSettings.ts"
import { type Api, type Heard, key, questionIn, type Script, shipModel, startProvider, type Turn } from "../../testing/ProviderServer.ts"
import { sharedWorkers } from "../../testing/SharedWorkers.ts"
import { canonical, documentsOf, harbour, manifest } from "./sea.ts"

const files = documentsOf(6)
const names = Object.keys(files)

/** Two calls for each document. */
const allCalls = 2 * names.length

interface Setting {
  readonly api?: Api
  readonly script?: Script
  readonly settings?: KnowledgeSettings
  readonly environment?: Readonly<Record<string, string>>
}

const environmentOf = (api: Api) => ({ [api === "anthropic" ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY"]: key })

/** A fake provider and the pipeline that is configured for it. The layer can be provided several times: each is a new start. */
const port = ({ api = "chat", script = shipModel, settings, environment = environmentOf(api) }: Setting) =>
  Effect.gen(function* () {
    const server = yield* startProvider(api, script)
    const { root, data, input, folder } = yield* harbour({ files })
    const start = (more: KnowledgeSettings = {}, env = environment) =>
      Layer.fresh(
        Knowledge.layerEmbedded({
          folder: data,
          nodeId: "test",
          readable: [input],
          settings: {
            extractor: api === "anthropic" ? "anthropic:claude-sonnet-5-5" : "openai:gpt-4o-mini",
            baseUrl: server.url,
            limits: { requestsPerMinute: 10_000, maxOutputTokens: 500 },
            ...settings,
            ...more,
          },
        }),
      ).pipe(Layer.provide([ConfigProvider.layer(ConfigProvider.fromUnknown(env)), sharedWorkers]))
    return { server, root, data, folder, start }
  })

const runBatch = (folder: Parameters<(typeof Batches)["Service"]["start"]>[0], config = {}, more: Partial<ManifestFile> = {}) =>
  Effect.gen(function* () {
    const batches = yield* Batches
    const id = yield* batches.start(folder, manifest(names, more), { config: { concurrency: 1, ...config } })
    return { id, end: yield* batches.awaitEnd(id) }
  })

const textsAsked = (heard: ReadonlyArray<Heard>) => heard.map((one) => `${questionIn(one).asks} ${questionIn(one).text}`)

const failedWith = (end: { readonly _tag: string }) => {
  assert.strictEqual(end._tag, "Failed")
  return (end as unknown as { readonly error: { readonly code: string; readonly message: string } }).error
}

for (const api of ["anthropic", "chat"] as const) {
  describe(`${api}: a batch that asks a model`, () => {
    it.live("ends with the model's facts, and tells tokens and cost", () =>
      Effect.gen(function* () {
        const { server, data, folder, start } = yield* port({ api })
        const { end, lines } = yield* Effect.gen(function* () {
          const { end } = yield* runBatch(folder)
          return { end, lines: (yield* canonical(data)).lines }
        }).pipe(Effect.provide(start()))
        assert.strictEqual(end._tag, "Completed")
        assert.strictEqual(end.config.extractor, api === "anthropic" ? "anthropic:claude-sonnet-5-5" : "openai:gpt-4o-mini")
        assert.strictEqual(server.heard.length, allCalls)
        assert.isTrue("usage" in end)
        const usage = "usage" in end ? end.usage : undefined
        assert.deepInclude(usage, { calls: allCalls, inputTokens: 100 * allCalls, outputTokens: 20 * allCalls, currency: "USD" })
        assert.closeTo(usage?.cost ?? 0, allCalls * (api === "anthropic" ? 0.0004 : 0.000027), 1e-7)
        assert.strictEqual(lines.filter((line) => line.includes("sea#passed> <urn")).length, names.length)
        assert.include(lines.join("\n"), api === "anthropic" ? "anthropic/claude-sonnet-5-5" : "openai/gpt-4o-mini")
      }).pipe(Effect.scoped),
    )

    it.live("stops at its budget, keeps what it paid for, and with a larger one pays for nothing twice", () =>
      Effect.gen(function* () {
        const { server, folder, start } = yield* port({ api })
        // Each call takes 120 tokens and sets aside several times that: some calls fit, and not all.
        const { id, end } = yield* Effect.provide(runBatch(folder, { budget: "1700tokens" }), start())
        const error = failedWith(end)
        assert.strictEqual(error.code, "BudgetExhausted")
        assert.match(error.message, /the budget of 1700 tokens is used up: \d+ spent.*raise the budget and resume/)
        const before = server.heard.length
        assert.isAbove(before, 1)
        assert.isBelow(before, allCalls)
        const resumed = yield* Effect.gen(function* () {
          const batches = yield* Batches
          yield* batches.resume(id, { budget: "100000tokens" })
          return yield* batches.awaitEnd(id)
        }).pipe(Effect.provide(start()))
        assert.strictEqual(resumed._tag, "Completed")
        assert.strictEqual(resumed.config.budget, "100000tokens")
        // Every question was asked once, the two of the document that was cut short included.
        assert.strictEqual(server.heard.length, allCalls)
        assert.strictEqual(new Set(textsAsked(server.heard)).size, allCalls)
        assert.deepInclude("usage" in resumed ? resumed.usage : undefined, { calls: allCalls, inputTokens: 100 * allCalls })
      }).pipe(Effect.scoped),
    )

    it.live("counts what it has spent before a restart against its budget", () =>
      Effect.gen(function* () {
        const { server, folder, start } = yield* port({ api })
        const { id } = yield* Effect.provide(runBatch(folder, { budget: "1700tokens" }), start())
        const before = server.heard.length
        const again = yield* Effect.gen(function* () {
          const batches = yield* Batches
          yield* batches.resume(id)
          return yield* batches.awaitEnd(id)
        }).pipe(Effect.provide(start()))
        assert.strictEqual(failedWith(again).code, "BudgetExhausted")
        assert.strictEqual(server.heard.length, before)
      }).pipe(Effect.scoped),
    )

    it.live("whose key is refused stops at the first call, names address and model, and continues with another key", () =>
      Effect.gen(function* () {
        const { server, data, folder, start } = yield* port({ api })
        const wrong = "sk-wrong-and-secret"
        const { id, end } = yield* Effect.provide(
          runBatch(folder),
          start({}, { [api === "anthropic" ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY"]: wrong }),
        )
        const error = failedWith(end)
        assert.strictEqual(error.code, "ModelRefused")
        assert.include(error.message, server.url)
        assert.include(error.message, api === "anthropic" ? "claude-sonnet-5-5" : "gpt-4o-mini")
        assert.match(error.message, /check the API key in (ANTHROPIC|OPENAI)_API_KEY/)
        assert.notInclude(JSON.stringify(end), wrong)
        assert.strictEqual(server.heard.length, 1)
        const resumed = yield* Effect.gen(function* () {
          const batches = yield* Batches
          yield* batches.resume(id)
          return yield* batches.awaitEnd(id)
        }).pipe(Effect.provide(start()))
        assert.strictEqual(resumed._tag, "Completed")
        // Neither key is in any file that the batch left.
        const left = yield* Effect.promise(() => readdir(data, { recursive: true, withFileTypes: true }))
        for (const file of left.filter((one) => one.isFile())) {
          const content = yield* Effect.promise(() => readFile(join(file.parentPath, file.name), "latin1"))
          for (const secret of [wrong, key]) assert.notInclude(content, secret, file.name)
        }
      }).pipe(Effect.scoped),
    )

    it.live("waits out rate limits, overloads and answers that make no sense", () =>
      Effect.gen(function* () {
        const faults: ReadonlyArray<Turn> = [
          { status: 429, headers: { "retry-after": "0.1" } },
          { status: 529, headers: { "retry-after": "0.1" } },
          { body: "<html>" },
        ]
        const { server, folder, start } = yield* port({
          api,
          script: (heard, index) => faults[index] ?? { afterMillis: 20, turn: shipModel(heard) },
        })
        const { end } = yield* Effect.provide(runBatch(folder), start())
        assert.strictEqual(end._tag, "Completed")
        assert.strictEqual(server.heard.length, allCalls + faults.length)
      }).pipe(Effect.scoped),
    )
  })
}

describe("a batch that asks a model", () => {
  it.live("stops when the service keeps failing: the breaker opens, and no further call is made", () =>
    Effect.gen(function* () {
      const { server, folder, start } = yield* port({ script: () => ({ status: 500, error: "out of order" }) })
      const limits = { attempts: 2, concurrency: 1, requestsPerMinute: 10_000 }
      const { id, end } = yield* Effect.provide(runBatch(folder, { concurrency: 6 }), start({ limits }))
      const error = failedWith(end)
      assert.strictEqual(error.code, "ModelUnavailable")
      assert.include(error.message, `${server.url}/chat/completions: 500 out of order`)
      assert.isAtMost(server.heard.length, 6)
      // What is back continues, with all its documents.
      const back = yield* startProvider("chat", shipModel)
      const resumed = yield* Effect.gen(function* () {
        const batches = yield* Batches
        yield* batches.resume(id)
        return yield* batches.awaitEnd(id)
      }).pipe(Effect.provide(start({ baseUrl: back.url })))
      assert.strictEqual(resumed._tag, "Completed")
      assert.deepInclude(resumed, { documentsCompleted: names.length, documentsFailed: 0 })
    }).pipe(Effect.scoped),
  )

  it.live("stops when nothing answers at the base URL, and says where it looked", () =>
    Effect.gen(function* () {
      const { folder, start } = yield* port({})
      const baseUrl = "http://127.0.0.1:9/v1"
      const { end } = yield* Effect.provide(runBatch(folder), start({ baseUrl, limits: { attempts: 1 } }))
      const error = failedWith(end)
      assert.strictEqual(error.code, "ModelUnavailable")
      assert.include(error.message, "http://127.0.0.1:9/v1/chat/completions")
    }).pipe(Effect.scoped),
  )

  it.live("takes the extractor of the call, then the manifest's, then the configuration's, then the built-in one", () =>
    Effect.gen(function* () {
      const { folder, start } = yield* port({})
      const chosen = (config: object, more: Partial<ManifestFile>, settings: KnowledgeSettings) =>
        Effect.gen(function* () {
          const batches = yield* Batches
          const id = yield* batches.start(folder, manifest(names.slice(0, 1), more), { config })
          return (yield* batches.state(id)).config.extractor
        }).pipe(Effect.provide(start(settings)))
      const configured = { extractor: "openai:gpt-4o" } as const
      const written = { extractor: "openai:gpt-4.1" } as const
      assert.strictEqual(yield* chosen({ extractor: "openai:gpt-5" }, written, configured), "openai:gpt-5")
      assert.strictEqual(yield* chosen({}, written, configured), "openai:gpt-4.1")
      assert.strictEqual(yield* chosen({}, {}, configured), "openai:gpt-4o")
      assert.strictEqual(yield* chosen({ extractor: "built-in" }, written, configured), "built-in")
    }).pipe(Effect.scoped),
  )

  it.live("is refused before it starts without a key, without a price for its budget, or with a budget in another currency", () =>
    Effect.gen(function* () {
      const { folder, start } = yield* port({})
      const refusal = (settings: KnowledgeSettings, config: object, env: Readonly<Record<string, string>>) =>
        Effect.flip(Effect.provide(runBatch(folder, config), start(settings, env))).pipe(Effect.map(({ message }) => message))
      // Only a server of the user's own may need no key.
      const own = yield* Effect.gen(function* () {
        const { input, root, folder } = yield* harbour({ files })
        const layer = Knowledge.layerEmbedded({
          folder: join(root, "own"),
          readable: [input],
          settings: { extractor: "anthropic:claude-opus-5" },
        })
        return yield* Effect.flip(
          Effect.provide(runBatch(folder), Layer.provide(layer, [ConfigProvider.layer(ConfigProvider.fromUnknown({})), sharedWorkers])),
        )
      })
      assert.include(own.message, "anthropic:claude-opus-5: it needs a key; set ANTHROPIC_API_KEY")
      assert.include(yield* refusal({ extractor: "openai:house" }, { budget: "1usd" }, {}), "its price is not known")
      assert.include(yield* refusal({}, { budget: "1eur" }, {}), "its prices are in USD, not in EUR")
      assert.include(yield* refusal({ extractor: "built-in" }, { baseUrl: "http://127.0.0.1:9" }, {}), "it has no address")
    }).pipe(Effect.scoped),
  )

  it.live("is estimated without a call and without a key", () =>
    Effect.gen(function* () {
      const { server, folder, start } = yield* port({ environment: {} })
      const estimate = (config: object, settings: KnowledgeSettings = {}) =>
        Effect.flatMap(Batches, (batches) => batches.estimate(folder, manifest(names), { config })).pipe(Effect.provide(start(settings)))
      const one = yield* estimate({})
      const all = { documents: 6, unchanged: 0, unreadable: 0, chunks: 6, calls: 12, currency: "USD" }
      assert.deepInclude(one, { extractor: "openai:gpt-4o-mini", ...all })
      assert.isAbove(one.inputTokens, 1000)
      assert.isAbove(one.cost ?? 0, 0)
      const prices = { currency: "USD", models: [{ model: "house", input: 1_000_000, output: 0, asOf: "2026-11" }] }
      const priced = yield* estimate({ extractor: "openai:house" }, { prices })
      assert.strictEqual(priced.cost, priced.inputTokens)
      assert.isUndefined((yield* estimate({ extractor: "openai:unheard-of" })).cost)
      assert.deepInclude(yield* estimate({ extractor: "built-in" }), { extractor: "built-in", calls: 0, cost: 0 })
      assert.strictEqual(server.heard.length, 0)
      // What the graph has from the same extractor is not extracted again, so it costs nothing.
      yield* Effect.provide(runBatch(folder), start({}, environmentOf("chat")))
      assert.deepInclude(yield* estimate({}), { documents: 6, unchanged: 6, chunks: 0, calls: 0, cost: 0 })
      assert.deepInclude(yield* estimate({ extractor: "openai:gpt-4o" }), { unchanged: 0, calls: 12 })
    }).pipe(Effect.scoped),
  )

  it.live("may ask any language model of Effect, which names itself", () =>
    Effect.gen(function* () {
      const { data, folder, start } = yield* port({})
      const asked: Array<string> = []
      const service = LanguageModel.make({
        generateText: ({ prompt }) => {
          const said = prompt.content.map(({ content }) =>
            typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : "")).join(""),
          )
          asked.push(said.join("\n"))
          const turn = shipModel({ path: "", headers: {}, body: { input: said.at(-1) } })
          const text = JSON.stringify("says" in (turn as object) ? (turn as { readonly says: unknown }).says : {})
          return Effect.succeed([
            { type: "text", text },
            {
              type: "finish",
              reason: "stop",
              usage: {
                inputTokens: { uncached: undefined, total: 10, cacheRead: undefined, cacheWrite: undefined },
                outputTokens: { total: 5, text: undefined, reasoning: undefined },
              },
              response: undefined,
            },
          ])
        },
        streamText: () => Stream.empty,
      })
      const extractor = Model.make("house", "reader", Layer.effect(LanguageModel.LanguageModel, service))
      const { end, lines } = yield* Effect.gen(function* () {
        const { end } = yield* runBatch(folder)
        return { end, lines: (yield* canonical(data)).lines }
      }).pipe(Effect.provide(start({ extractor })))
      assert.strictEqual(end._tag, "Completed")
      assert.strictEqual(end.config.extractor, "language-model")
      assert.strictEqual(asked.length, allCalls)
      assert.deepInclude("usage" in end ? end.usage : undefined, { calls: allCalls, inputTokens: 10 * allCalls })
      assert.include(lines.join("\n"), '"house/reader"')
    }).pipe(Effect.scoped),
  )
})
