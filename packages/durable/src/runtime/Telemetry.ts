/**
 * The spans and the metrics of the engine.
 *
 * There is a span for each event, from its sender to its answer, and for timers, recoveries and group commits. Attributes are tags,
 * names and numbers, never the content of an event or a state. Without a tracer, an event has an empty field and no other cost.
 *
 * Metrics are updated per flush, recovery, timer or refusal, never per accepted event, so that no event pays for them.
 */

import type { Taken } from "@detent/machine"
import { Environment, type Tagged } from "@detent/machine/internal"
import type { CommandRecord, Commit, InstanceKey, JournalService, TimerRecord } from "@detent/store"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { contextOf, referenceTo, type StoredTrace } from "./StoredTrace.ts"

export type Attributes = Readonly<Record<string, string | number | boolean>>

/** Whether a tracer is installed where a fiber runs. Effect's default tracer records nothing, and does not count. */
export const isTraced = ({ cache }: Fiber.Fiber<unknown, unknown>): boolean => cache.tracer !== undefined && cache.tracerEnabled

/** The tracer of a fiber, if one is installed. */
export const tracingOf = (fiber: Fiber.Fiber<unknown, unknown>): Tracing | undefined =>
  fiber.cache.tracer === undefined || !fiber.cache.tracerEnabled ? undefined : new Tracing(fiber.cache.tracer, fiber.getRef(Clock.Clock))

/** The tracer of an environment. */
export const tracingIn = (environment: Environment): Tracing | undefined => {
  let found: Tracing | undefined
  environment.run(
    Effect.withFiber((fiber) => {
      found = tracingOf(fiber)
      return Effect.void
    }),
  )
  return found
}

/** An environment without a parent span: the work of the engine outlives the span in which it was started. */
export const outsideSpans = (environment: Environment): Environment => {
  const context = environment.context as Context.Context<Tracer.ParentSpan>
  return Option.isNone(Context.getOption(context, Tracer.ParentSpan))
    ? environment
    : new Environment(Context.omit(Tracer.ParentSpan)(context) as Context.Context<unknown>)
}

/** An incoming event. */
interface Incoming {
  readonly event: Tagged
  readonly internal: boolean
  readonly timer: TimerRecord | undefined
  readonly cause?: StoredTrace | undefined
}

export class Tracing {
  readonly #tracer: Tracer.Tracer
  readonly #clock: Clock.Clock

  constructor(tracer: Tracer.Tracer, clock: Clock.Clock) {
    this.#tracer = tracer
    this.#clock = clock
  }

  get now(): bigint {
    return this.#clock.currentTimeNanosUnsafe()
  }

  span(
    name: string,
    parent: Tracer.AnySpan | undefined,
    attributes: Attributes,
    kind: Tracer.SpanKind = "internal",
    links: Array<Tracer.SpanLink> = [],
  ): Tracer.Span {
    const span = this.#tracer.span({
      name,
      parent: parent === undefined ? Option.none() : Option.some(parent),
      annotations: Context.empty(),
      links,
      startTime: this.now,
      kind,
      root: parent === undefined,
      sampled: parent?.sampled ?? true,
    })
    for (const [key, value] of Object.entries(attributes)) span.attribute(key, value)
    return span
  }

  /** The trace of an event that arrived without one: from a timer, from the instance itself, or from a sender without a tracer. */
  incoming(key: InstanceKey, { event, internal, timer, cause }: Incoming, sender?: Tracer.AnySpan): EventTrace {
    const continued = referenceTo(cause, Number(this.now / 1_000_000n))
    const parent = sender ?? continued.parent
    const attributes = { ...instanceAttributes(key), "detent.event": timer?.name ?? event._tag, "detent.internal": internal }
    if (timer === undefined) return new EventTrace(this, this.span("detent.send", parent, attributes, "internal", continued.links))
    return new EventTrace(
      this,
      this.span(
        "detent.timer",
        parent,
        { ...attributes, "detent.due": timer.due, "detent.entry": timer.entry },
        "internal",
        continued.links,
      ),
    )
  }
}

