import { MemoryStorage } from "@detent/blobs"
import { MemUri, Storage } from "@detent/blobs/Storage"
import { expect, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type { Provider, ProviderOptions } from "../../src/extract/model/provider/Provider.ts"
import type { ExtractorName } from "../../src/KnowledgeSettings.ts"
import { Extractors } from "../../src/runs/Extractors.ts"
import { makeWorkerPool, WorkerPool } from "../../src/threads/WorkerPool.ts"

const ontologyUri = MemUri.make("mem://test/sea.ttl")
const ontologyText = `
@prefix : <https://example.org/sea#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Company a owl:Class ; rdfs:label "company" . :Person a owl:Class ; rdfs:label "person" .
:founder a owl:ObjectProperty ; rdfs:label "founded by" ; rdfs:domain :Company ; rdfs:range :Person .
`
const chunk = { index: 0, offset: 0, text: "Harbour Light Inc. was founded by Maria Lopez." }

const stored = Layer.effectDiscard(Effect.flatMap(Storage, (storage) => storage.set(ontologyUri, ontologyText))).pipe(
  Layer.provideMerge(Layer.fresh(Layer.effect(Storage, MemoryStorage.make))),
)

const found = Effect.gen(function* () {
  const { extractor, ontology } = yield* Effect.flatMap(Extractors, (extractors) => extractors.equip({ ontologyUri }))
  const { mentions } = yield* extractor.entities(chunk, ontology)
  return { mentions, ...(yield* extractor.facts(chunk, mentions, ontology)) }
})

it.live("the built-in extractor of runs works on workers, one task a chunk, and finds what it finds without them", () =>
  Effect.gen(function* () {
    const tasks: Array<string> = []
    const noting = Layer.effect(
      WorkerPool,
      Effect.map(makeWorkerPool({ size: 1 }), (pool) => ({
        ...pool,
        run: (task, input, shared, options) => {
          tasks.push(task)
          return pool.run(task, input, shared, options)
        },
      })),
    )
    const pooled = yield* Effect.provide(found, Extractors.layerPooled.pipe(Layer.provide(noting), Layer.provide(stored)))
    expect(tasks).toEqual(["ontology.load", "built-in.train", "built-in.read"])
    expect(pooled.facts.length).toBeGreaterThan(0)
    expect(pooled).toEqual(yield* Effect.provide(found, Extractors.layerUnpooled.pipe(Layer.provide(stored))))
    expect(pooled).toEqual(yield* Effect.provide(found, Extractors.layerBuiltIn.pipe(Layer.provide(stored))))
  }),
)

it.live("an ontology that has changed since it was last asked for is read anew", () =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const extractors = yield* Extractors
    const first = yield* extractors.ontology(ontologyUri)
    expect(yield* extractors.ontology(ontologyUri)).toBe(first)
    yield* storage.set(ontologyUri, `${ontologyText} :Port a owl:Class ; rdfs:label "port" .`)
    const second = yield* extractors.ontology(ontologyUri)
    expect(second.hash).not.toBe(first.hash)
    expect(second.withLabel("port").classes).toEqual(["https://example.org/sea#Port"])
    expect((yield* extractors.equip({ ontologyUri })).ontology).toBe(second)
  }).pipe(Effect.provide(Extractors.layerUnpooled.pipe(Layer.provideMerge(stored)))),
)

it.live("a provider that is not known is refused with the known ones, whatever keys there are", () =>
  Effect.gen(function* () {
    const extractors = yield* Extractors
    for (const baseUrl of [undefined, "http://127.0.0.1:9/v1"]) {
      const extractor = "palm:pro" satisfies ExtractorName
      const refused = yield* Effect.flip(extractors.check({ extractor, ...(baseUrl === undefined ? {} : { baseUrl }) }))
      expect(refused.message).toBe(
        "palm:pro: there is no provider palm; name built-in, or a model of openai, azure, anthropic, gemini, ollama, openrouter",
      )
    }
    yield* extractors.check({ extractor: "anthropic:claude" })
  }).pipe(
    Effect.provide(Extractors.layerWith({}).pipe(Layer.provide(stored))),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: { ANTHROPIC_API_KEY: "key" } })),
  ),
)

it.live("each provider takes its own key, and says what it lacks", () =>
  Effect.gen(function* () {
    const extractors = yield* Extractors
    const problems = yield* Effect.forEach(
      ["openai:m", "azure:m", "anthropic:m", "gemini:m", "ollama:m", "openrouter:m"] as const,
      (extractor) => Effect.match(extractors.check({ extractor }), { onSuccess: () => "", onFailure: ({ message }) => message }),
    )
    expect(problems).toEqual([
      "openai:m: it needs a key; set OPENAI_API_KEY",
      "azure:m: it needs an address; set AZURE_OPENAI_ENDPOINT",
      "",
      "gemini:m: it needs a key; set GEMINI_API_KEY",
      "",
      "openrouter:m: it needs a key; set OPENROUTER_API_KEY",
    ])
    // An address is not enough for a service where all need a key.
    const azure = yield* Effect.flip(extractors.check({ extractor: "azure:m", baseUrl: "https://house.openai.azure.com" }))
    expect(azure.message).toBe("azure:m: it needs a key; set AZURE_OPENAI_API_KEY")
  }).pipe(
    Effect.provide(Extractors.layerWith({}).pipe(Layer.provide(stored))),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: { ANTHROPIC_API_KEY: "key" } })),
  ),
)

it.live("a provider of the configuration is used like the others, and cannot take the name of one of them", () =>
  Effect.gen(function* () {
    const made: Array<ProviderOptions> = []
    const house: Provider = {
      keyName: "HOUSE_KEY",
      needsKey: "everywhere",
      make: (options) =>
        Effect.sync(() => {
          made.push(options)
          const answer = { tokens: { inputTokens: 1_000_000, outputTokens: 0 }, answer: Result.succeed(JSON.stringify({ entities: [] })) }
          return { name: "house/m", model: options.model, complete: () => Effect.succeed(answer) }
        }),
    }
    const settings = { providers: { house, openai: house }, effort: "low" as const }
    const found = yield* Effect.gen(function* () {
      const extractors = yield* Extractors
      const selection = yield* extractors.choose({ extractor: "house:m", price: { input: 3, output: 9 } })
      yield* extractors.check(selection)
      expect((yield* Effect.flip(extractors.check({ extractor: "openai:m" }))).message).toContain("OPENAI_API_KEY")
      const { extractor, ontology } = yield* extractors.equip({ ontologyUri, selection })
      return yield* extractor.entities(chunk, ontology)
    }).pipe(Effect.provide(Extractors.layerWith(settings).pipe(Layer.provide(stored))))
    expect(made.map(({ model, effort, apiKey }) => [model, effort, apiKey === undefined ? undefined : Redacted.value(apiKey)])).toEqual([
      ["m", "low", "house key"],
    ])
    expect(found.usage).toEqual({ calls: 1, inputTokens: 1_000_000, outputTokens: 0, cost: 3 })
  }).pipe(Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: { HOUSE_KEY: "house key" } }))),
)
