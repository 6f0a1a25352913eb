/** Whether a commit that the store did not confirm is in the journal. */
import type { EventRecord } from "../store/Commit.ts"
import type { PendingEvent } from "./PendingEvent.ts"

/** After a prune only events with ids remain: one of those shows that all of its commit was stored. */
export const fateOf = (
  flight: ReadonlyArray<PendingEvent>,
  events: ReadonlyArray<EventRecord>,
  reached: number,
): "arrived" | "lost" | "unknown" => {
  const found = flight.map(({ record }) => [record, events.find(({ sequence }) => sequence === record.sequence)] as const)
  const remaining = found.filter(([, event]) => event !== undefined)
  if (flight.some(({ sequence }) => sequence > reached) || remaining.some(([record, event]) => !isSame(record, event))) return "lost"
  if (remaining.length === flight.length) return "arrived"
  return remaining.some(([{ dedupeId }]) => dedupeId !== undefined) ? "arrived" : "unknown"
}

const isSame = (record: EventRecord, event: EventRecord | undefined): boolean =>
  record.at === event?.at && record.body === event.body && record.dedupeId === event.dedupeId
