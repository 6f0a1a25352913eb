import { MemoryStorage } from "@detent/blobs"
import { MemUri, Storage } from "@detent/blobs/Storage"
import { expect, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
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
      // A program without types can name any provider.
      const extractor = "gemini:pro" as unknown as ExtractorName
      const refused = yield* Effect.flip(extractors.check({ extractor, ...(baseUrl === undefined ? {} : { baseUrl }) }))
      expect(refused.message).toBe("gemini:pro: there is no provider gemini; name built-in, or a model of openai, anthropic")
    }
    yield* extractors.check({ extractor: "anthropic:claude" })
  }).pipe(
    Effect.provide(Extractors.layerWith({}).pipe(Layer.provide(stored))),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: { ANTHROPIC_API_KEY: "key" } })),
  ),
)
