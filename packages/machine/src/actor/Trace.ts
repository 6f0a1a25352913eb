/**
 * A trace is what one instance went through: made from a simulation, an actor or a journal, and drawn by the
 * diagrams. It holds tags and shown fields only; sensitive fields are hidden before they get here.
 */
import type { Taken } from "../decide/Decision.ts"
import { eventLabel } from "../decide/Timeout.ts"
import type { Definition } from "../define/Definition.ts"
import { compiledOf } from "../define/Machine.ts"
import { redact } from "../schema/Sensitive.ts"
import type { Inspection } from "./Inspection.ts"

export interface TraceStep {
  readonly sequence: number
  /** Milliseconds since 1970. */
  readonly at: number
  /** The event's tag, or `(name)` for the timeout of that name. */
  readonly event: string
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
}

export interface Trace {
  readonly machine: string
  readonly id: string
  readonly initial: string
  readonly startedAt: number
  readonly steps: ReadonlyArray<TraceStep>
  readonly current: string
  /** Why it ended, where it did by `stop`. */
  readonly stopped: string | undefined
}

interface Tagged {
  readonly _tag: string
}

/** The trace of an instance to which nothing has happened yet. */
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

/** One decision as a step of a trace. The machine tells which of the event's fields are hidden. */
export const traceStep = (machine: AnyMachine, sequence: number, decision: Taken<Tagged, Tagged>, at: number): TraceStep => {
  const { from, state, event, requests, through } = decision
  // Events that are not declared are timeouts: all they have is the name, which is the label already.
  const variant = compiledOf(machine).declarations.event.$variants.get(event._tag)
  return {
    sequence,
    at,
    event: eventLabel(event),
    fields: variant === undefined ? {} : redact(variant.fields, event),
    from: from._tag,
    to: state._tag,
    outcome: decision._tag,
    through: through.map((passed) => passed._tag),
    requests: requests.map((request) => request.slot),
  }
}

/** The trace with one more decision. */
export const appendTrace = (machine: AnyMachine, trace: Trace, decision: Taken<Tagged, Tagged>, at: number): Trace => ({
  ...trace,
  steps: [...trace.steps, traceStep(machine, trace.steps.length + 1, decision, at)],
  current: decision.state._tag,
  stopped: decision._tag === "Stop" ? decision.reason : trace.stopped,
})

/**
 * The trace of one actor, from what an actor system told while it was inspected. Where an id was used more than
 * once it is the latest actor's. Undefined when the actor's start was not inspected.
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
