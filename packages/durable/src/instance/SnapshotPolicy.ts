/** When a commit carries a snapshot. */
import type { SnapshotPolicy } from "@detent/machine"
import * as Duration from "effect/Duration"
import type { PendingEvent } from "./PendingEvent.ts"

interface Moment {
  readonly sequence: number
  readonly at: number
}

export const snapshotDue = (
  policy: SnapshotPolicy<string>,
  last: Moment,
  now: Moment,
  events: ReadonlyArray<Pick<PendingEvent, "decision">>,
): boolean => {
  switch (policy._tag) {
    case "EveryTransition":
      return true
    case "EveryN":
      return now.sequence - last.sequence >= policy.transitions
    case "Interval":
      return now.at - last.at >= Duration.toMillis(Duration.fromInputUnsafe(policy.every))
    case "OnStates":
      return events.some(({ decision }) => policy.states.includes(decision.state._tag))
    case "Manual":
      return false
  }
}
