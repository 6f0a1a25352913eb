/**
 * OpenAI's Chat Completions and Responses APIs over HTTP, and the extractor on them. All compatible servers offer Chat
 * Completions, so it is the default.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type ExtractionFailed, Extractor } from "../Extractor.ts"
import type { Answered } from "./CallGuard.ts"
import { estimateTokens } from "./Cost.ts"
import { cutOff, declined, type ModelClient, type ModelRequest, makePost, notAnAnswer } from "./ModelClient.ts"
import { type ModelExtractor, type ModelExtractorOptions, makeModelExtractor } from "./ModelExtractor.ts"

export interface OpenAiClientOptions {
  /** Not needed for a server without authentication. */
  readonly apiKey?: Redacted.Redacted<string>
  readonly model: string
  /** The base URL of any server with the same API: `http://localhost:11434/v1`. Default: https://api.openai.com/v1. */
  readonly baseUrl?: string
  readonly api?: "chat" | "responses"
}

const openAiUrl = "https://api.openai.com/v1"

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const ChatReply = Schema.Struct({
  choices: Schema.NonEmptyArray(
    Schema.Struct({
      finish_reason: optional(Schema.String),
      message: Schema.Struct({ content: optional(Schema.String), refusal: optional(Schema.String) }),
    }),
  ),
  usage: optional(Schema.Struct({ prompt_tokens: optional(Schema.Finite), completion_tokens: optional(Schema.Finite) })),
})

const ResponsesReply = Schema.Struct({
  output: Schema.Array(
    Schema.Struct({
      type: Schema.String,
      content: optional(
        Schema.Array(Schema.Struct({ type: Schema.String, text: optional(Schema.String), refusal: optional(Schema.String) })),
      ),
    }),
  ),
  incomplete_details: optional(Schema.Struct({ reason: optional(Schema.String) })),
  usage: optional(Schema.Struct({ input_tokens: optional(Schema.Finite), output_tokens: optional(Schema.Finite) })),
})

/** The common result of both APIs. */
interface Reply {
  readonly text: string
  readonly refusal: string | undefined
  readonly stop: string | undefined
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
}

/** One of the two APIs: its path, its request body, and the reader of its response. */
interface Dialect {
  readonly path: string
  readonly body: (model: string, request: ModelRequest, isOwn: boolean) => unknown
  readonly read: (raw: unknown) => Reply | undefined
}

export const makeOpenAiClient = (options: OpenAiClientOptions): Effect.Effect<ModelClient> =>
  Effect.gen(function* () {
    const { apiKey, model } = options
    const extractor = `openai/${model}`
    const base = (options.baseUrl ?? openAiUrl).replace(/\/+$/, "")
    const { path, body, read } = options.api === "responses" ? responses : chat
    const url = `${base}${path}`
    const headers = apiKey === undefined ? {} : { authorization: `Bearer ${Redacted.value(apiKey)}` }
    const post = yield* makePost({ extractor, url, headers, apiKey, keyName: "OPENAI_API_KEY" })
    return {
      name: extractor,
      model,
      complete: (request) =>
        Effect.map(post(body(model, request, base === openAiUrl)), (raw) => {
          const reply = read(raw)
          return reply === undefined ? notAnAnswer(extractor, url, request, raw) : answerOf(extractor, request, reply)
        }),
    }
  })

const chat: Dialect = {
  path: "/chat/completions",
  body: (model, request, isOwn) => ({
    model,
    messages: [
      { role: "system", content: request.system },
      { role: "user", content: request.prompt },
    ],
    response_format: { type: "json_schema", json_schema: { name: request.name, strict: true, schema: request.schema } },
    // Other servers know the older name of this limit; OpenAI's newer models accept only the newer one.
    [isOwn ? "max_completion_tokens" : "max_tokens"]: request.maxOutputTokens,
  }),
  read: (raw) => {
    const decoded = Schema.decodeUnknownResult(ChatReply)(raw)
    if (Result.isFailure(decoded)) return undefined
    const { choices, usage } = decoded.success
    const { message, finish_reason } = choices[0]
    return {
      text: message.content ?? "",
      refusal: message.refusal ?? undefined,
      stop: finish_reason ?? undefined,
      inputTokens: usage?.prompt_tokens ?? undefined,
      outputTokens: usage?.completion_tokens ?? undefined,
    }
  },
}

const responses: Dialect = {
  path: "/responses",
  body: (model, request) => ({
    model,
    instructions: request.system,
    input: request.prompt,
    max_output_tokens: request.maxOutputTokens,
    store: false,
    text: { format: { type: "json_schema", name: request.name, strict: true, schema: request.schema } },
  }),
  read: (raw) => {
    const decoded = Schema.decodeUnknownResult(ResponsesReply)(raw)
    if (Result.isFailure(decoded)) return undefined
    const { output, usage, incomplete_details } = decoded.success
    const parts = output.flatMap((item) => (item.type === "message" ? (item.content ?? []) : []))
    const stop = incomplete_details?.reason
    return {
      text: parts.map(({ text }) => text ?? "").join(""),
      refusal: parts.find(({ type }) => type === "refusal")?.refusal ?? undefined,
      stop: stop === "max_output_tokens" ? "length" : (stop ?? undefined),
      inputTokens: usage?.input_tokens ?? undefined,
      outputTokens: usage?.output_tokens ?? undefined,
    }
  },
}

const answerOf = (extractor: string, request: ModelRequest, reply: Reply): Answered<string> => ({
  tokens: {
    inputTokens: reply.inputTokens ?? estimateTokens(request.system + request.prompt),
    outputTokens: reply.outputTokens ?? estimateTokens(reply.text),
  },
  answer: judged(extractor, reply),
})

const judged = (extractor: string, { refusal, stop, text }: Reply): Result.Result<string, ExtractionFailed> => {
  if (refusal !== undefined) return declined(extractor, refusal)
  if (stop === "content_filter") return declined(extractor, "the provider's content filter stopped the answer")
  return stop === "length" ? cutOff(extractor) : Result.succeed(text)
}

export const makeOpenAiExtractor = (options: OpenAiClientOptions & ModelExtractorOptions): Effect.Effect<ModelExtractor> =>
  Effect.flatMap(makeOpenAiClient(options), (client) => makeModelExtractor(client, options))

export const openAiLayer = (options: OpenAiClientOptions & ModelExtractorOptions): Layer.Layer<Extractor> =>
  Layer.effect(Extractor, makeOpenAiExtractor(options))
