/** An instance of a chart as data: XState's snapshot in a form that a store keeps, and its actors and events. */
import type { AnyStateMachine, ContextFrom, EmittedFrom, EventObject, OutputFrom, SnapshotFrom, StateValue } from "xstate"
import type { ActorKind } from "./ActorKind.ts"

/** An actor that the chart invoked or spawned and has not stopped. */
export interface ChildActor {
  readonly src: string
  readonly kind: ActorKind
  /** Which of all actors of this instance it is: tells the result of an earlier one with the same id from its own. */
  readonly n: number
  /** For work of the owner, which starts it anew after a crash. */
  readonly input?: unknown
  /** Whether the chart wants every snapshot of it (`onSnapshot`). */
  readonly sync?: boolean
  /** It has ended, and the chart has not stopped it yet. */
  readonly ended?: boolean
  /** It has ended, and its result has not arrived yet. */
  readonly ending?: boolean
}

/** The instance that invoked or spawned this one. */
export interface ParentInstance {
  readonly machine: string
  readonly id: string
  /** The name under which the parent knows this instance. */
  readonly actor: string
  readonly n: number
}

/** An event to an actor that runs with the owner. */
export interface SentToLive {
  readonly to: string
  readonly n: number
  readonly event: EventObject
}

/** The run-time side of {@link ChartState}. */
export interface AnyChartState {
  readonly _tag: string
  readonly value: StateValue
  readonly context: unknown
  readonly status: "active" | "done" | "error"
  readonly output?: unknown
  readonly error?: unknown
  /** The states that history states return to, by the id of the history state. */
  readonly history?: Readonly<Record<string, ReadonlyArray<string>>>
  readonly children?: Readonly<Record<string, ChildActor>>
  /** How many actors it has had, and delayed events without an id. */
  readonly count?: number
  readonly parent?: ParentInstance
  /** The events that the last transition emitted. */
  readonly emitted?: ReadonlyArray<EventObject>
  /** The events that the last transition sent to actors that run with the owner. */
  readonly sent?: ReadonlyArray<SentToLive>
  /** Actors that had ended when the chart stopped them, by id: their results have not arrived yet. */
  readonly late?: Readonly<Record<string, number>>
}

/**
 * The state of an instance. `_tag` is the path of the active state, such as `player.playing`; where regions are parallel it is the
 * path of the state that holds them, and `value` has the states of the regions.
 */
export interface ChartState<M extends AnyStateMachine> {
  readonly _tag: string
  readonly value: SnapshotFrom<M>["value"]
  readonly context: ContextFrom<M>
  readonly status: "active" | "done" | "error"
  readonly output?: OutputFrom<M>
  readonly error?: unknown
  readonly children?: Readonly<Record<string, ChildActor>>
  readonly emitted?: ReadonlyArray<EmittedFrom<M>>
}
