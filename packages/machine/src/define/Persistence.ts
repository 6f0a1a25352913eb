/** How a durable engine keeps the instances of a machine. */
import type * as Duration from "effect/Duration"

/** When the state is saved beside the journal, so that recovery need not start from the first event. */
export type SnapshotPolicy<Tag extends string> =
  | { readonly _tag: "EveryTransition" }
  | { readonly _tag: "EveryN"; readonly transitions: number }
  | { readonly _tag: "Interval"; readonly every: Duration.Input }
  | { readonly _tag: "OnStates"; readonly states: ReadonlyArray<Tag> }
  | { readonly _tag: "Manual" }

export interface Persistence<Tag extends string> {
  readonly snapshot?: SnapshotPolicy<Tag>
  /** Keep events that a snapshot already covers. Without them there is no history before the snapshot. */
  readonly keepJournal?: boolean
}
