/**
 * Events a machine sends itself are stored only when they are handled. Each has an id made of where it comes from, so that
 * recovery can tell which of them are still owed, and no two nodes handle one twice.
 */
import type { Tagged } from "@detent/machine/internal"

/** Ids that senders choose never start with this. */
export const reservedPrefix = "@"

/** The id of the event that the event of a sequence number sent at a position. */
export const raisedId = (sequence: number, index: number): string => `${reservedPrefix}raised/${sequence}/${index}`

/** An event the machine has sent itself and not handled yet. */
export interface OwedEvent {
  readonly id: string
  readonly event: Tagged
}

/** What is owed after an event: what it sent comes first. */
export const owedAfter = (
  owed: ReadonlyArray<OwedEvent>,
  sequence: number,
  dedupeId: string | undefined,
  sends: ReadonlyArray<Tagged>,
): ReadonlyArray<OwedEvent> => {
  const isRaised = dedupeId?.startsWith(reservedPrefix) === true
  if (sends.length === 0 && !isRaised) return owed
  const sent = sends.map((event, index) => ({ id: raisedId(sequence, index), event }))
  return [...sent, ...owed.filter(({ id }) => id !== dedupeId)]
}
