/**
 * One POST to a provider, answered as a whole or as a stream of events. A failure says whether another attempt can succeed, when, and whether other documents would fail the same way.
 * The key is only in a header: the request has no tracing span, redirects are refused, since the header would be sent to their target,
 * and the key is removed from every message.
 */

import { innermostReason } from "@detent/machine/internal"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
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
import { ExtractionFailed } from "../../Extractor.ts"
import { type Answered, PartReceived } from "../CallGuard.ts"
import { estimateTokens } from "../Cost.ts"
import type { ModelRequest } from "../ModelClient.ts"

/** Providers leave out fields, or set them to null. */
export const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** The response is JSON, but not that of the called API. Its cost is unknown. */
export const notAnAnswer = (extractor: string, url: string, request: ModelRequest, raw: unknown): Answered<string> => ({
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

export interface Endpoint {
  /** The name in errors and provenance: `openai/gpt-5-mini`. */
  readonly extractor: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly apiKey: Redacted.Redacted<string> | undefined
  /** The variable that holds the key, for the next step of a refusal. */
  readonly keyName: string
  /** The whole answer of a stream's events. Undefined for a stream that ends too early. */
  readonly joined: (events: ReadonlyArray<unknown>) => unknown
}

/** The maximum size of an answer in bytes. The longest answers of models are far below it. */
const longestAnswer = 16_000_000

const longestDetail = 500

/** The service refused the form of the request, not its content: it may accept another form. */
export class FormRefused extends Data.TaggedError("FormRefused")<{ readonly failure: ExtractionFailed }> {}

export type Post = (body: unknown) => Effect.Effect<unknown, ExtractionFailed | FormRefused>

/** Sends requests through the HttpClient in the context, or through `fetch`. The answer is JSON of any form. */
export const makePost = (endpoint: Endpoint): Effect.Effect<Post> =>
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
        const isAnswer = response.status >= 200 && response.status < 300
        const events = isAnswer ? eventsOf(response.headers["content-type"] ?? "", text) : undefined
        const answer = events === undefined ? parse(text) : undefined
        // Some services find out that they cannot answer after they have begun to.
        const refusal = events?.find(isRefusal) ?? (isRefusal(answer) ? answer : undefined)
        if (isAnswer && refusal === undefined) {
          const whole = events === undefined ? answer : endpoint.joined(events)
          if (whole !== undefined) return whole
          if (events !== undefined) return yield* failed(unavailable, "the stream ended before the answer did")
          return yield* failed(notJson, `the answer is not JSON: ${JSON.stringify(text.slice(0, 200))}`)
        }
        const problem = problemIn(refusal ?? answer, text)
        const status = isAnswer ? statusOf(problem) : response.status
        const fault = faultOf(status, problem, endpoint.keyName)
        const wait = fault.retryable ? retryAfter(response.headers, yield* Clock.currentTimeMillis) : undefined
        const waiting = wait === undefined ? fault : wait > longestPause ? postponed(fault, wait) : { ...fault, retryAfterMillis: wait }
        const failure = failed(waiting, `${status} ${problem.said}`)
        return yield* fault.isOfForm === true ? new FormRefused({ failure }) : failure
      })

    return (body) =>
      Effect.gen(function* () {
        const request = HttpClientRequest.post(endpoint.url).pipe(
          HttpClientRequest.setHeaders({ accept: "application/json, text/event-stream", ...endpoint.headers }),
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
    const received = yield* PartReceived
    yield* Stream.runForEach(response.stream, (piece) => {
      size += piece.byteLength
      if (size > longestAnswer) return Effect.fail("TooLong" as const)
      pieces.push(piece)
      return received
    })
    return Buffer.concat(pieces).toString("utf8")
  })

/**
 * The events of a stream: server-sent events, or JSON on each line. Undefined for another content type. An event that is no
 * JSON says nothing.
 */
const eventsOf = (contentType: string, text: string): ReadonlyArray<unknown> | undefined => {
  const lines = () => text.split("\n").map((line) => line.trim())
  if (contentType.startsWith("application/x-ndjson")) return lines().flatMap(parsed)
  if (!contentType.startsWith("text/event-stream")) return undefined
  return lines().flatMap((line) => (line.startsWith("data:") ? parsed(line.slice("data:".length)) : []))
}

/** The last event of Chat Completions, which is no JSON. */
export const streamEnd = "[DONE]"

const parsed = (text: string): ReadonlyArray<unknown> => {
  const event = text.trim() === streamEnd ? streamEnd : parse(text)
  return event === undefined ? [] : [event]
}

const isRefusal = (answer: unknown): boolean => {
  const error = errorIn(answer)
  return error !== undefined && error !== null
}

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
  /** Whether another form of the request may be accepted. */
  readonly isOfForm?: boolean
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
  /** The status that an error in an answer names. */
  readonly status: number | undefined
  /** Whether the provider's moderation stopped the text. */
  readonly isModerated: boolean
}

/** The `error` of an answer. Google sends a list with one object; Responses have the error `null` when there is none. */
const errorIn = (answer: unknown): unknown => {
  const whole: unknown = Array.isArray(answer) ? answer[0] : answer
  return fieldOf(whole, "error") ?? fieldOf(fieldOf(whole, "response"), "error")
}

/** Providers answer with an `error` object or text, gateways with any body. */
const problemIn = (answer: unknown, text: string): Problem => {
  const error = errorIn(answer) ?? answer
  const said = typeof error === "string" ? error : fieldOf(error, "message")
  const code = fieldOf(error, "code")
  const codes = [fieldOf(error, "type"), code, fieldOf(fieldOf(error, "details"), "error_code")]
  return {
    said: typeof said === "string" && said !== "" ? said : text.slice(0, 1000).replace(/\s+/gu, " ").slice(0, 200),
    codes: codes.filter((one) => typeof one === "string").join(" "),
    status: typeof code === "number" ? code : undefined,
    isModerated: fieldOf(fieldOf(error, "metadata"), "reasons") !== undefined,
  }
}

/** The status of an error that came after the status of the answer. */
const statusOf = ({ status, codes }: Problem): number => status ?? statuses.find(([code]) => codes.split(" ").includes(code))?.[1] ?? 502

const statuses: ReadonlyArray<readonly [code: string, status: number]> = [
  ["overloaded_error", 529],
  ["rate_limit_error", 429],
  ["rate_limit_exceeded", 429],
  ["invalid_request_error", 400],
  ["authentication_error", 401],
  ["billing_error", 402],
  ["permission_error", 403],
  ["not_found_error", 404],
  ["request_too_large", 413],
]

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined

const faultOf = (status: number, { said, codes, isModerated }: Problem, keyName: string): Fault => {
  const text = `${said} ${codes}`
  if (isModerated) return { reason: "Refused", retryable: false }
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
  if (/content_filter|content_policy/i.test(codes)) return { reason: "Refused", retryable: false }
  const isOfForm = status === 400 || status === 422
  return { reason: "NotAllowed", retryable: false, nextStep: "see the provider's message", ...(isOfForm ? { isOfForm } : {}) }
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
