/**
 * Events a machine sends itself are stored only when they are handled. Each has an id made of where it comes from, so that
 * recovery can tell which of them are still owed, and no two nodes handle one twice.
 */
import type { Tagged } from "@detent/machine/internal"

/** Ids that senders choose never start with this. */
export const reservedPrefix = "@"

/** What the ids of events begin with that a machine sends itself. */
export const raisedPrefix = `${reservedPrefix}raised/`

/** The id of an event that the machine sent itself. Once that is handled it is no longer owed, and the id can be forgotten. */
export const isRaisedId = (dedupeId: string | undefined): dedupeId is string => dedupeId?.startsWith(raisedPrefix) === true

/** The id of the event that the event of a sequence number sent at a position. */
export const raisedId = (sequence: number, index: number): string => `${raisedPrefix}${sequence}/${index}`

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
  if (sends.length === 0 && !isRaisedId(dedupeId)) return owed
  const sent = sends.map((event, index) => ({ id: raisedId(sequence, index), event }))
  return [...sent, ...owed.filter(({ id }) => id !== dedupeId)]
}
