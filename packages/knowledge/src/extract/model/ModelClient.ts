/**
 * The clients of providers: each answers a prompt in JSON of a given form. First the parts that they share, which are the faults of an
 * answer that arrived and was billed, and the HTTP request with the meaning of its failures; then Anthropic's API and OpenAI's.
 */

import { innermostReason } from "@detent/machine/internal"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { ExtractionFailed } from "../Extractor.ts"
import type { Answered } from "./CallGuard.ts"
import { estimateTokens } from "./Cost.ts"

/** Providers leave out fields, or set them to null. */
const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** A JSON Schema in the part of the language that all providers understand. */
export type JsonSchema = { readonly [key: string]: unknown }

export interface ModelRequest {
  readonly system: string
  readonly prompt: string
  /** The name and the schema of the answer. */
  readonly name: string
  readonly schema: JsonSchema
  readonly maxOutputTokens: number
}

export interface ModelClient {
  /** The name in provenance and errors: `anthropic/claude-…`. */
  readonly name: string
  /** The name in the price table. */
  readonly model: string
  /** Makes one call, without retries, and returns the text of the answer. */
  readonly complete: (request: ModelRequest) => Effect.Effect<Answered<string>, ExtractionFailed>
}

/** The model declined to answer. */
export const declined = (extractor: string, said: string): Result.Result<never, ExtractionFailed> =>
  Result.fail(
    new ExtractionFailed({ extractor, reason: "Refused", retryable: false, detail: said.slice(0, 200) || "the model declined to answer" }),
  )

/** The answer reached the limit of output tokens. Another attempt would end at the same place. */
export const cutOff = (extractor: string): Result.Result<never, ExtractionFailed> =>
  Result.fail(
    new ExtractionFailed({
      extractor,
      reason: "TooLong",
      retryable: false,
      detail: "the answer was cut off at the limit of output tokens; make the chunks smaller or raise the limit",
    }),
  )

/** The response is JSON, but not that of the called API. Its cost is unknown. */
const notAnAnswer = (extractor: string, url: string, request: ModelRequest, raw: unknown): Answered<string> => ({
  tokens: { inputTokens: estimateTokens(request.system + request.prompt), outputTokens: 0 },
  answer: Result.fail(
    new ExtractionFailed({
      extractor,
      reason: "Malformed",
      retryable: true,
      detail: `${url}: the response is not an answer of this API: ${JSON.stringify(raw)?.slice(0, 200)}; check the base URL`,
    }),
  ),
})

// One POST to a provider. A failure says whether another attempt can succeed, when, and whether other documents would fail the same
// way. The key is only in a header: the request has no tracing span, redirects are refused, since the header would be sent to their
// target, and the key is removed from every message.

export interface Endpoint {
  /** The name in errors and provenance: `openai/gpt-5-mini`. */
  readonly extractor: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly apiKey: Redacted.Redacted<string> | undefined
  /** The variable that holds the key, for the next step of a refusal. */
  readonly keyName: string
}

/** The maximum size of an answer in bytes. The longest answers of models are far below it. */
const longestAnswer = 16_000_000

const longestDetail = 500

