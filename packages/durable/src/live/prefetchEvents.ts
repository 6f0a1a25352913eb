/** Reads many instances after a restart: short journals in one query, long ones page by page. */

import type { EventRecord, InstanceKey, JournalService, OpenedInstance } from "@detent/store"
import { instanceName } from "@detent/store/internal"
import * as Effect from "effect/Effect"

/** An instance with more events than this since its snapshot is read by itself, so that memory stays bounded. */
const shortTail = 100

export interface PrefetchedEvents {
  /** A journal with the events of these instances since their snapshots in memory, where they are few. */
  readonly journal: JournalService
  /** The sequence number of the last event that was read of an instance. Undefined where none was. */
  readonly newest: (key: InstanceKey) => number | undefined
}

export const prefetchEvents = (journal: JournalService, opened: ReadonlyArray<OpenedInstance>): Effect.Effect<PrefetchedEvents> => {
  const nothing: PrefetchedEvents = { journal, newest: () => undefined }
  const short = opened
    .filter(({ record, snapshot }) => record.sequence - (snapshot?.sequence ?? 0) <= shortTail)
    .map(({ record }) => record)
  if (short.length === 0) return Effect.succeed(nothing)
  const read = Effect.map(journal.tails(short), (events): PrefetchedEvents => {
    const tails = new Map<string, Array<EventRecord>>(short.map((record) => [instanceName(record), []]))
    for (const event of events) tails.get(instanceName(event))?.push(event)
    return {
      journal: {
        ...journal,
        events: (key, after, limit) => {
          const tail = tails.get(instanceName(key))
          if (tail === undefined) return journal.events(key, after, limit)
          return Effect.succeed(tail.filter((event) => event.sequence > after).slice(0, limit))
        },
      },
      newest: (key) => tails.get(instanceName(key))?.at(-1)?.sequence,
    }
  })
  // After a failure each instance is read by itself, so that only the unreadable one fails.
  return Effect.orElseSucceed(read, () => nothing)
}
