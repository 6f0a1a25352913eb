/**
 * Transitions that XState computes once. Guards select the transitions of an event; from there, the active states determine which states
 * are left and entered, and which `assign` actions are called in which order. KnownMoves keeps this as a move, and applies it to the
 * context of each instance that takes it afterwards, in about a tenth of the time.
 *
 * XState decides on every other transition: one with another action, one that starts or stops an actor, one with a history to keep, and all
 * of a chart with automatic transitions.
 */
import type { AnyActorScope, AnyMachineSnapshot, AnyTransitionDefinition, EventObject } from "xstate"
import type { AssignAction, Chart, ResolvableAssign } from "./Chart.ts"

/** Parallel regions can have more combinations of states than memory should hold. */
const limit = 1000

interface Move {
  /** The snapshot after it, without context and actors. */
  readonly next: AnyMachineSnapshot
  readonly assigns: ReadonlyArray<AssignCall>
}

interface AssignCall {
  readonly assignment: ResolvableAssign["assignment"]
  /** The event by which XState tells that a state is done. Undefined for the event that the chart received. */
  readonly doneEvent: EventObject | undefined
}

export class KnownMoves {
  readonly #chart: Chart
  readonly #moves = new Map<string, Move>()
  /** Transitions that look like moves and are not: an assigner spawned an actor. */
  readonly #spawning = new Set<string>()
  readonly #numbers: ReadonlyMap<AnyTransitionDefinition, number>

  constructor(chart: Chart) {
    this.#chart = chart
    this.#numbers = new Map(chart.transitions.map((transition, index) => [transition, index]))
  }

  /** The snapshot after an event. `actions` are those that the scope has collected. */
  transition(before: AnyMachineSnapshot, event: EventObject, scope: AnyActorScope, actions: ReadonlyArray<unknown>): AnyMachineSnapshot {
    const { machine, isStructural } = this.#chart
    if (!isStructural || hasHistory(before)) return machine.transition(before, event, scope) as AnyMachineSnapshot
    const selected = this.#chart.isGuarded(event) ? machine.getTransitionData(before, event) : undefined
    if (selected?.length === 0 && !isMadeByXState(event)) return before
    const key = this.#keyOf(before, event, selected)
    const move = this.#moves.get(key)
    if (move === undefined) return this.#record(before, event, scope, actions)
    const next = applyMove(move, before, event, scope)
    if (next !== undefined) return next
    this.#moves.delete(key)
    this.#spawning.add(key)
    return machine.transition(before, event, scope) as AnyMachineSnapshot
  }

  #record(before: AnyMachineSnapshot, event: EventObject, scope: AnyActorScope, actions: ReadonlyArray<unknown>): AnyMachineSnapshot {
    const recording = new Recording(this.#chart.assigns, scope)
    const next = recording.run((observed) => this.#chart.machine.transition(before, event, observed) as AnyMachineSnapshot)
    const assigns = recording.callsFor(event)
    if (actions.length > 0 || assigns === undefined || !isMove(before, next, assigns.length > 0)) return next
    // Guards may read a clock: the transitions that XState took count, not those that were selected before.
    const key = this.#keyOf(before, event, this.#chart.isGuarded(event) ? recording.selected : undefined)
    if (this.#spawning.has(key)) return next
    if (this.#moves.size + this.#spawning.size >= limit) {
      this.#moves.clear()
      this.#spawning.clear()
    }
    this.#moves.set(key, { next: { ...next, context: undefined, children: {} } as AnyMachineSnapshot, assigns })
    return next
  }

  /** With the order of the regions, which becomes that of the next value, and the transitions that guards selected. */
  #keyOf(before: AnyMachineSnapshot, { type }: EventObject, selected: ReadonlyArray<AnyTransitionDefinition> | undefined): string {
    const key = `${type} ${JSON.stringify(before.value)}`
    return selected === undefined ? key : `${key} ${selected.map((transition) => this.#numbers.get(transition))}`
  }
}

/** What XState does in one transition: the transitions that it selects, and the assigns that it calls. */
class Recording {
  selected: ReadonlyArray<AnyTransitionDefinition> | undefined
  readonly #assigns: ReadonlyArray<AssignAction>
  readonly #scope: AnyActorScope
  readonly #calls: Array<{ readonly assign: AssignAction; readonly event: EventObject }> = []

