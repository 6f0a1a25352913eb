/** What `check` proves of a machine: predicates on the situations of one instance, and how they must hold over time. */

/** The situation of one instance between two steps, as a property sees it. */
export interface Situation<S> {
  readonly state: S
  readonly status: "running" | "final" | "stopped"
  /** Requested effects whose results are not recorded yet. */
  readonly pending: ReadonlyArray<{ readonly slot: string; readonly parameters: object }>
  /**
   * How many commands of each slot have taken effect outside, at most 3. A command that is executed again has the same idempotency
   * key and counts once.
   */
  readonly executed: { readonly [slot: string]: number }
  /** Slots with a result that arrived when no transition accepted its event. */
  readonly lostResults: ReadonlyArray<string>
  /** The names of the timeouts and delayed events that are set. */
  readonly timers: ReadonlyArray<string>
  /** The tags of events that wait for another state. */
  readonly postponed: ReadonlyArray<string>
}

export type Condition<S> = (situation: Situation<S>) => boolean

export type Property<S> =
  | { readonly kind: "never"; readonly bad: Condition<S> }
  | { readonly kind: "leadsTo"; readonly cause: Condition<S> | undefined; readonly goal: Condition<S> }

/** Holds where no reachable situation fulfils the condition. */
export const never = <S>(bad: Condition<S>): Property<S> => ({ kind: "never", bad })

/** Holds where the goal comes sooner or later from every reachable situation, again and again. */
export const alwaysEventually = <S>(goal: Condition<S>): Property<S> => ({ kind: "leadsTo", cause: undefined, goal })

/** Holds where the goal comes sooner or later, or is there already, from every reachable situation that fulfils the cause. */
export const leadsTo = <S>(cause: Condition<S>, goal: Condition<S>): Property<S> => ({ kind: "leadsTo", cause, goal })
