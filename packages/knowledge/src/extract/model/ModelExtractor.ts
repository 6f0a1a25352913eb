/** An extractor that calls any model: the prompt, the guarded call, and the check of every answer. */

import { describe } from "@detent/machine/internal"
import { type AiError, isAiError } from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import { ModelName, ProviderName } from "effect/ai/Model"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Chunk } from "../../document/Chunk.ts"
import type { Fact, Mention } from "../../fact/Fact.ts"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { addUsage, ExtractionFailed, Extractor, type ExtractorService, type KnownEntity, noUsage, type Usage } from "../Extractor.ts"
import {
  checkEntities,
  checkFacts,
  countRejections,
  type Rejection,
  readEntities,
  readFacts,
  type Said,
  SaidClause,
  SaidEntity,
  SaidFact,
} from "./Answer.ts"
import { type Answered, type CallGuard, type ModelGate, makeCallGuard, type RateLimits, type RetryPolicy } from "./CallGuard.ts"
import { type Budget, defaultPrices, estimateTokens, type ModelPrice, type PriceTable, priceOf, unlimited, usageOf } from "./Cost.ts"
import { cutOff, declined, type ModelClient, type ModelRequest } from "./ModelClient.ts"
import { classesFor, entityQuestion, factQuestion, type Guidance, propertiesFor, wordsOf } from "./Prompt.ts"
import { makeAnthropicClient } from "./provider/Anthropic.ts"
import { makeOpenAiClient, type OpenAiClientOptions } from "./provider/OpenAi.ts"
import type { ProviderOptions } from "./provider/Provider.ts"

export interface ModelExtractorOptions {
  readonly limits?: RateLimits
  /** Shared by all extractors on the same model. Default: one of its own, with `limits`. */
  readonly gate?: ModelGate
  /** In place of the gate's. */
  readonly requestsPerMinute?: number
  readonly prices?: PriceTable
  /** Shared among all extractors of a batch. */
  readonly budget?: Budget
  readonly timeout?: Duration.Input
  readonly retry?: RetryPolicy
  /** The maximum tokens of one answer. */
  readonly maxOutputTokens?: number
  readonly guidance?: Guidance
}

/** The limits of the large providers' lowest tier. */
export const defaultLimits: RateLimits = { requestsPerMinute: 50, concurrency: 5 }