/** Sends requests through the HttpClient in the context, or through `fetch`. The answer is JSON of any form. */
const makePost = (endpoint: Endpoint): Effect.Effect<(body: unknown) => Effect.Effect<unknown, ExtractionFailed>> =>
  Effect.map(Effect.serviceOption(HttpClient.HttpClient), (given) => {
    const failed = (fault: Fault, said: string): ExtractionFailed =>
      new ExtractionFailed({
        extractor: endpoint.extractor,
        reason: fault.reason,
        retryable: fault.retryable,
        detail: detailOf(endpoint, fault, said),
        ...(fault.stops === undefined ? {} : { stops: fault.stops }),
        ...(fault.retryAfterMillis === undefined ? {} : { retryAfterMillis: fault.retryAfterMillis }),
      })

    const unreachable = (error: HttpClientError) =>
      failed({ ...unavailable, nextStep: "check the base URL and that the server answers" }, innermostReason(error))

    const read = (response: HttpClientResponse) =>
      Effect.mapError(textOf(response), (error) => (error === "TooLong" ? failed(tooLong, "the answer is too long") : unreachable(error)))

    const judge = (response: HttpClientResponse, text: string) =>
      Effect.gen(function* () {
        const answer = parse(text)
        if (response.status >= 200 && response.status < 300)
          return answer === undefined ? yield* failed(notJson, `the answer is not JSON: ${JSON.stringify(text.slice(0, 200))}`) : answer
        const problem = problemIn(answer, text)
        const fault = faultOf(response.status, problem, endpoint.keyName)
        const wait = fault.retryable ? retryAfter(response.headers, yield* Clock.currentTimeMillis) : undefined
        const waiting = wait === undefined ? fault : wait > longestPause ? postponed(fault, wait) : { ...fault, retryAfterMillis: wait }
        return yield* failed(waiting, `${response.status} ${problem.said}`)
      })

    return (body) =>
      Effect.gen(function* () {
        const request = HttpClientRequest.post(endpoint.url).pipe(
          HttpClientRequest.setHeaders({ accept: "application/json", ...endpoint.headers }),
          HttpClientRequest.bodyText(JSON.stringify(body), "application/json"),
        )
        const response = yield* Effect.mapError(HttpClient.execute(request), unreachable)
        return yield* judge(response, yield* read(response))
      }).pipe(
        Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
        Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
        Option.isSome(given) ? Effect.provideService(HttpClient.HttpClient, given.value) : Effect.provide(FetchHttpClient.layer),
      )
  })

const textOf = (response: HttpClientResponse): Effect.Effect<string, HttpClientError | "TooLong"> =>
  Effect.gen(function* () {
    const pieces: Array<Uint8Array> = []
    let size = 0
    yield* Stream.runForEach(response.stream, (piece) => {
      size += piece.byteLength
      if (size > longestAnswer) return Effect.fail("TooLong" as const)
      pieces.push(piece)
      return Effect.void
    })
    return Buffer.concat(pieces).toString("utf8")
  })

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The caller reports that this is not JSON, with its beginning.
    return undefined
  }
}

interface Fault extends Pick<ExtractionFailed, "reason" | "retryable"> {
  readonly stops?: NonNullable<ExtractionFailed["stops"]>
  readonly retryAfterMillis?: number
  readonly nextStep?: string
}

const unavailable: Fault = { reason: "Unavailable", retryable: true, stops: "ModelUnavailable" }
const overloaded: Fault = { reason: "Overloaded", retryable: true, stops: "ModelUnavailable" }
const tooLong: Fault = { reason: "TooLong", retryable: false, nextStep: "make the chunks smaller" }
const notJson: Fault = { reason: "Malformed", retryable: true, nextStep: "check that the base URL is that of the API" }
const refused = (nextStep: string): Fault => ({ reason: "NotAllowed", retryable: false, stops: "ModelRefused", nextStep })

interface Problem {
  readonly said: string
  /** The provider's codes, for faults that share a status. */
  readonly codes: string
}

