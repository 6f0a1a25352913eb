/** Reads many instances after a restart: short journals in one query, long ones page by page. */
import * as Effect from "effect/Effect"
import type { EventRecord } from "../store/Commit.ts"
import { instanceName } from "../store/CommitCheck.ts"
import type { JournalService, OpenedInstance } from "../store/Journal.ts"

/** An instance with more events than this since its snapshot is read by itself, so that memory stays bounded. */
const shortTail = 100

/** A journal that has read the events of these instances since their snapshots, where those are few. */
export const prefetchEvents = (journal: JournalService, opened: ReadonlyArray<OpenedInstance>): Effect.Effect<JournalService> => {
  const short = opened
    .filter(({ record, snapshot }) => record.sequence - (snapshot?.sequence ?? 0) <= shortTail)
    .map(({ record }) => record)
  if (short.length === 0) return Effect.succeed(journal)
  const read = Effect.map(journal.tails(short), (events): JournalService => {
    const tails = new Map<string, Array<EventRecord>>(short.map((record) => [instanceName(record), []]))
    for (const event of events) tails.get(instanceName(event))?.push(event)
    return {
      ...journal,
      events: (key, after, limit) => {
        const tail = tails.get(instanceName(key))
        if (tail === undefined) return journal.events(key, after, limit)
        return Effect.succeed(tail.filter((event) => event.sequence > after).slice(0, limit))
      },
    }
  })
  // Each is then read by itself, so that only the one to blame fails.
  return Effect.orElseSucceed(read, () => journal)
}
