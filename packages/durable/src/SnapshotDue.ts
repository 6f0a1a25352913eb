/** When a commit carries a snapshot. */
import type { SnapshotPolicy } from "@detent/machine"
import * as Duration from "effect/Duration"

interface Moment {
  readonly sequence: number
  readonly at: number
}

export const snapshotDue = (policy: SnapshotPolicy<string>, last: Moment, now: Moment, tags: ReadonlyArray<string>): boolean => {
  switch (policy._tag) {
    case "EveryTransition":
      return true
    case "EveryN":
      return now.sequence - last.sequence >= policy.transitions
    case "Interval":
      return now.at - last.at >= Duration.toMillis(Duration.fromInputUnsafe(policy.every))
    case "OnStates":
      return tags.some((tag) => policy.states.includes(tag))
    case "Manual":
      return false
  }
}
