/** An extractor that calls any model: the prompt, the guarded call, and the check of every answer. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import {
  addUsage,
  type Chunk,
  type ExtractionFailed,
  Extractor,
  type ExtractorService,
  type KnownEntity,
  noUsage,
  type Usage,
} from "../Extractor.ts"
import type { Fact, Mention } from "../Fact.ts"
import { checkEntities, checkFacts, countRejections, type Rejection, readEntities, readFacts, type Said } from "./Answer.ts"
import { type Answered, type CallGuard, type ModelGate, makeCallGuard, type RateLimits, type RetryPolicy } from "./CallGuard.ts"
import { type Budget, defaultPrices, estimateTokens, type ModelPrice, type PriceTable, priceOf, unlimited, usageOf } from "./Cost.ts"
import {
  type AnthropicClientOptions,
  type ModelClient,
  type ModelRequest,
  makeAnthropicClient,
  makeOpenAiClient,
  type OpenAiClientOptions,
} from "./ModelClient.ts"
import { classesFor, entityQuestion, factQuestion, propertiesFor, wordsOf } from "./Prompt.ts"

export interface ModelExtractorOptions {
  readonly limits?: RateLimits
  /** Shared by all extractors on the same model. Default: one of its own, with `limits`. */
  readonly gate?: ModelGate
  readonly prices?: PriceTable
  /** Shared among all extractors of a batch. */
  readonly budget?: Budget
  readonly timeout?: Duration.Input
  readonly retry?: RetryPolicy
  /** The maximum tokens of one answer. */
  readonly maxOutputTokens?: number
}

/** The limits of the large providers' lowest tier. */
export const defaultLimits: RateLimits = { requestsPerMinute: 50, concurrency: 5 }

/** Includes the tokens that a reasoning model spends before it answers. */
const defaultMaxOutputTokens = 8192

/** An extractor whose answers include rejected facts, and that can estimate the cost of a chunk. */
export interface ModelExtractor extends ExtractorService {
  readonly entities: (
    chunk: Chunk,
    ontology: OntologyIndex,
    known?: ReadonlyArray<KnownEntity>,
  ) => Effect.Effect<
    { readonly mentions: ReadonlyArray<Mention>; readonly usage: Usage; readonly rejected: ReadonlyArray<Rejection> },
    ExtractionFailed
  >
  readonly facts: (
    chunk: Chunk,
    mentions: ReadonlyArray<Mention>,
    ontology: OntologyIndex,
  ) => Effect.Effect<
    { readonly facts: ReadonlyArray<Fact>; readonly usage: Usage; readonly rejected: ReadonlyArray<Rejection> },
    ExtractionFailed
  >
  /** An estimate of both steps for a chunk. */
  readonly estimate: (chunk: Chunk, ontology: OntologyIndex) => Usage
}

export const makeModelExtractor = (client: ModelClient, options: ModelExtractorOptions = {}): Effect.Effect<ModelExtractor> =>
  Effect.gen(function* () {
    const prices = options.prices ?? defaultPrices
    const price = priceOf(prices, client.model)
    const maxOutputTokens = options.maxOutputTokens ?? defaultMaxOutputTokens
    const guard = yield* makeCallGuard({
      extractor: client.name,
      price,
      currency: prices.currency,
      budget: options.budget ?? (yield* unlimited),
      limits: options.limits ?? defaultLimits,
      ...(options.gate === undefined ? {} : { gate: options.gate }),
      ...(options.timeout === undefined ? {} : { timeout: options.timeout }),
      ...(options.retry === undefined ? {} : { retry: options.retry }),
    })
    const ask = <A>(
      question: Omit<ModelRequest, "maxOutputTokens">,
      read: (extractor: string, text: string) => Result.Result<Said<A>, ExtractionFailed>,
    ) => asked(guard, client, { ...question, maxOutputTokens }, read)

    return {
      name: client.name,
      isPaid: true,
      entities: (chunk, ontology, known = []) =>
        Effect.gen(function* () {
          const classes = classesFor(chunk, ontology)
          if (chunk.text.trim() === "" || classes.length === 0) return { mentions: [], usage: noUsage, rejected: [] }
          const near = nearestKnown(chunk, known)
          const { answer, usage } = yield* ask(entityQuestion(chunk, classes, ontology, near), readEntities)
          const checked = checkEntities(answer.items, chunk, classes, near)
          const rejected = [...answer.rejected, ...checked.rejected]
          yield* countRejections(client.name, rejected)
          return { mentions: checked.taken, usage, rejected }
        }),
      facts: (chunk, mentions, ontology) =>
        Effect.gen(function* () {
          const properties = propertiesFor(chunk, mentions, ontology)
          if (mentions.length === 0 || properties.length === 0) return { facts: [], usage: noUsage, rejected: [] }
          const { answer, usage } = yield* ask(factQuestion(chunk, mentions, properties, ontology), readFacts)
          const checked = checkFacts(answer.items, chunk, mentions, properties, ontology)
          const rejected = [...answer.rejected, ...checked.rejected]
          yield* countRejections(client.name, rejected)
          return { facts: checked.taken, usage, rejected }
        }),
      estimate: (chunk, ontology) => estimateChunk(chunk, ontology, price),
    }
  })