/** The trace of one event. Its parts follow one after the other: decided, committed, carried out. */
export class EventTrace {
  readonly span: Tracer.Span
  readonly #tracing: Tracing
  #part: Tracer.Span | undefined
  #ended = false

  constructor(tracing: Tracing, span: Tracer.Span) {
    this.#tracing = tracing
    this.span = span
  }

  /** Its trace, to be stored. */
  get context(): string | undefined {
    return contextOf(this.span)
  }

  /** The parent of the Effects that run on behalf of the event. */
  get current(): Tracer.Span {
    return this.#part ?? this.span
  }

  deciding(state: Tagged) {
    this.#next("detent.decide", { "detent.state": state._tag })
  }

  postponed() {
    this.#part?.attribute("detent.outcome", "Postponed")
    this.#over(Exit.void)
  }

  committing({ _tag, state }: Taken<Tagged, Tagged>, sequence: number) {
    this.#part?.attribute("detent.outcome", _tag)
    this.#part?.attribute("detent.target", state._tag)
    this.#next("detent.commit", { "detent.sequence": sequence })
  }

  /** The event is stored. Makes a span for each command that it requested, and begins the part in which it is carried out. */
  stored(sequence: number, commands: ReadonlyArray<CommandRecord>) {
    const { span } = this
    for (const { slot, key } of commands) {
      this.#tracing
        .span("detent.request", this.current, { "detent.slot": slot, "detent.command": key }, "producer")
        .end(this.#tracing.now, Exit.void)
    }
    span.attribute("detent.sequence", sequence)
    this.#next("detent.carryOut", {})
  }

  /** The event is not stored, or not confirmed. It may be decided again. */
  notStored(why: { readonly _tag: string }) {
    this.#part?.attribute("detent.outcome", why._tag)
    this.#over(Exit.fail(why))
  }

  /** The trace of an event that this one sends to its own instance. */
  raises(key: InstanceKey, event: Incoming): EventTrace {
    return this.#tracing.incoming(key, event, this.span)
  }

  /** Ends the span. Later calls do nothing. */
  end(exit: Exit.Exit<unknown, unknown>) {
    if (this.#ended) return
    this.#ended = true
    this.#over(exit)
    this.span.end(this.#tracing.now, exit)
  }

  #next(name: string, attributes: Attributes) {
    this.#over(Exit.void)
    this.#part = this.#tracing.span(name, this.span, attributes)
  }

  #over(exit: Exit.Exit<unknown, unknown>) {
    this.#part?.end(this.#tracing.now, exit)
    this.#part = undefined
  }
}

export const instanceAttributes = ({ machine, id }: InstanceKey): Attributes => ({ "detent.machine": machine, "detent.id": id })

/** Runs an Effect in a span of its own. Requires a fiber that is traced. */
export const traced = <A, E, R>(
  name: string,
  attributes: Attributes,
  use: (trace: EventTrace) => Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) =>
    Effect.flatMap(Effect.makeSpan(name, { attributes }), (span) => {
      const trace = new EventTrace(tracingOf(fiber) as Tracing, span)
      const used = Effect.withParentSpan(use(trace), span) as Effect.Effect<A, E, R>
      return Effect.onExit(used, (exit) => Effect.sync(() => trace.end(exit)))
    }),
  )

/** Runs an Effect that several callers share in the span of the first of them. */
export const askedBy = <A, E, R>({ cache }: Fiber.Fiber<unknown, unknown>, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  if (cache.tracer === undefined || !cache.tracerEnabled || cache.span === undefined) return effect
  return Effect.withTracer(Effect.withParentSpan(effect, cache.span), cache.tracer) as Effect.Effect<A, E, R>
}