  constructor(assigns: ReadonlyArray<AssignAction>, scope: AnyActorScope) {
    this.#assigns = assigns
    this.#scope = this.#observed(scope)
  }

  /** XState reports every action but assigns to its scope, so that their functions are replaced meanwhile. */
  run<A>(transition: (scope: AnyActorScope) => A): A {
    const originals = this.#assigns.map(({ action }) => action.resolve)
    try {
      for (const [index, assign] of this.#assigns.entries()) {
        const original = originals[index] as ResolvableAssign["resolve"]
        assign.action.resolve = (...call) => {
          const [scope, , { event }] = call
          if (scope === this.#scope) this.#calls.push({ assign, event })
          return original(...call)
        }
      }
      return transition(this.#scope)
    } finally {
      for (const [index, { action }] of this.#assigns.entries()) action.resolve = originals[index] as ResolvableAssign["resolve"]
    }
  }

  /** The calls of a transition that this event caused. Undefined if one of them got parameters: functions compute these. */
  callsFor(received: EventObject): ReadonlyArray<AssignCall> | undefined {
    if (this.#calls.some(({ assign }) => assign.hasParameters)) return undefined
    return this.#calls.map(({ assign, event }) => ({
      assignment: assign.action.assignment,
      doneEvent: event === received ? undefined : event,
    }))
  }

  /** The scope with a system that gets a report of each step. */
  #observed(scope: AnyActorScope): AnyActorScope {
    const system = Object.create(scope.system) as { _sendInspectionEvent: (event: object) => void }
    system._sendInspectionEvent = (inspected) => {
      const { type, _transitions } = inspected as { readonly type: string; readonly _transitions: ReadonlyArray<AnyTransitionDefinition> }
      if (type === "@xstate.microstep") this.selected ??= _transitions
      ;(scope.system as unknown as typeof system)._sendInspectionEvent(inspected)
    }
    return { ...scope, system: system as never }
  }
}

/** Calls the assigners of a move. Undefined if one of them spawns an actor, which changes more than the context: XState has to call it. */
const applyMove = (
  { next, assigns }: Move,
  before: AnyMachineSnapshot,
  received: EventObject,
  { self, system }: AnyActorScope,
): AnyMachineSnapshot | undefined => {
  let { context } = before
  let isSpawning = false
  const spawn = () => {
    isSpawning = true
    throw new Error("XState spawns actors")
  }
  try {
    for (const { assignment, doneEvent } of assigns) {
      const event = doneEvent === undefined ? received : { ...doneEvent }
      context = { ...context, ...assigned(assignment, { context, event, spawn, self, system }) }
    }
  } catch (cause) {
    if (!isSpawning) throw cause
  }
  return isSpawning ? undefined : ({ ...next, context, children: before.children } as AnyMachineSnapshot)
}

const assigned = (assignment: ResolvableAssign["assignment"], values: object): object => {
  if (typeof assignment === "function") return assignment(values) as object
  const result: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(assignment)) result[key] = typeof value === "function" ? value(values) : value
  return result
}

const isMove = (before: AnyMachineSnapshot, next: AnyMachineSnapshot, isAssigned: boolean): boolean =>
  next !== before &&
  before.status === "active" &&
  next.status === "active" &&
  (isAssigned ? isObject(before.context) : next.context === before.context) &&
  next.children === before.children &&
  !hasHistory(next)

/** XState treats some of its own events as errors or ends if no transition handles them. */
const isMadeByXState = ({ type }: EventObject): boolean => type.startsWith("xstate.")

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null

const hasHistory = ({ historyValue }: AnyMachineSnapshot): boolean => {
  for (const _ in historyValue) return true
  return false
}
