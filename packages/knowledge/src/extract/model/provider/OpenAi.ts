/** OpenAI's Chat Completions and Responses APIs over HTTP. All compatible servers offer Chat Completions, so it is the default. */

import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { ExtractionFailed } from "../../Extractor.ts"
import type { Answered } from "../CallGuard.ts"
import { estimateTokens } from "../Cost.ts"
import { cutOff, declined, type ModelClient, type ModelRequest } from "../ModelClient.ts"
import { makePost, notAnAnswer, optional, type Post } from "./Post.ts"
import type { Provider, ProviderOptions } from "./Provider.ts"

export interface OpenAiClientOptions extends ProviderOptions {
  readonly api?: "chat" | "responses"
}

const openAiUrl = "https://api.openai.com/v1"

/** Servers send the text of a message as one string or in parts. */
const Content = Schema.Union([Schema.String, Schema.Array(Schema.Struct({ type: Schema.String, text: optional(Schema.String) }))])

/** The arguments of a call are JSON as a string; some servers send the object itself. */
const Called = Schema.Struct({ arguments: optional(Schema.Unknown) })

const ChatReply = Schema.Struct({
  choices: Schema.NonEmptyArray(
    Schema.Struct({
      finish_reason: optional(Schema.String),
      message: Schema.Struct({
        content: optional(Content),
        refusal: optional(Schema.String),
        tool_calls: optional(Schema.Array(Schema.Struct({ function: optional(Called) }))),
      }),
    }),
  ),
  usage: optional(Schema.Struct({ prompt_tokens: optional(Schema.Finite), completion_tokens: optional(Schema.Finite) })),
})

type ChatMessage = (typeof ChatReply.Type)["choices"][0]["message"]

/** The text of a message; without one, the arguments of the tools that the model calls instead of answering. */
const textOf = ({ content, tool_calls }: ChatMessage): string => {
  const text =
    typeof content === "string" ? content : (content ?? []).map((part) => (part.type === "text" ? (part.text ?? "") : "")).join("")
  if (text.trim() !== "") return text
  const calls = (tool_calls ?? []).map((call) => call.function?.arguments)
  return calls
    .map((given) => (typeof given === "string" ? given : given === undefined || given === null ? "" : JSON.stringify(given)))
    .join("")
}

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
interface OpenAiReply {
  readonly text: string
  readonly refusal: string | undefined
  readonly stop: string | undefined
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
}

/** How a server takes a request. Servers with the API of OpenAI differ in the name of the limit and in the forms of answers they know. */
interface Dialect {
  readonly limit: "max_completion_tokens" | "max_tokens"
  readonly format: "json_schema" | "json_object" | "none"
}

/** In the order in which they are tried. OpenAI's own newer models know only the newer name of the limit, most other servers both. */
const dialects: ReadonlyArray<Dialect> = [
  { limit: "max_completion_tokens", format: "json_schema" },
  { limit: "max_tokens", format: "json_schema" },
  { limit: "max_completion_tokens", format: "json_object" },
  { limit: "max_tokens", format: "json_object" },
  { limit: "max_tokens", format: "none" },
]

/** One of the two APIs: its path, its request body, and the reader of its response. */
interface Api {
  readonly path: string
  /** The forms of requests that its servers take. */
  readonly dialects: ReadonlyArray<Dialect>
  readonly body: (model: string, request: ModelRequest, dialect: Dialect) => unknown
  readonly read: (raw: unknown) => OpenAiReply | undefined
}

export const makeOpenAiClient = (options: OpenAiClientOptions): Effect.Effect<ModelClient> =>
  Effect.gen(function* () {
    const { apiKey, model } = options
    const extractor = `openai/${model}`
    const base = (options.baseUrl ?? openAiUrl).replace(/(?<!\/)\/+$/, "")
    const api = options.api === "responses" ? responses : chat
    const url = `${base}${api.path}`
    const headers = apiKey === undefined ? {} : { authorization: `Bearer ${Redacted.value(apiKey)}` }
    const post = yield* makePost({ extractor, url, headers, apiKey, keyName: openAi.keyName })
    const send = yield* inFoundDialect(extractor, api.dialects, post)
    return {
      name: extractor,
      model,
      complete: (request) =>
        Effect.map(
          send((dialect) => api.body(model, request, dialect)),
          (raw) => {
            const reply = api.read(raw)
            return reply === undefined ? notAnAnswer(extractor, url, request, raw) : answered(extractor, request, reply)
          },
        ),
    }
  })

