/**
 * Reading an instance takes two queries, one for its record and one for its events. In between, another node may save a newer
 * snapshot and prune the events before it, or remove the instance and start another of the same id. Then the read fails although
 * the instance is sound, and begins again.
 */
import type { EventReplayError, PersistenceFailed } from "@detent/machine"
import type { JournalService, OpenedInstance } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { InstanceNotFound } from "../errors.ts"

/** Terminates, because each retry requires a newer snapshot, a prune, or a later instance of the same id. */
export const retryOnChange = <A, E>(
  journal: JournalService,
  opened: OpenedInstance,
  read: (opened: OpenedInstance) => Effect.Effect<A, E | EventReplayError>,
): Effect.Effect<A, E | EventReplayError | InstanceNotFound | PersistenceFailed> =>
  Effect.catchTag(
    read(opened),
    "EventReplayError",
    (error): Effect.Effect<A, E | EventReplayError | InstanceNotFound | PersistenceFailed> => {
      const { machine, id } = opened.record
      return Effect.flatMap(journal.open({ machine, id }), (again) => {
        if (Option.isNone(again)) return Effect.fail(new InstanceNotFound({ machine, id }))
        if (!isNewer(again.value, opened) && again.value.record.startedAt === opened.record.startedAt) return Effect.fail(error)
        return retryOnChange(journal, again.value, read)
      })
    },
  )

const isNewer = (now: OpenedInstance, before: OpenedInstance): boolean =>
  (now.snapshot?.sequence ?? -1) > (before.snapshot?.sequence ?? -1) || (now.origin === undefined && before.origin !== undefined)
