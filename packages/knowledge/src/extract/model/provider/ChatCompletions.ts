/**
 * The client of Chat Completions, OpenAI's older API, which most servers of models speak, each in its own dialect. Answers are read as a
 * stream where the server sends one, which tells a long answer from a dead connection.
 */

import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ExtractionFailed } from "../../Extractor.ts"
import type { Answered } from "../CallGuard.ts"
import { estimateTokens } from "../Cost.ts"
import { cutOff, declined, type ModelClient, type ModelRequest } from "../ModelClient.ts"
import { inFoundDialect, withSchema } from "./Dialect.ts"
import { makePost, notAnAnswer, optional, streamEnd } from "./Post.ts"
import type { ProviderOptions, ReasoningEffort } from "./Provider.ts"

/** In what a service with this API differs from others. */
export interface ChatHost {
  /** The prefix of its models. */
  readonly name: string
  readonly keyName: string
  /** The base URL, from the one that the user gives, if any. */
  readonly urlOf: (baseUrl: string | undefined) => string
  /** Default: a bearer token. */
  readonly headersOf?: (apiKey: Redacted.Redacted<string>) => Readonly<Record<string, string>>
  /** How a request asks for an effort. Default: `reasoning_effort`. */
  readonly effortOf?: (effort: ReasoningEffort) => object
  /** Further fields of every request. */
  readonly fields?: object
}

/** Makes the clients of a service's models. */
export const makeChatClient =
  (host: ChatHost) =>
  (options: ProviderOptions): Effect.Effect<ModelClient> =>
    Effect.gen(function* () {
      const { model, effort } = options
      const extractor = `${host.name}/${model}`
      const url = `${host.urlOf(options.baseUrl?.replace(/(?<!\/)\/+$/, ""))}/chat/completions`
      const { effortOf = (one: ReasoningEffort) => ({ reasoning_effort: one }), fields = {} } = host
      const further = { ...(effort === undefined ? {} : effortOf(effort)), ...fields }
      const post = yield* makePost({ ...endpointOf(host, options), extractor, url, joined: replyOfEvents })
      const send = yield* inFoundDialect(extractor, dialects, post)
      return {
        name: extractor,
        model,
        complete: (request) =>
          Effect.map(
            send((dialect) => bodyOf(model, request, dialect, further)),
            (raw) => {
              const reply = readReply(raw)
              return reply === undefined ? notAnAnswer(extractor, url, request, raw) : answered(extractor, request, reply)
            },
          ),
      }
    })

/** The key and the headers of a host's requests. */
export const endpointOf = (host: Pick<ChatHost, "keyName" | "headersOf">, { apiKey }: ProviderOptions) => {
  const { keyName, headersOf = bearer } = host
  return { keyName, apiKey, headers: apiKey === undefined ? {} : headersOf(apiKey) }
}

const bearer = (apiKey: Redacted.Redacted<string>) => ({ authorization: `Bearer ${Redacted.value(apiKey)}` })

/** How a server takes a request. Servers differ in the name of the limit, the forms of answers, and whether they send streams. */
interface Dialect {
  readonly limit: "max_completion_tokens" | "max_tokens"
  readonly format: "json_schema" | "json_object" | "none"
  readonly isStream: boolean
}

/**
 * In the order in which they are tried. OpenAI's own newer models know only the newer name of the limit, most other servers both; some
 * send streams only to verified customers.
 */
const dialects: ReadonlyArray<Dialect> = (
  [
    { limit: "max_completion_tokens", format: "json_schema" },
    { limit: "max_tokens", format: "json_schema" },
    { limit: "max_completion_tokens", format: "json_object" },
    { limit: "max_tokens", format: "json_object" },
    { limit: "max_tokens", format: "none" },
  ] as const
).flatMap((form) => [
  { ...form, isStream: true },
  { ...form, isStream: false },
])