/**
 * Sends requests in the first dialect that the server takes, and remembers it. Until then, one call at a time tries them: a server
 * refuses an unknown form before it does any paid work. A server that takes none refuses every document, so the batch stops.
 */
const inFoundDialect = (extractor: string, dialects: ReadonlyArray<Dialect>, post: Post) =>
  Effect.map(Semaphore.make(1), (one) => {
    let found: Dialect | undefined

    const tried = (body: (dialect: Dialect) => unknown): Effect.Effect<unknown, ExtractionFailed> =>
      Effect.gen(function* () {
        const refusals: Array<ExtractionFailed> = []
        for (const dialect of dialects) {
          const outcome = yield* Effect.result(post(body(dialect)))
          if (Result.isSuccess(outcome)) {
            found = dialect
            return outcome.success
          }
          if (outcome.failure._tag !== "FormRefused") return yield* outcome.failure
          refusals.push(outcome.failure.failure)
        }
        // The first form is the usual one: what the server says about it tells the most.
        const [{ reason, detail } = { reason: "NotAllowed", detail: "the server takes no form of the request" } as const] = refusals
        return yield* new ExtractionFailed({ extractor, reason, detail, retryable: false, stops: "ModelRefused" })
      })

    const inDialect = (body: (dialect: Dialect) => unknown, dialect: Dialect) =>
      Effect.catchTag(post(body(dialect)), "FormRefused", ({ failure }) => Effect.fail(failure))

    return (body: (dialect: Dialect) => unknown): Effect.Effect<unknown, ExtractionFailed> =>
      Effect.suspend(() =>
        found === undefined
          ? one.withPermit(Effect.suspend(() => (found === undefined ? tried(body) : inDialect(body, found))))
          : inDialect(body, found),
      )
  })

const formatOf = (format: Dialect["format"], { name, schema }: ModelRequest): object => {
  switch (format) {
    case "json_schema":
      return { response_format: { type: "json_schema", json_schema: { name, strict: true, schema } } }
    case "json_object":
      return { response_format: { type: "json_object" } }
    case "none":
      return {}
  }
}

/** A server that does not take the schema reads it in the prompt. */
const instructionsOf = (format: Dialect["format"], { system, schema }: ModelRequest): string =>
  format === "json_schema"
    ? system
    : `${system}\n\nAnswer with one JSON object that follows this JSON Schema, and nothing else:\n${JSON.stringify(schema)}`

const chat: Api = {
  path: "/chat/completions",
  dialects,
  body: (model, request, { limit, format }) => ({
    model,
    messages: [
      { role: "system", content: instructionsOf(format, request) },
      { role: "user", content: request.prompt },
    ],
    ...formatOf(format, request),
    [limit]: request.maxOutputTokens,
  }),
  read: (raw) => {
    const decoded = Schema.decodeUnknownResult(ChatReply)(raw)
    if (Result.isFailure(decoded)) return undefined
    const { choices, usage } = decoded.success
    const { message, finish_reason } = choices[0]
    return {
      text: textOf(message),
      refusal: message.refusal ?? undefined,
      stop: finish_reason ?? undefined,
      inputTokens: usage?.prompt_tokens ?? undefined,
      outputTokens: usage?.completion_tokens ?? undefined,
    }
  },
}

const responses: Api = {
  path: "/responses",
  dialects: dialects.slice(0, 1),
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

const answered = (extractor: string, request: ModelRequest, reply: OpenAiReply): Answered<string> => ({
  tokens: {
    inputTokens: reply.inputTokens ?? estimateTokens(request.system + request.prompt),
    outputTokens: reply.outputTokens ?? estimateTokens(reply.text),
  },
  answer: judge(extractor, reply),
})

const judge = (extractor: string, { refusal, stop, text }: OpenAiReply): Result.Result<string, ExtractionFailed> => {
  if (refusal !== undefined) return declined(extractor, refusal)
  if (stop === "content_filter") return declined(extractor, "the provider's content filter stopped the answer")
  return stop === "length" ? cutOff(extractor) : Result.succeed(text)
}

export const openAi: Provider = { keyName: "OPENAI_API_KEY", baseUrlName: "OPENAI_BASE_URL", make: makeOpenAiClient }
