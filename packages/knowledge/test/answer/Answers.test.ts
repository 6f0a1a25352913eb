import { ContentHash, MemoryStorage } from "@detent/blobs"
import { Storage } from "@detent/blobs/Storage"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Answers, type AnswersService } from "../../src/answer/Answers.ts"
import type { GraphVersion } from "../../src/graph/CanonicalGraph.ts"
import { GraphFacts, type SourcedFact } from "../../src/graph/GraphFacts.ts"
import { Extractions } from "../../src/runs/Extractions.ts"
import { Extractors } from "../../src/runs/Extractors.ts"
import { ArtifactMissing } from "../../src/runs/RunTables.ts"
import { Namespace } from "../../src/storage/Identity.ts"
import { key, questionIn, startProvider, type Turn } from "../../testing/ProviderServer.ts"

const text = "In the winter of 1984, Ada Sol founded Halcyon Instruments in Port Verran. Its first product was a barometer."
const quote = "Ada Sol founded Halcyon Instruments"
const start = text.indexOf(quote)

const fact: SourcedFact = {
  subject: { iri: "urn:halcyon", label: "Halcyon Instruments" },
  property: "https://example.org/sea#founder",
  object: { _tag: "Entity", iri: "urn:ada", label: "Ada Sol" },
  confidence: 0.9,
  documentId: "doc-0123456789ab",
  title: "Halcyon",
  quote,
  start,
  end: start + quote.length,
  extractor: "built-in",
  runId: "49f1a19c-4851-8653-acaf-97b41d11e9a6",
}

const version: GraphVersion = {
  namespace: Namespace.make("sea"),
  version: ContentHash.make("a".repeat(16)),
  previous: Option.none(),
  contributions: [],
}

const unused = () => Effect.die("not part of this test")

interface Said {
  readonly text: string
  readonly passage: number
  readonly quote: string
}

const answering = <A, E>(clauses: ReadonlyArray<Said>, use: (answers: AnswersService) => Effect.Effect<A, E>, isStored = true) =>
  Effect.gen(function* () {
    const turn: Turn = { says: { clauses } }
    const server = yield* startProvider("chat", () => turn)
    const facts = Layer.succeed(GraphFacts, {
      entities: unused,
      relations: unused,
      factsOf: unused,
      factsWith: (_, words) => Effect.succeed(words.length === 0 ? [] : [fact]),
      placesOf: unused,
    })
    const missing = new ArtifactMissing({ run: fact.runId, key: "content/0" })
    const texts = Layer.mock(Extractions, { text: () => (isStored ? Effect.succeed(text) : Effect.fail(missing)) })
    const storage = Layer.effect(Storage, MemoryStorage.make)
    const extractors = Extractors.layerWith({ extractor: "openai:m", baseUrl: server.url }).pipe(Layer.provide(storage))
    const live = Answers.layer.pipe(Layer.provide(Layer.mergeAll(facts, texts, extractors)))
    const result = yield* Effect.provide(Effect.flatMap(Answers, use), live)
    return { result, heard: server.heard }
  }).pipe(Effect.scoped, Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: { OPENAI_API_KEY: key } })))

const asking = (clauses: ReadonlyArray<Said>, isStored = true) =>
  answering(clauses, (answers) => answers.ask(version, "Who founded Halcyon Instruments?"), isStored)

describe("an answer of a model", () => {
  it.live("has each clause with the words of the text that prove it", () =>
    Effect.gen(function* () {
      const { result, heard } = yield* asking([{ text: "Ada Sol founded it in 1984.", passage: 1, quote: "1984, Ada Sol  founded" }])
      assert.deepStrictEqual(result.facts, [fact])
      const [clause] = result.said?.clauses ?? []
      assert.strictEqual(text.slice(clause?.start, clause?.end), clause?.quote)
      assert.deepInclude(clause, { text: "Ada Sol founded it in 1984.", quote: "1984, Ada Sol founded", documentId: fact.documentId })
      assert.deepInclude(result.said, { model: "openai/m", unproved: 0 })
      // The passage goes beyond the words of the fact, and both it and the question are marked as data.
      assert.include(heard.map((one) => questionIn(one).prompt).join(), "first product was a barometer")
    }),
  )

  it.live("leaves out what the text does not say", () =>
    Effect.gen(function* () {
      const { result } = yield* asking([
        { text: "Ada Sol founded it.", passage: 1, quote: "Ada Sol established Halcyon" },
        { text: "Ada Sol founded it in 1985.", passage: 1, quote },
        { text: "It was founded by Bo Lind.", passage: 1, quote },
        { text: "Ada Sol founded it.", passage: 7, quote },
        { text: " ", passage: 1, quote },
        { text: "Halcyon Instruments was founded by Ada Sol.", passage: 1, quote },
      ])
      assert.deepStrictEqual(
        result.said?.clauses.map((clause) => clause.text),
        ["Halcyon Instruments was founded by Ada Sol."],
      )
      assert.strictEqual(result.said?.unproved, 5)
    }),
  )

  it.live("may be none", () =>
    Effect.gen(function* () {
      const { result } = yield* asking([])
      assert.deepInclude(result.said, { clauses: [], unproved: 0 })
    }),
  )

  it.live("rests on the words of the facts where the text is no longer stored", () =>
    Effect.gen(function* () {
      const { result } = yield* asking([{ text: "Ada Sol founded it.", passage: 1, quote }], false)
      assert.deepInclude(result.said?.clauses[0], { start, end: start + quote.length })
    }),
  )
})

describe("a question", () => {
  it.live("to which no fact bears costs nothing", () =>
    Effect.gen(function* () {
      const { result, heard } = yield* answering([], (answers) => answers.ask(version, "Who founded Norden Lines?"))
      assert.deepStrictEqual(result, { facts: [] })
      assert.strictEqual(heard.length, 0)
    }),
  )

  it.live("can be answered by facts alone", () =>
    Effect.gen(function* () {
      const { result, heard } = yield* answering([], (answers) =>
        answers.ask(version, "Who founded Halcyon Instruments?", { model: false }),
      )
      assert.deepStrictEqual(result, { facts: [fact] })
      assert.strictEqual(heard.length, 0)
    }),
  )
})
