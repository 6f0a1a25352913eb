/** An instance of a chart as data: XState's snapshot in a form that can be stored, and its actors and events. */
import type { AnyStateMachine, ContextFrom, EmittedFrom, EventObject, OutputFrom, SnapshotFrom, StateValue } from "xstate"
import type { ActorKind } from "./ActorKind.ts"

/** An actor that the chart invoked or spawned and has not stopped. */
export interface ChildActor {
  readonly src: string
  readonly kind: ActorKind
  /** The number of the actor within its instance: distinguishes its result from that of an earlier actor with the same id. */
  readonly n: number
  /** For actors that run with the owner, which starts them again after a crash. */
  readonly input?: unknown
  /** Whether the chart receives every snapshot of the actor (`onSnapshot`). */
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

/** The untyped form of {@link ChartState}. */
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
  /** The number of actors and of delayed events without an id that it has had. */
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
 * The state of an instance. `_tag` is the path of the active state, such as `player.playing`; with parallel regions it is the path of the
 * state that contains them, and `value` has the states of the regions.
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
