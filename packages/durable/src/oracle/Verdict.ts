/** What the oracle says of one instance or execution under other code. */

/** One thing that is different. Without `before`, only the new code has it; without `after`, only the old code. */
export interface Change {
  /** Such as `state`, `state.total`, `effects.Charge.amount`, `timers.reminder`, `outcome`. */
  readonly path: string
  readonly before?: unknown
  readonly after?: unknown
}

/** The first decision that the new code takes differently. */
export interface DecisionChange {
  /** The number of the event in the journal; 0: entering the first state. */
  readonly sequence: number
  /** The name of the event. */
  readonly event: string
  /** The state in which it was decided. */
  readonly from: string
  readonly changes: ReadonlyArray<Change>
  /** The event has not come: it is one of other instances, and the codes would decide it differently in this state. */
  readonly isProbe?: true
}

export interface Same {
  readonly _tag: "Same"
}

export interface Differs {
  readonly _tag: "Differs"
  /** The last event of the instance. */
  readonly sequence: number
  /** Absent where all decisions are the same, and only the state in which the instance opens is another. */
  readonly decision?: DecisionChange
  /** How the state in which the instance opens under the new code differs from its state under the old one. Absent: not at all. */
  readonly opens?: ReadonlyArray<Change>
}

/** It does not open under the new code: it would be held. */
export interface Held {
  readonly _tag: "Held"
  readonly sequence: number
  readonly problem: string
}

export type Verdict = Same | Differs | Held

export interface Judgement {
  readonly verdict: Verdict
  /** A decision on an event that has not come, in a state that the instance has left. It says nothing of this instance. */
  readonly unseen?: DecisionChange
  /** How it stands or ended, and how it would have ended under the new code. Only where the oracle was asked what would have been. */
  readonly flow?: { readonly from: string; readonly to: string }
}

export const same: Same = { _tag: "Same" }
