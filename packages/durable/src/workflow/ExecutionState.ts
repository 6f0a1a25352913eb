/** The state of an execution, built from its events: which steps are done and need not be done again. Pure. */

import type { InstanceKey, InstanceStatus, OpenedInstance } from "@detent/store"
import { instanceName } from "@detent/store/internal"
import type * as Workflow from "effect/workflow/Workflow"
import type { StoredTrace } from "../runtime/StoredTrace.ts"
import { clockDeferred, type Ending, type ExecutionEvent, readOrigin } from "./ExecutionEvent.ts"
import { type StoredExit, storedVoid } from "./StoredExit.ts"

/** The tag an execution is listed by. `Waiting`: one of its deferreds was completed, but it has not been started. */
export type Phase = "Waiting" | "Running" | "Compensating" | "Suspended" | "Held" | Ending

export const isEnded = (phase: Phase): phase is Ending => phase === "Completed" || phase === "Failed" || phase === "Interrupted"

/** Whether a node must run it. */
export const isAtWork = (phase: Phase): boolean => phase === "Running" || phase === "Compensating"

export const statusOf = (phase: Phase): InstanceStatus => (isEnded(phase) ? "final" : phase === "Held" ? "held" : "running")

/** Whether the event wakes an execution that sleeps. */
export const isWake = ({ _tag }: ExecutionEvent): boolean =>
  _tag === "Deferred" || _tag === "ClockFired" || _tag === "Interrupt" || _tag === "Resumed"

export const phaseAfter = (phase: Phase, event: ExecutionEvent): Phase => {
  if (isEnded(phase)) return phase
  switch (event._tag) {
    case "Started":
      return "Running"
    case "Ended":
      return event.ending
    case "Suspended":
      return "Suspended"
    case "Compensated":
      return "Compensating"
    case "Held":
      return "Held"
    case "Resumed":
      return phase === "Suspended" || phase === "Held" ? "Running" : phase
    case "Deferred":
    case "ClockFired":
    case "Interrupt":
      return phase === "Suspended" ? "Running" : phase
    default:
      return phase
  }
}

export const activityKey = (name: string, attempt: number): string => `${attempt}/${name}`

export const compensationKey = (step: string, index: number): string => `${index}/${step}`

export class ExecutionState {
  /** The sequence of the last event applied; -1 before the execution is stored. */
  sequence = -1
  phase: Phase = "Waiting"
  payload: unknown = undefined
  /** Executions that wait for the end of this one, by name. */
  readonly parents = new Map<string, InstanceKey>()
  readonly activities = new Map<string, StoredExit>()
  readonly deferreds = new Map<string, StoredExit>()
  /** Clocks that are set and have not fired. */
  readonly clocks = new Set<string>()
  readonly compensated = new Set<string>()
  /** Called executions that retention may remove before this one ends, with their results. Undefined: this one has not awaited the end. */
  readonly called = new Map<string, StoredExit | undefined>()
  /** The trace of its start. */
  trace: StoredTrace | undefined = undefined
  interruptRequested = false
  /** The cause of the suspension, if a failure suspended it. */
  suspendedBy: unknown = undefined
  problem: string | undefined = undefined
  result: StoredExit | undefined = undefined

  /** Applies the input of the execution; undefined if it has not been started. */
  begin(origin: string | undefined) {
    this.sequence = 0
    if (origin === undefined) return
    const { payload, parent, trace } = readOrigin(origin)
    this.trace = trace
    this.phase = "Running"
    this.payload = payload
    if (parent !== undefined) this.parents.set(instanceName(parent), parent)
  }

  /** The state before the events of the journal. Only ended executions have a snapshot: their result, kept when the journal was pruned. */
  static restored({ record, snapshot, origin }: OpenedInstance): ExecutionState {
    const state = new ExecutionState()
    if (snapshot === undefined) {
      state.begin(origin)
      return state
    }
    state.sequence = record.sequence
    state.phase = record.tag as Phase
    state.result = readSnapshot(snapshot.body)
    return state
  }

  apply(event: ExecutionEvent, sequence: number) {
    this.sequence = sequence
    this.phase = phaseAfter(this.phase, event)
    switch (event._tag) {
      case "Started":
        this.payload = event.payload
        if (event.parent !== undefined) this.parents.set(instanceName(event.parent), event.parent)
        return
      case "Activity":
        this.activities.set(activityKey(event.name, event.attempt), event.exit)
        return
      case "Deferred":
        this.deferreds.set(event.name, event.exit)
        return
      case "ClockSet":
        this.clocks.add(event.name)
        return
      case "ClockFired":
        this.clocks.delete(event.name)
        this.deferreds.set(clockDeferred(event.name), storedVoid)
        return
      case "Awaited":
        this.parents.set(instanceName(event.by), event.by)
        return
      case "Called":
        this.called.set(event.name, event.exit)
        return
      case "Suspended":
        this.suspendedBy = event.cause
        return
      case "Resumed":
        this.suspendedBy = undefined
        this.problem = undefined
        return
      case "Interrupt":
        this.interruptRequested = true
        return
      case "Compensated":
        this.compensated.add(compensationKey(event.step, event.index))
        return
      case "Held":
        this.problem = event.problem
        return
      case "Ended":
        this.result = event.exit
        return
    }
  }
}

export const encodeSnapshot = (result: StoredExit): string => JSON.stringify({ exit: result })

export const readSnapshot = (body: string): StoredExit => (JSON.parse(body) as { readonly exit: StoredExit }).exit

/** The machine under which the executions of a workflow are listed. */
export const machineOf = (workflowName: string): string => `workflow/${workflowName}`

export const keyOf = (workflow: Workflow.Any, executionId: string): InstanceKey => ({ machine: machineOf(workflow._tag), id: executionId })
