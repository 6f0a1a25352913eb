/**
 * Reading an instance takes two questions, one for its record and one for its events. In between another node may save a
 * newer snapshot and prune what comes before it: then the reading begins anew, and nothing is wrong with the instance.
 */
import type { EventReplayError, PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { JournalService, OpenedInstance } from "../store/Journal.ts"

/** Ends, because each round has found a newer snapshot. */
export const retryOnNewerSnapshot = <A, E>(
  journal: JournalService,
  opened: OpenedInstance,
  read: (opened: OpenedInstance) => Effect.Effect<A, E | EventReplayError>,
): Effect.Effect<A, E | EventReplayError | PersistenceFailed> =>
  Effect.catchTag(
    read(opened),
    "EventReplayError",
    (error): Effect.Effect<A, E | EventReplayError | PersistenceFailed> =>
      Effect.flatMap(journal.open(opened.record), (again) => {
        if (Option.isNone(again) || !isNewer(again.value, opened)) return Effect.fail(error)
        return retryOnNewerSnapshot(journal, again.value, read)
      }),
  )

const isNewer = (now: OpenedInstance, before: OpenedInstance): boolean =>
  (now.snapshot?.sequence ?? -1) > (before.snapshot?.sequence ?? -1) || (now.origin === undefined && before.origin !== undefined)
