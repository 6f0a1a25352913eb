/**
 * A trace is the path of one instance: made from a simulation, an actor or a journal, and drawn by the diagrams. It holds
 * tags and shown fields only; sensitive fields are hidden when it is made.
 */
import type { Taken } from "../decision/Decision.ts"
import { eventLabel, ownLabel } from "../decision/Timeout.ts"
import type { Definition } from "../define/Definition.ts"
import { compiledOf } from "../Machine.ts"
import { redact } from "../schema/Sensitive.ts"
import type { Tagged } from "../schema/Variant.ts"
import type { Inspection } from "./Inspection.ts"

export interface TraceStep {
  readonly sequence: number
  /** Milliseconds since 1970. */
  readonly at: number
  /** The event's tag, or `(name)` for the timeout of that name. */
  readonly event: string
  /** What an event that the work of the machine sent is called. */
  readonly label?: string
  /** The event's fields, without the sensitive ones' values. */
  readonly fields: { readonly [name: string]: unknown }
  readonly from: string
  /** The state after the step; the same as `from` for a stay. */
  readonly to: string
  readonly outcome: "Goto" | "Stay" | "Stop"
  /** States passed through by automatic transitions between `from` and `to`. */
  readonly through: ReadonlyArray<string>
  /** Effect slots requested in this step, in order. */
  readonly requests: ReadonlyArray<string>
  /** Delayed events set and cancelled in this step: `after reminder`, `cancel reminder`. */
  readonly delays?: ReadonlyArray<string> | undefined
  /** The active states before and after the step, for a machine that is in several states at once. */
  readonly active?: { readonly from: ReadonlyArray<string>; readonly to: ReadonlyArray<string> } | undefined
}

export interface Trace {
  readonly machine: string
  readonly id: string
  readonly initial: string
  readonly startedAt: number
  readonly steps: ReadonlyArray<TraceStep>
  readonly current: string
  /** The active states, for a machine that is in several states at once. */
  readonly active?: ReadonlyArray<string> | undefined
  /** The reason, where `stop` ended it. */
  readonly stopped: string | undefined
}

/** The trace of an instance without events. */
export const beginTrace = (machine: { readonly name: string }, id: string, first: Tagged, at: number): Trace => ({
  machine: machine.name,
  id,
  initial: first._tag,
  startedAt: at,
  steps: [],
  current: first._tag,
  stopped: undefined,
})

type AnyMachine = Definition<unknown, unknown, never, unknown, string>

/** One decision as a step of a trace. Sensitive fields of the event are hidden. */
export const traceStep = (machine: AnyMachine, sequence: number, decision: Taken<Tagged, Tagged>, at: number): TraceStep => {
  const { from, state, event, requests, through, _tag: outcome } = decision
  const delays = decision.delays.map(({ name, millis }) => ({ name, due: Number.isFinite(millis) ? at + millis : undefined }))
  return stepOf(machine, { sequence, at, event, from, state, outcome, through, requests: requests.map((request) => request.slot), delays })
}

/** One journaled event with the states around it. A `HistoryEntry` of a durable instance fits. */
export interface JournaledStep {
  readonly sequence: number
  /** Milliseconds since 1970. */
  readonly at: number
  readonly event: Tagged
  readonly from: Tagged
  readonly state: Tagged
  /** Default: `Stay` where both states have the same tag, `Goto` otherwise. */
  readonly outcome?: TraceStep["outcome"] | undefined
  /** States that automatic transitions passed through. */
  readonly through?: ReadonlyArray<Tagged> | undefined
  /** Effect slots that were requested. */
  readonly requests?: ReadonlyArray<string> | undefined
  /** Delayed events that were set, and cancelled where they are not due. */
  readonly delays?: ReadonlyArray<{ readonly name: string; readonly due: number | undefined }> | undefined
}

/** The instance that a history belongs to. A snapshot of a durable instance fits, with its id. */
export interface JournaledInstance {
  readonly id: string
  /** Its state: drawn as the first one where the history is empty. */
  readonly state: Tagged
  readonly startedAt: number
  readonly status?: string | undefined
  /** Why it was stopped. */
  readonly reason?: string | undefined
}

/** The trace of an instance, from its journal. Where the first events were pruned, it starts with the first one kept. */
export const traceOfHistory = (machine: AnyMachine, instance: JournaledInstance, history: ReadonlyArray<JournaledStep>): Trace => ({
  ...beginTrace(machine, instance.id, history[0]?.from ?? instance.state, instance.startedAt),
  steps: history.map((step) => stepOf(machine, step)),
  current: (history.at(-1)?.state ?? instance.state)._tag,
  ...activeIn(machine, history.at(-1)?.state ?? instance.state),
  stopped: instance.status === "stopped" ? instance.reason : undefined,
})

const activeIn = (machine: AnyMachine, state: Tagged): Pick<Trace, "active"> => {
  const { activeStates } = compiledOf(machine).declarations
  return activeStates === undefined ? {} : { active: activeStates(state) }
}

const stepOf = (machine: AnyMachine, { sequence, at, event, from, state, ...step }: JournaledStep): TraceStep => {
  const { event: events, activeStates } = compiledOf(machine).declarations
  const label = ownLabel(event)
  // Undeclared events are timeouts: their only field is the name, which is the label already.
  const variant = events.$variants.get(event._tag)
  return {
    sequence,
    at,
    event: eventLabel(event),
    ...(label === undefined ? {} : { label }),
    fields: variant === undefined ? {} : redact(variant.fields, event),
    from: from._tag,
    to: state._tag,
    outcome: step.outcome ?? (from._tag === state._tag ? "Stay" : "Goto"),
    through: (step.through ?? []).map((passed) => passed._tag),
    requests: step.requests ?? [],
    ...(step.delays === undefined || step.delays.length === 0
      ? {}
      : { delays: step.delays.map(({ name, due }) => `${due === undefined ? "cancel" : "after"} ${name}`) }),
    ...(activeStates === undefined ? {} : { active: { from: activeStates(from), to: activeStates(state) } }),
  }
}

/** The trace with one more decision. */
export const appendTrace = (machine: AnyMachine, trace: Trace, decision: Taken<Tagged, Tagged>, at: number): Trace => ({
  ...trace,
  steps: [...trace.steps, traceStep(machine, trace.steps.length + 1, decision, at)],
  current: decision.state._tag,
  ...activeIn(machine, decision.state),
  stopped: decision._tag === "Stop" ? decision.reason : trace.stopped,
})

/**
 * The trace of one actor, from the inspections of an actor system. Where an id was used more than once, it is the trace of the
 * latest actor. Undefined where the start of the actor was not inspected.
 */
export const traceOfInspections = (machine: AnyMachine, id: string, inspections: Iterable<Inspection>): Trace | undefined => {
  let trace: Trace | undefined
  for (const inspection of inspections) {
    if (inspection.id !== id || inspection.machine !== machine.name) continue
    if (inspection._tag === "Started") trace = beginTrace(machine, id, inspection.state, inspection.at)
    else if (trace === undefined) continue
    else if (inspection._tag === "Decided") trace = appendTrace(machine, trace, inspection.decision, inspection.at)
    else if (inspection._tag === "Ended" && inspection.ending._tag === "Stopped") trace = { ...trace, stopped: inspection.ending.reason }
  }
  return trace
}