/** An estimate of both steps for a chunk. It needs no model. */
export const estimateChunk = (chunk: Chunk, ontology: OntologyIndex, price: ModelPrice | undefined): Usage => {
  if (chunk.text.trim() === "") return noUsage
  const entities = entityQuestion(chunk, classesFor(chunk, ontology), ontology)
  const facts = factQuestion(chunk, [], propertiesFor(chunk, oneOfEach(ontology), ontology), ontology)
  return addUsage(usageOf(price, expected(chunk, entities)), usageOf(price, expected(chunk, facts)))
}

/** The most known entities in a prompt: a model overlooks entries of a long list. */
const mostKnown = 40

/** Known entities that share a word with the chunk come first, then the latest. */
const nearestKnown = (chunk: Chunk, known: ReadonlyArray<KnownEntity>): ReadonlyArray<KnownEntity> => {
  if (known.length <= mostKnown) return known
  const words = wordsOf(chunk.text)
  const shares = new Set(known.filter(({ label }) => [...wordsOf(label)].some((word) => words.has(word))))
  const others = known.filter((one) => !shares.has(one))
  return [...shares, ...others.reverse()].slice(0, mostKnown)
}

const asked = <A>(
  guard: CallGuard,
  client: ModelClient,
  request: ModelRequest,
  read: (extractor: string, text: string) => Result.Result<Said<A>, ExtractionFailed>,
) =>
  guard.call(
    { inputTokens: inputTokens(request), outputTokens: request.maxOutputTokens },
    Effect.map(
      client.complete(request),
      ({ tokens, answer }): Answered<Said<A>> => ({
        tokens,
        answer: Result.flatMap(answer, (text) => read(client.name, text)),
      }),
    ),
  )

const inputTokens = ({ system, prompt, schema }: Omit<ModelRequest, "maxOutputTokens">): number =>
  estimateTokens(system) + estimateTokens(prompt) + estimateTokens(JSON.stringify(schema))

/** Answers repeat about a third of the text, in quotes. */
const expected = (chunk: Chunk, question: Omit<ModelRequest, "maxOutputTokens">) => ({
  inputTokens: inputTokens(question),
  outputTokens: Math.ceil(estimateTokens(chunk.text) / 3),
})

/** A mention of every class, since the entities of a chunk are not known before the first step. */
const oneOfEach = (ontology: OntologyIndex): ReadonlyArray<Mention> =>
  [...ontology.classes.keys()].map((type) => ({ type, text: "", span: { start: 0, end: 0 }, confidence: 1 }))

export const makeAnthropicExtractor = (options: AnthropicClientOptions & ModelExtractorOptions): Effect.Effect<ModelExtractor> =>
  Effect.flatMap(makeAnthropicClient(options), (client) => makeModelExtractor(client, options))

export const anthropicLayer = (options: AnthropicClientOptions & ModelExtractorOptions): Layer.Layer<Extractor> =>
  Layer.effect(Extractor, makeAnthropicExtractor(options))

export const makeOpenAiExtractor = (options: OpenAiClientOptions & ModelExtractorOptions): Effect.Effect<ModelExtractor> =>
  Effect.flatMap(makeOpenAiClient(options), (client) => makeModelExtractor(client, options))

export const openAiLayer = (options: OpenAiClientOptions & ModelExtractorOptions): Layer.Layer<Extractor> =>
  Layer.effect(Extractor, makeOpenAiExtractor(options))