/** Both providers answer with an `error` object, gateways with any body. */
const problemIn = (answer: unknown, text: string): Problem => {
  const error = fieldOf(answer, "error") ?? answer
  const said = fieldOf(error, "message")
  const codes = [fieldOf(error, "type"), fieldOf(error, "code"), fieldOf(fieldOf(error, "details"), "error_code")]
  return {
    said: typeof said === "string" && said !== "" ? said : text.slice(0, 1000).replace(/\s+/gu, " ").slice(0, 200),
    codes: codes.filter((code) => typeof code === "string").join(" "),
  }
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined

const faultOf = (status: number, { said, codes }: Problem, keyName: string): Fault => {
  const text = `${said} ${codes}`
  if (/prompt is too long|context_length_exceeded|maximum context length/i.test(text)) return tooLong
  if (/insufficient_quota|credit_balance|spend_limit|billing_error/i.test(text)) return refused("check the account's credit")
  if (status >= 300 && status < 400) return refused("the address redirects: set the base URL to the target of the redirect")
  if (status === 401) return refused(`check the API key in ${keyName}`)
  if (status === 402) return refused("check the account's credit")
  if (status === 403) return refused(`check the permissions of the API key in ${keyName}`)
  if (status === 404) return refused("check the name of the model and the base URL")
  if (status === 408) return { reason: "TimedOut", retryable: true }
  if (status === 413) return tooLong
  if (status === 429) return { reason: "RateLimited", retryable: true, stops: "ModelUnavailable", nextStep: "lower the rate limits" }
  if (status === 503 || status === 529) return overloaded
  if (status === 409 || status >= 500) return unavailable
  return { reason: "NotAllowed", retryable: false, nextStep: "see the provider's message" }
}

/** The longest pause that a provider can ask for, in milliseconds. After a longer one, someone resumes the batch. */
const longestPause = 5 * 60_000

const postponed = (fault: Fault, millis: number): Fault => ({
  ...fault,
  retryable: false,
  stops: "ModelUnavailable",
  nextStep: `it asks for a pause of ${Math.ceil(millis / 60_000)} minutes; resume the batch after it`,
})

/** The wait in milliseconds. Providers send milliseconds, seconds, or a point in time. */
const retryAfter = (headers: Readonly<Record<string, string | undefined>>, now: number): number | undefined => {
  const millis = amount(headers["retry-after-ms"])
  if (millis !== undefined) return millis
  const said = headers["retry-after"]
  const seconds = amount(said)
  if (seconds !== undefined) return seconds * 1000
  const at = said === undefined ? Option.none() : DateTime.make(said)
  return Option.isNone(at) ? undefined : Math.max(0, DateTime.toEpochMillis(at.value) - now)
}

const amount = (header: string | undefined): number | undefined =>
  header !== undefined && /^\s*\d{1,9}(\.\d{1,9})?\s*$/.test(header) ? Number(header) : undefined

const detailOf = ({ url, apiKey }: Endpoint, { nextStep }: Fault, said: string): string => {
  const text = withoutKey(`${url}: ${said}`, apiKey).slice(0, longestDetail)
  return nextStep === undefined ? text : `${text}; ${nextStep}`
}

const withoutKey = (text: string, key: Redacted.Redacted<string> | undefined): string => {
  const secret = key === undefined ? "" : Redacted.value(key)
  return secret === "" ? text : text.replaceAll(secret, "<redacted>")
}

// Anthropic's Messages API over HTTP.

export interface AnthropicClientOptions {
  /** Not needed for a gateway without authentication. */
  readonly apiKey?: Redacted.Redacted<string>
  readonly model: string
  /** The base URL of a gateway with the same API. Default: https://api.anthropic.com. */
  readonly baseUrl?: string
  /** The effort of a reasoning model. Other models reject requests that set it. */
  readonly effort?: "low" | "medium" | "high"
}

const anthropicVersion = "2026-10-21"

const anthropicUrl = "https://api.anthropic.com"

/** The fields that the client reads. Only `content` is required: gateways leave out much of the rest. */
const AnthropicReply = Schema.Struct({
  content: Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.optionalKey(Schema.String) })),
  stop_reason: optional(Schema.String),
  usage: optional(
    Schema.Struct({
      input_tokens: optional(Schema.Finite),
      output_tokens: optional(Schema.Finite),
      cache_creation_input_tokens: optional(Schema.Finite),
      cache_read_input_tokens: optional(Schema.Finite),
    }),
  ),
})
type AnthropicReply = typeof AnthropicReply.Type

