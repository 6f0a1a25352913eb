/**
 * The trace of an event, kept with the event in the journal: what the event leads to later, a command or a timer, in this process or in
 * another after a restart, continues it. After a long wait it is linked instead: tools for traces close a trace after some minutes.
 */
import type { InstanceKey, JournalService, TimerRecord } from "@detent/store"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Tracer from "effect/Tracer"

/** The span that led to something, and when. */
export interface StoredTrace {
  /** As in the header `traceparent` of the W3C. */
  readonly context: string
  /** Milliseconds since 1970. */
  readonly at: number
}

export interface TracedTimer extends TimerRecord {
  /** The trace of the event that set it, where a tracer is installed. */
  readonly cause?: StoredTrace | undefined
}

/** What is continued after a longer time is linked. */
export const longestMillis = 10 * 60_000

/** Undefined for a span that is not exported. */
export const contextOf = ({ traceId, spanId, sampled }: Tracer.AnySpan): string | undefined =>
  sampled && isTraceId(traceId) && isSpanId(spanId) ? `00-${traceId}-${spanId}-01` : undefined

const isTraceId = (text: string): boolean => /^[\da-f]{32}$/.test(text)
const isSpanId = (text: string): boolean => /^[\da-f]{16}$/.test(text)

const spanOf = (context: string): Tracer.ExternalSpan | undefined => {
  const [version, traceId = "", spanId = ""] = context.split("-")
  return version === "00" && isTraceId(traceId) && isSpanId(spanId) ? Tracer.externalSpan({ traceId, spanId }) : undefined
}

/** The span that runs now, where a tracer is installed. */
export const currentTrace: Effect.Effect<StoredTrace | undefined> = Effect.withFiber((fiber) => {
  const { tracer, tracerEnabled, span } = fiber.cache
  const context = tracer === undefined || !tracerEnabled || span === undefined ? undefined : contextOf(span)
  return context === undefined ? Effect.undefined : Effect.map(Clock.currentTimeMillis, (at) => ({ context, at: Math.floor(at) }))
})

/** How a new span refers to the one before it. */
export interface Reference {
  readonly parent: Tracer.AnySpan | undefined
  readonly links: Array<Tracer.SpanLink>
}

export const referenceTo = (cause: StoredTrace | undefined, now: number): Reference => {
  const span = cause === undefined ? undefined : spanOf(cause.context)
  if (cause === undefined || span === undefined) return { parent: undefined, links: [] }
  return now - cause.at > longestMillis ? { parent: undefined, links: [{ span, attributes: {} }] } : { parent: span, links: [] }
}

const readBody = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ p: Schema.optionalKey(Schema.String) })))

const contextIn = (json: string | undefined): string | undefined =>
  json === undefined ? undefined : Option.getOrUndefined(readBody(json))?.p

/** The trace of an event of an instance, or of its start; undefined where it has none, or where the journal no longer has it. */
export const readTrace = (journal: JournalService, key: InstanceKey, sequence: number): Effect.Effect<StoredTrace | undefined> => {
  const found = Effect.gen(function* () {
    if (sequence === 0) {
      const opened = Option.getOrUndefined(yield* journal.open(key))
      const context = contextIn(opened?.origin)
      return context === undefined || opened === undefined ? undefined : { context, at: opened.record.startedAt }
    }
    const [event] = sequence < 0 ? [] : yield* journal.events(key, sequence - 1, 1)
    const context = event?.sequence === sequence ? contextIn(event.body) : undefined
    return context === undefined || event === undefined ? undefined : { context, at: event.at }
  })
  // What is observed must not fail because the store does not answer: the span then begins a trace of its own.
  return Effect.catch(found, (error) => Effect.as(Effect.logDebug("the trace of an event could not be read", error.message), undefined))
}
