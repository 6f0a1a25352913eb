/** When a commit carries a snapshot. */
import type { SnapshotPolicy } from "@detent/machine"
import * as Duration from "effect/Duration"
import type { PendingEvent } from "./PendingEvent.ts"

/** The sequence of an event or a snapshot, and when it was stored. */
export interface Moment {
  readonly sequence: number
  readonly at: number
}

interface Stored {
  readonly lastSnapshot: Moment | undefined
  readonly startedAt: number
}

export const snapshotDue = (
  policy: SnapshotPolicy<string>,
  { lastSnapshot, startedAt }: Stored,
  now: Moment,
  events: ReadonlyArray<Pick<PendingEvent, "decision">>,
): boolean => {
  switch (policy._tag) {
    case "EveryTransition":
      return true
    case "EveryN":
      return now.sequence - (lastSnapshot?.sequence ?? 0) >= policy.transitions
    case "Interval":
      return now.at - (lastSnapshot?.at ?? startedAt) >= Duration.toMillis(Duration.fromInputUnsafe(policy.every))
    case "OnStates":
      return events.some(({ decision }) => policy.states.includes(decision.state._tag))
    case "Manual":
      return false
  }
}
