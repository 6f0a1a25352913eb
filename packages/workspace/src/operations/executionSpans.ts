/** The steps of an execution as spans: when each ran, its attempts, and the waits between them. */
import { DurableWorkflow, type EventRecord, type InstanceKey, Journal } from "@detent/durable"
import { readExecutionEvent } from "@detent/durable/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ExecutionNotFound } from "../errors.ts"
import { optional } from "../optional.ts"

/** The most events of one page. */
const mostEvents = 5000

export interface Span {
  readonly kind: "activity" | "clock" | "deferred" | "call" | "compensation" | "suspension" | "run"
  readonly name: string
  /** The attempt of an activity, starting at 1. */
  readonly attempt?: number
  /** Absent where unknown. */
  readonly startedAt?: number
  /** Absent while the step runs. */
  readonly endedAt?: number
  readonly outcome?: "success" | "failure"
  /** When a clock is due. */
  readonly due?: number
  /** The node that started the run. */
  readonly node?: string
  /** The sequence number of the event that opened the span. */
  readonly sequence: number
}

/** Open spans, by kind and name, until an event ends them. */
type Open = Map<string, number>

const outcomeOf = (exit: object) => ("success" in exit ? ("success" as const) : ("failure" as const))

/** Adds the span of an event, or ends an open span. */
const enter = (spans: Array<Span>, open: Open, { sequence, at, ...record }: EventRecord) => {
  const event = readExecutionEvent({ sequence, at, ...record })
  const begin = (name: string, span: Span) => {
    open.set(name, spans.push(span) - 1)
  }
  const end = (name: string, endedAt = at): boolean => {
    const index = open.get(name)
    const span = index === undefined ? undefined : spans[index]
    if (index === undefined || span === undefined) return false
    open.delete(name)
    spans[index] = { ...span, endedAt }
    return true
  }
  /** Any further event shows that the execution is no longer suspended. */
  const wakes = (since = at) => end("suspension", since)
  switch (event._tag) {
    case "Activity": {
      const { name, attempt, startedAt, exit } = event
      wakes(startedAt)
      return spans.push({ kind: "activity", name, attempt, ...optional({ startedAt }), endedAt: at, outcome: outcomeOf(exit), sequence })
    }
    case "ClockSet":
      return begin(`clock ${event.name}`, { kind: "clock", name: event.name, startedAt: at, due: event.due, sequence })
    case "ClockFired":
      wakes()
      return end(`clock ${event.name}`)
    case "Deferred":
      wakes()
      return spans.push({ kind: "deferred", name: event.name, endedAt: at, outcome: outcomeOf(event.exit), sequence })
    case "Called": {
      const { name, exit } = event
      wakes()
      return spans.push({ kind: "call", name, endedAt: at, ...(exit === undefined ? {} : { outcome: outcomeOf(exit) }), sequence })
    }
    case "Compensated":
      return spans.push({ kind: "compensation", name: event.step, endedAt: at, sequence })
    case "Suspended":
      return begin("suspension", { kind: "suspension", name: "suspended", startedAt: at, sequence })
    case "Held":
      return begin("hold", { kind: "suspension", name: "held", startedAt: at, sequence })
    case "Resumed":
      wakes()
      end("hold")
      end("run")
      return begin("run", { kind: "run", name: "run", startedAt: at, node: event.on, sequence })
    case "Ended":
      wakes()
      end("hold")
      return end("run")
    case "Interrupt":
    case "Awaited":
    case "Started":
      end("hold")
      return wakes()
  }
}

export interface SpansPage {
  readonly after?: number | undefined
  readonly limit?: number | undefined
}

/** The spans of the events after a sequence number, in the order of the events. Results of activities are not shown. */
export const spans = Effect.fn("executionSpans.spans")(function* (
  workflow: string,
  id: string,
  { after = 0, limit = mostEvents }: SpansPage = {},
) {
  const journal = yield* Journal
  const key: InstanceKey = { machine: DurableWorkflow.machineOf(workflow), id }
  const found = Option.getOrUndefined(yield* journal.open(key))
  if (found === undefined) return yield* new ExecutionNotFound({ workflow, id })
  const { tag: phase, status, startedAt, updatedAt, sequence } = found.record
  const most = Math.min(mostEvents, Math.max(1, limit))
  const events = yield* journal.events(key, after, most)
  const all: Array<Span> = []
  const open: Open = new Map()
  for (const event of events) enter(all, open, event)
  const last = events.at(-1)?.sequence
  return {
    phase,
    startedAt,
    ...(status === "final" ? { endedAt: updatedAt } : {}),
    spans: all,
    ...(last !== undefined && last < sequence ? { next: last } : {}),
  }
})