const bodyOf = (model: string, request: ModelRequest, { limit, format, isStream }: Dialect, further: object) => ({
  model,
  messages: [
    { role: "system", content: format === "json_schema" ? request.system : withSchema(request) },
    { role: "user", content: request.prompt },
  ],
  ...formatOf(format, request),
  ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
  ...further,
  [limit]: request.maxOutputTokens,
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

// Reading the reply.

/** Servers send the text of a message as one string or in parts. */
const Content = Schema.Union([Schema.String, Schema.Array(Schema.Struct({ type: Schema.String, text: optional(Schema.String) }))])

/** The arguments of a call are JSON as a string; some servers send the object itself. */
const Called = Schema.Struct({ arguments: optional(Schema.Unknown) })

const Message = Schema.Struct({
  content: optional(Content),
  refusal: optional(Schema.String),
  tool_calls: optional(Schema.Array(Schema.Struct({ index: optional(Schema.Int), function: optional(Called) }))),
})
type Message = typeof Message.Type

const Usage = Schema.Struct({
  prompt_tokens: optional(Schema.Finite),
  completion_tokens: optional(Schema.Finite),
  prompt_tokens_details: optional(Schema.Struct({ cached_tokens: optional(Schema.Finite) })),
})

const Reply = Schema.Struct({
  choices: Schema.NonEmptyArray(Schema.Struct({ finish_reason: optional(Schema.String), message: Message })),
  usage: optional(Usage),
})

/** A part of a stream. The last ones may have no choice, or no usage. */
const Part = Schema.Struct({
  choices: optional(Schema.Array(Schema.Struct({ finish_reason: optional(Schema.String), delta: optional(Message) }))),
  usage: optional(Usage),
})

/** The whole reply of a stream of parts. Undefined for one that ends before the model has ended its answer. */
const replyOfEvents = (events: ReadonlyArray<unknown>): unknown => {
  let [content, refusal, isRefusal] = ["", "", false]
  let stop: string | undefined
  let usage: typeof Usage.Type | undefined
  const calls: Array<string> = []
  for (const event of events) {
    const decoded = Schema.decodeUnknownResult(Part)(event)
    if (Result.isFailure(decoded)) continue
    const [choice] = decoded.success.choices ?? []
    usage = decoded.success.usage ?? usage
    stop = choice?.finish_reason ?? stop
    const { delta } = choice ?? {}
    if (delta === undefined || delta === null) continue
    content += textIn(delta.content)
    isRefusal ||= typeof delta.refusal === "string"
    refusal += delta.refusal ?? ""
    for (const { index, function: called } of delta.tool_calls ?? []) {
      const at = index ?? 0
      calls[at] = `${calls[at] ?? ""}${argumentsIn(called)}`
    }
  }
  // Some gateways leave out why the model stopped.
  if (stop === undefined && events.at(-1) !== streamEnd) return undefined
  const message = {
    content,
    ...(isRefusal ? { refusal } : {}),
    tool_calls: calls.map((given) => ({ function: { arguments: given } })),
  }
  return { choices: [{ message, ...(stop === undefined ? {} : { finish_reason: stop }) }], ...(usage === undefined ? {} : { usage }) }
}

const textIn = (content: Message["content"]): string =>
  typeof content === "string" ? content : (content ?? []).map((part) => (part.type === "text" ? (part.text ?? "") : "")).join("")

const argumentsIn = (called: typeof Called.Type | null | undefined): string => {
  const given = called?.arguments
  return typeof given === "string" ? given : given === undefined || given === null ? "" : JSON.stringify(given)
}

/** The text of a message; without one, the arguments of the tools that the model calls instead of answering. */
const textOf = ({ content, tool_calls }: Message): string => {
  const text = textIn(content)
  return text.trim() === "" ? (tool_calls ?? []).map((call) => argumentsIn(call.function)).join("") : text
}

/** What the APIs of OpenAI have in common. */
export interface OpenAiReply {
  readonly text: string
  readonly refusal: string | undefined
  readonly stop: string | undefined
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly cachedTokens: number | undefined
}

const readReply = (raw: unknown): OpenAiReply | undefined => {
  const decoded = Schema.decodeUnknownResult(Reply)(raw)
  if (Result.isFailure(decoded)) return undefined
  const { choices, usage } = decoded.success
  const { message, finish_reason } = choices[0]
  return {
    text: textOf(message),
    refusal: message.refusal ?? undefined,
    stop: finish_reason ?? undefined,
    inputTokens: usage?.prompt_tokens ?? undefined,
    outputTokens: usage?.completion_tokens ?? undefined,
    cachedTokens: usage?.prompt_tokens_details?.cached_tokens ?? undefined,
  }
}

export const answered = (extractor: string, request: ModelRequest, reply: OpenAiReply): Answered<string> => ({
  tokens: {
    inputTokens: reply.inputTokens ?? estimateTokens(request.system + request.prompt),
    outputTokens: reply.outputTokens ?? estimateTokens(reply.text),
    ...(reply.cachedTokens === undefined ? {} : { cachedTokens: reply.cachedTokens }),
  },
  answer: judge(extractor, reply),
})

const judge = (extractor: string, { refusal, stop, text }: OpenAiReply): Result.Result<string, ExtractionFailed> => {
  if (refusal !== undefined) return declined(extractor, refusal)
  if (stop === "content_filter") return declined(extractor, "the provider's content filter stopped the answer")
  return stop === "length" ? cutOff(extractor) : Result.succeed(text)
}
