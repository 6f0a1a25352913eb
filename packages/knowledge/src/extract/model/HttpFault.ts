/**
 * What a provider's error means: whether asking again can help, and when. Both official clients throw errors of the same shape.
 * The client's own error is not handed on, since nobody knows what it holds; of its message the key is struck out.
 */
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { describe } from "../../storage/Describe.ts"
import { ExtractionFailed } from "../ExtractionFailed.ts"

type Reason = ExtractionFailed["reason"]

export interface FaultContext {
  readonly extractor: string
  readonly apiKey: Redacted.Redacted<string>
}

/** `now` is the time of day, for a wait that is given as a point in time. */
export const faultOf = (context: FaultContext, error: unknown, now: number): ExtractionFailed => {
  const { reason, retryable, nextStep } = meaningOf(error)
  const wait = retryable ? retryAfter(error, now) : undefined
  const said = withoutKey(describe(error), context.apiKey).slice(0, longestDetail)
  return new ExtractionFailed({
    extractor: context.extractor,
    reason,
    retryable,
    detail: nextStep === undefined ? said : `${said}; ${nextStep}`,
    ...(wait === undefined ? {} : { retryAfterMillis: wait }),
  })
}

/** Makes a call through an official client. It is given up with the fiber. */
export const callProvider = <A>(context: FaultContext, call: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, ExtractionFailed> =>
  Clock.clockWith((clock) => Effect.tryPromise({ try: call, catch: (error) => faultOf(context, error, clock.currentTimeMillisUnsafe()) }))

const longestDetail = 500

interface Meaning {
  readonly reason: Reason
  readonly retryable: boolean
  readonly nextStep?: string
}

const meaningOf = (error: unknown): Meaning => {
  const name = error instanceof Error ? error.constructor.name : ""
  if (name === "APIConnectionTimeoutError") return { reason: "TimedOut", retryable: true }
  if (name === "APIConnectionError") return { reason: "Unavailable", retryable: true }
  const status = statusOf(error)
  // The connection was cut in the middle of an answer, or the answer is no JSON.
  if (status === undefined)
    return error instanceof SyntaxError ? { reason: "Malformed", retryable: true } : { reason: "Unavailable", retryable: true }
  const fixed = byStatus[status]
  if (isTooLong(error)) return { reason: "TooLong", retryable: false, nextStep: "make the chunks smaller" }
  if (status === 429 && isOutOfCredit(error)) return { reason: "NotAllowed", retryable: false, nextStep: "see to the account's credit" }
  if (fixed !== undefined) return fixed
  return status >= 500
    ? { reason: "Unavailable", retryable: true }
    : { reason: "NotAllowed", retryable: false, nextStep: "see what the provider says" }
}

const byStatus: Readonly<Record<number, Meaning>> = {
  401: { reason: "NotAllowed", retryable: false, nextStep: "check the API key" },
  403: { reason: "NotAllowed", retryable: false, nextStep: "check what the API key may do" },
  404: { reason: "NotAllowed", retryable: false, nextStep: "check the name of the model and the base URL" },
  408: { reason: "TimedOut", retryable: true },
  409: { reason: "Unavailable", retryable: true },
  413: { reason: "TooLong", retryable: false, nextStep: "make the chunks smaller" },
  429: { reason: "RateLimited", retryable: true },
  503: { reason: "Overloaded", retryable: true },
  529: { reason: "Overloaded", retryable: true },
}

const isTooLong = (error: unknown): boolean => /prompt is too long|context_length_exceeded|maximum context length/i.test(textOf(error))

const isOutOfCredit = (error: unknown): boolean => /insufficient_quota/i.test(textOf(error))

const textOf = (error: unknown): string => {
  const code = fieldOf(error, "code")
  return `${describe(error)} ${typeof code === "string" ? code : ""}`
}

const fieldOf = (error: unknown, name: string): unknown =>
  typeof error === "object" && error !== null ? (error as Readonly<Record<string, unknown>>)[name] : undefined

const statusOf = (error: unknown): number | undefined => {
  const status = fieldOf(error, "status")
  return typeof status === "number" ? status : undefined
}

/** In milliseconds. Some say it in those, some in seconds, some as a point in time. */
const retryAfter = (error: unknown, now: number): number | undefined => {
  const headers = fieldOf(error, "headers")
  if (!(headers instanceof Headers)) return undefined
  const millis = amount(headers.get("retry-after-ms"))
  if (millis !== undefined) return millis
  const said = headers.get("retry-after")
  const seconds = amount(said)
  if (seconds !== undefined) return seconds * 1000
  const at = said === null ? Option.none() : DateTime.make(said)
  return Option.isNone(at) ? undefined : Math.max(0, DateTime.toEpochMillis(at.value) - now)
}

const amount = (header: string | null): number | undefined =>
  header !== null && /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) : undefined

const withoutKey = (text: string, key: Redacted.Redacted<string>): string => text.replaceAll(Redacted.value(key), "<redacted>")