export const makeAnthropicClient = (options: AnthropicClientOptions): Effect.Effect<ModelClient> =>
  Effect.gen(function* () {
    const { apiKey, model, effort } = options
    const extractor = `anthropic/${model}`
    const base = (options.baseUrl ?? anthropicUrl).replace(/(?<!\/)\/+$/, "")
    const url = base.endsWith("/v1") ? `${base}/messages` : `${base}/v1/messages`
    const post = yield* makePost({
      extractor,
      url,
      headers: { "anthropic-version": anthropicVersion, ...(apiKey === undefined ? {} : { "x-api-key": Redacted.value(apiKey) }) },
      apiKey,
      keyName: "ANTHROPIC_API_KEY",
    })
    return {
      name: extractor,
      model,
      complete: (request) =>
        Effect.map(
          post({
            model,
            max_tokens: request.maxOutputTokens,
            system: request.system,
            messages: [{ role: "user", content: request.prompt }],
            output_config: { format: { type: "json_schema", schema: request.schema }, ...(effort === undefined ? {} : { effort }) },
          }),
          (raw) => {
            const reply = Schema.decodeUnknownResult(AnthropicReply)(raw)
            return Result.isSuccess(reply) ? anthropicAnswer(extractor, request, reply.success) : notAnAnswer(extractor, url, request, raw)
          },
        ),
    }
  })

const anthropicAnswer = (extractor: string, request: ModelRequest, { content, stop_reason, usage }: AnthropicReply): Answered<string> => {
  const text = content.map((block) => (block.type === "text" ? (block.text ?? "") : "")).join("")
  const read = (usage?.input_tokens ?? 0) + (usage?.cache_creation_input_tokens ?? 0) + (usage?.cache_read_input_tokens ?? 0)
  const tokens = {
    inputTokens: read > 0 ? read : estimateTokens(request.system + request.prompt),
    outputTokens: usage?.output_tokens ?? estimateTokens(text),
  }
  return { tokens, answer: judgedAnthropic(extractor, stop_reason ?? undefined, text) }
}

const judgedAnthropic = (extractor: string, stop: string | undefined, text: string): Result.Result<string, ExtractionFailed> => {
  if (stop === "refusal") return declined(extractor, text)
  if (stop === "max_tokens" || stop === "model_context_window_exceeded") return cutOff(extractor)
  return Result.succeed(text)
}

// OpenAI's Chat Completions and Responses APIs over HTTP. All compatible servers offer Chat Completions, so it is the default.

export interface OpenAiClientOptions {
  /** Not needed for a server without authentication. */
  readonly apiKey?: Redacted.Redacted<string>
  readonly model: string
  /** The base URL of any server with the same API: `http://localhost:11434/v1`. Default: https://api.openai.com/v1. */
  readonly baseUrl?: string
  readonly api?: "chat" | "responses"
}

const openAiUrl = "https://api.openai.com/v1"

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
interface OpenAiReply {
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
  readonly read: (raw: unknown) => OpenAiReply | undefined
}

export const makeOpenAiClient = (options: OpenAiClientOptions): Effect.Effect<ModelClient> =>
  Effect.gen(function* () {
    const { apiKey, model } = options
    const extractor = `openai/${model}`
    const base = (options.baseUrl ?? openAiUrl).replace(/(?<!\/)\/+$/, "")
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
          return reply === undefined ? notAnAnswer(extractor, url, request, raw) : openAiAnswer(extractor, request, reply)
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

const openAiAnswer = (extractor: string, request: ModelRequest, reply: OpenAiReply): Answered<string> => ({
  tokens: {
    inputTokens: reply.inputTokens ?? estimateTokens(request.system + request.prompt),
    outputTokens: reply.outputTokens ?? estimateTokens(reply.text),
  },
  answer: judgedOpenAi(extractor, reply),
})

const judgedOpenAi = (extractor: string, { refusal, stop, text }: OpenAiReply): Result.Result<string, ExtractionFailed> => {
  if (refusal !== undefined) return declined(extractor, refusal)
  if (stop === "content_filter") return declined(extractor, "the provider's content filter stopped the answer")
  return stop === "length" ? cutOff(extractor) : Result.succeed(text)
}