/** Runs an Effect in the current span of an event. */
export const within = <A, E, R>(trace: EventTrace | undefined, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  trace === undefined ? effect : (Effect.withParentSpan(effect, trace.current) as Effect.Effect<A, E, R>)

/** Runs an Effect in a span, where the fiber is traced. */
export const spanned = <A, E, R>(name: string, attributes: Attributes, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => (isTraced(fiber) ? (Effect.withSpan(effect, name, { attributes }) as Effect.Effect<A, E, R>) : effect))

/** Updates a metric without a fiber: 0.25 µs. */
export const record = <Input>(metric: Metric.Metric<Input, unknown>, input: Input, environment: Environment) =>
  metric.updateUnsafe(input, environment.context as Context.Context<never>)

export const flushes = Metric.counter("detent_flushes_total", { description: "group commits written" })
export const commitsStored = Metric.counter("detent_commits_total", { description: "instance commits stored" })
export const eventsStored = Metric.counter("detent_events_total", { description: "events journaled" })
export const commitFailures = Metric.counter("detent_commit_failures_total", { description: "group commits that failed" })
export const flushMillis = Metric.histogram("detent_flush_milliseconds", {
  description: "how long the store took for a group commit",
  // No infinite boundary: values above the last one are in `+Inf` anyway, and two such buckets are not a valid exposition.
  boundaries: Array.from({ length: 13 }, (_, power) => 2 ** power),
})
export const eventsRefused = Metric.counter("detent_events_refused_total", { description: "events that were refused" })
export const eventsRepeated = Metric.counter("detent_events_repeated_total", {
  description: "events sent again under their id, and answered from the journal",
})
export const instancesGivenUp = Metric.counter("detent_instances_given_up_total", {
  description: "instances that left memory because their position in the journal was unknown",
})
export const conflicts = Metric.counter("detent_conflicts_total", { description: "commits refused because of a newer sequence" })
export const recoveries = Metric.counter("detent_recoveries_total", { description: "instances recovered from the journal" })
export const instancesHeld = Metric.counter("detent_instances_held_total", {
  description: "instances held because an event no longer fits",
})
export const instancesHeldNow = Metric.gauge("detent_instances_held", {
  description: "instances that are held, of all processes, by machine",
})
export const timersFired = Metric.counter("detent_timers_fired_total", { description: "timers that became events" })
export const timersStale = Metric.counter("detent_timers_stale_total", { description: "due timers whose state had been left" })
export const timersDead = Metric.counter("detent_timers_dead_total", { description: "timers that became dead letters" })
export const instancesLive = Metric.gauge("detent_instances_live", { description: "instances held in memory" })

/** Exposes the counters as 0, so that their first increase is visible as one. */
export const exposeCounters: Effect.Effect<void> = Effect.forEach(
  [
    flushes,
    commitsStored,
    eventsStored,
    commitFailures,
    eventsRefused,
    eventsRepeated,
    instancesGivenUp,
    conflicts,
    recoveries,
    instancesHeld,
    timersFired,
    timersStale,
    timersDead,
  ],
  (counter) => Metric.update(counter, 0),
  { discard: true },
)

/** The journal that the group commit writes to: measures every flush, and records a span for it where a tracer is installed. */
export const observed = (journal: JournalService, environment: Environment, isTraced: boolean): JournalService => {
  const timed: JournalService["commit"] = (commits) =>
    Effect.suspend(() => {
      const began = environment.clock.currentTimeMillisUnsafe()
      return Effect.map(journal.commit(commits), (outcomes) => {
        record(flushMillis, environment.clock.currentTimeMillisUnsafe() - began, environment)
        return outcomes
      })
    })
  return { ...journal, commit: isTraced ? (commits) => spanned("detent.flush", flushAttributes(commits), timed(commits)) : timed }
}

const flushAttributes = (commits: ReadonlyArray<Commit>) => ({
  "detent.commits": commits.length,
  "detent.events": commits.reduce((sum, { events }) => sum + events.length, 0),
})