/** Includes the tokens that a reasoning model spends before it answers. */
export const defaultMaxOutputTokens = 8192

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
    const { guidance = {} } = options
    const guard = yield* makeCallGuard({
      extractor: client.name,
      price,
      currency: prices.currency,
      budget: options.budget ?? (yield* unlimited),
      limits: options.limits ?? defaultLimits,
      ...(options.gate === undefined ? {} : { gate: options.gate }),
      ...(options.requestsPerMinute === undefined ? {} : { requestsPerMinute: options.requestsPerMinute }),
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
          const { answer, usage } = yield* ask(entityQuestion(chunk, classes, ontology, near, guidance), readEntities)
          const checked = checkEntities(answer.items, chunk, classes, near)
          const rejected = [...answer.rejected, ...checked.rejected]
          yield* countRejections(client.name, rejected)
          return { mentions: checked.taken, usage, rejected }
        }),
      facts: (chunk, mentions, ontology) =>
        Effect.gen(function* () {
          const properties = propertiesFor(chunk, mentions, ontology)
          if (mentions.length === 0 || properties.length === 0) return { facts: [], usage: noUsage, rejected: [] }
          const { answer, usage } = yield* ask(factQuestion(chunk, mentions, properties, ontology, guidance), readFacts)
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
  return addUsage(usageOf(price, expected(chunk, entities, entityTokens)), usageOf(price, expected(chunk, facts, factTokens)))
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

/** Asks a model within its limits, again where its answer cannot be read. */
export const asked = <A>(
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

// The length of an answer for dense text, in tokens for each token of the text: in 16 tokens of text about one entity, which takes 16
// tokens as JSON, and half a fact, which takes 60 with its keys and quote. Tokens that a model spends on reasoning come in addition.
const entityTokens = 1
const factTokens = 2

/** The JSON around the entities or facts. */
const envelopeTokens = 20

const expected = (chunk: Chunk, question: Omit<ModelRequest, "maxOutputTokens">, ratio: number) => ({
  inputTokens: inputTokens(question),
  outputTokens: envelopeTokens + Math.ceil(estimateTokens(chunk.text) * ratio),
})

/** A mention of every class, since the entities of a chunk are not known before the first step. */
const oneOfEach = (ontology: OntologyIndex): ReadonlyArray<Mention> =>
  [...ontology.classes.keys()].map((type) => ({ type, text: "", span: { start: 0, end: 0 }, confidence: 1 }))

export const makeAnthropicExtractor = (options: ProviderOptions & ModelExtractorOptions): Effect.Effect<ModelExtractor> =>
  Effect.flatMap(makeAnthropicClient(options), (client) => makeModelExtractor(client, options))

export const anthropicLayer = (options: ProviderOptions & ModelExtractorOptions): Layer.Layer<Extractor> =>
  Layer.effect(Extractor, makeAnthropicExtractor(options))

export const makeOpenAiExtractor = (options: OpenAiClientOptions & ModelExtractorOptions): Effect.Effect<ModelExtractor> =>
  Effect.flatMap(makeOpenAiClient(options), (client) => makeModelExtractor(client, options))

export const openAiLayer = (options: OpenAiClientOptions & ModelExtractorOptions): Layer.Layer<Extractor> =>
  Layer.effect(Extractor, makeOpenAiExtractor(options))

// Any `LanguageModel` of Effect as the model of an extractor. Its layer has the address and the API key.

const Entities = Schema.Struct({ entities: Schema.Array(SaidEntity) })
const Facts = Schema.Struct({ facts: Schema.Array(SaidFact) })
const Clauses = Schema.Struct({ clauses: Schema.Array(SaidClause) })

type Outcome = Pick<LanguageModel.GenerateObjectResponse<Record<never, never>, unknown>, "value" | "usage" | "finishReason">

/** The client of the language model in a context. A layer made with `Model.make` names its provider and model. */
export const languageModelClient = (context: Context.Context<LanguageModel.LanguageModel>): ModelClient => {
  const provider = Context.getOption(context, ProviderName)
  const model = Option.getOrElse(Context.getOption(context, ModelName), () => "language-model")
  const extractor = Option.match(provider, { onNone: () => model, onSome: (name) => `${name}/${model}` })
  const service = Context.get(context, LanguageModel.LanguageModel)

  const ask = (request: ModelRequest) => {
    const prompt = [
      { role: "system" as const, content: request.system },
      { role: "user" as const, content: request.prompt },
    ]
    const objectName = request.name
    if (request.name === "clauses")
      return Effect.map(service.generateObject({ prompt, objectName, schema: Clauses }), (response) => answered(request, response))
    return request.name === "entities"
      ? Effect.map(service.generateObject({ prompt, objectName, schema: Entities }), (response) => answered(request, response))
      : Effect.map(service.generateObject({ prompt, objectName, schema: Facts }), (response) => answered(request, response))
  }

  const answered = (request: ModelRequest, { value, usage, finishReason }: Outcome): Answered<string> => {
    const text = JSON.stringify(value)
    const tokens = tokensOf(request, text, usage.inputTokens.total, usage.outputTokens.total)
    if (finishReason === "content-filter")
      return { tokens, answer: declined(extractor, "the provider's content filter stopped the answer") }
    return { tokens, answer: finishReason === "length" ? cutOff(extractor) : Result.succeed(text) }
  }

  return {
    name: extractor,
    model,
    complete: (request) =>
      Effect.catch(ask(request), (error) =>
        isAiError(error) ? failure(extractor, request, error) : Effect.fail(unknown(extractor, error)),
      ),
  }
}

const tokensOf = (request: ModelRequest, text: string, input: number | undefined, output: number | undefined) => ({
  inputTokens: input ?? estimateTokens(request.system + request.prompt),
  outputTokens: output ?? estimateTokens(text),
})

/** An answer that does not fit its schema was billed, so it is passed on: the items in it that fit are still accepted. */
const failure = (extractor: string, request: ModelRequest, error: AiError): Effect.Effect<Answered<string>, ExtractionFailed> => {
  const { reason } = error
  if (reason._tag === "StructuredOutputError")
    return Effect.succeed({
      tokens: tokensOf(request, reason.responseText, reason.usage?.promptTokens, reason.usage?.completionTokens),
      answer: Result.succeed(reason.responseText),
    })
  const wait = error.retryAfter
  return Effect.fail(
    new ExtractionFailed({
      extractor,
      ...meaningOf(error),
      retryable: error.isRetryable,
      detail: error.message.slice(0, 500),
      ...(wait === undefined ? {} : { retryAfterMillis: Duration.toMillis(wait) }),
    }),
  )
}

const meaningOf = ({ reason, isRetryable }: AiError): Pick<ExtractionFailed, "reason" | "stops"> => {
  switch (reason._tag) {
    case "RateLimitError":
      return { reason: "RateLimited", stops: "ModelUnavailable" }
    case "NetworkError":
    case "InternalProviderError":
      return { reason: "Unavailable", stops: "ModelUnavailable" }
    case "AuthenticationError":
    case "QuotaExhaustedError":
      return { reason: "NotAllowed", stops: "ModelRefused" }
    case "ContentPolicyError":
      return { reason: "Refused" }
    case "InvalidOutputError":
      return { reason: "Malformed" }
    default:
      return isRetryable ? { reason: "Unavailable" } : { reason: "NotAllowed" }
  }
}

const unknown = (extractor: string, error: unknown): ExtractionFailed =>
  new ExtractionFailed({ extractor, reason: "Bug", retryable: false, detail: describe(error).slice(0, 500) })
