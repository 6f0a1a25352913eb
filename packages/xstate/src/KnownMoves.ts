/**
 * Transitions that XState computes once. Guards select the transitions of an event; from there, the active states determine which states
 * are left and entered and which `assign` actions are called, in which order. KnownMoves keeps that as a move, and applies it to the
 * context of the next instance that takes it, in about a tenth of the time.
 *
 * XState decides on every other transition: one with any other action, with an actor that starts or stops, in a chart with automatic
 * transitions, or with a history to keep.
 */
import type { AnyActorScope, AnyMachineSnapshot, AnyTransitionDefinition, EventObject } from "xstate"
import type { AssignAction, Chart } from "./Chart.ts"

/** Parallel regions can have more combinations of states than memory should hold. */
const limit = 1000

/** A call of an assigner. */
interface Assign {
  readonly assignment: AssignAction["assignment"]
  /** An event that XState made, which tells that a state is done. Undefined for the event that was received. */
  readonly doneEvent: EventObject | undefined
}

interface Move {
  /** The snapshot after it, without context and actors. */
  readonly next: AnyMachineSnapshot
  readonly assigns: ReadonlyArray<Assign>
}

/** Where a transition cannot be known: it started an actor, or XState has to report an error. */
const unknown = "unknown"

export class KnownMoves {
  readonly #chart: Chart
  readonly #known = new Map<string, Move | typeof unknown>()

  constructor(chart: Chart) {
    this.#chart = chart
  }

  /** The snapshot after an event. `actions` are those that the scope has collected. */
  transition(before: AnyMachineSnapshot, event: EventObject, scope: AnyActorScope, actions: ReadonlyArray<unknown>): AnyMachineSnapshot {
    const { machine, isStructural } = this.#chart
    if (!isStructural || hasHistory(before)) return machine.transition(before, event, scope) as AnyMachineSnapshot
    const isGuarded = this.#chart.isGuarded(event)
    const key = this.#keyOf(before, event, isGuarded ? machine.getTransitionData(before, event) : undefined)
    const known = this.#known.get(key)
    if (known === unknown) return machine.transition(before, event, scope) as AnyMachineSnapshot
    if (known !== undefined) {
      const next = follow(known, before, event, scope)
      if (next !== unknown) return next
      this.#keep(key, unknown)
      return machine.transition(before, event, scope) as AnyMachineSnapshot
    }
    return this.#record(before, event, scope, actions, isGuarded)
  }

  #record(before: AnyMachineSnapshot, event: EventObject, scope: AnyActorScope, actions: ReadonlyArray<unknown>, isGuarded: boolean) {
    const assigns: Array<Assign> = []
    let selected: ReadonlyArray<AnyTransitionDefinition> | undefined
    const observed = observing(scope, (transitions) => {
      selected ??= transitions
    })
    const next = this.#chart.recordingAssigns(
      observed,
      (assignment, received) => assigns.push({ assignment, doneEvent: received === event ? undefined : received }),
      () => this.#chart.machine.transition(before, event, observed) as AnyMachineSnapshot,
    )
    if (actions.length > 0 || !isMove(before, next, assigns.length > 0)) return next
    // A guard that reads a clock may have answered otherwise than before: the transitions that XState took are the ones that count.
    this.#keep(this.#keyOf(before, event, isGuarded ? selected : undefined), {
      next: { ...next, context: undefined, children: {} } as AnyMachineSnapshot,
      assigns,
    })
    return next
  }

  /** With the order of the regions, which becomes that of the next value, and the transitions that guards selected. */
  #keyOf(before: AnyMachineSnapshot, { type }: EventObject, selected: ReadonlyArray<AnyTransitionDefinition> | undefined): string {
    const key = `${type} ${JSON.stringify(before.value)}`
    return selected === undefined ? key : `${key} ${selected.map((transition) => this.#chart.numberOf(transition))}`
  }

  #keep(key: string, move: Move | typeof unknown) {
    if (this.#known.size >= limit) this.#known.clear()
    this.#known.set(key, move)
  }
}
