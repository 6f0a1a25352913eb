/** An event of a journal and its place in it, and how both are read from a database row. */
import { Entry, EntryId, RemoteId } from "effect/unstable/eventlog/EventJournal"
import type { Row } from "../sql/Row.ts"
import { textOf, wholeOf } from "../sql/Row.ts"
import { RowProblem } from "../store/StoreFailure.ts"
import { EntryUnreadable } from "./DomainEventError.ts"

export interface StoredEntry {
  /** Grows by one from event to event, in the order in which they became visible. Compaction leaves gaps, nothing else does. */
  readonly position: number
  readonly entry: Entry
  /** The remote journal it came from; undefined when it was written here. */
  readonly origin: RemoteId | undefined
}

/** An event on its way into a journal. */
export type NewEntry = Pick<StoredEntry, "entry" | "origin">

/** In the order of their creation: what comes from elsewhere may be older than what was stored before it. */
export const byCreation = (entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> =>
  entries.toSorted((left, right) => left.createdAtMillis - right.createdAtMillis)

/** Throws `EntryUnreadable` for a row that makes no sense. */
export const storedEntryOf =
  (journal: string) =>
  (row: Row): StoredEntry => {
    let position: number | undefined
    try {
      position = wholeOf(row, "position")
      return {
        position,
        origin: row["origin"] === null ? undefined : RemoteId.make(idOf(row, "origin"), { disableChecks: true }),
        entry: entryOf(row),
      }
    } catch (cause) {
      if (!(cause instanceof RowProblem)) throw cause
      throw new EntryUnreadable({ journal, ...(position === undefined ? {} : { position }), problem: cause.message })
    }
  }

const entryOf = (row: Row): Entry =>
  new Entry(
    {
      id: EntryId.make(idOf(row, "id"), { disableChecks: true }),
      event: textOf(row, "event"),
      primaryKey: textOf(row, "primary_key"),
      payload: bytesOf(row, "payload"),
    },
    { disableChecks: true },
  )

export const idOf = (row: Row, column: string): Uint8Array<ArrayBuffer> => {
  const bytes = bytesOf(row, column)
  if (bytes.length !== 16) throw new RowProblem(`column ${column} should hold 16 bytes but holds ${bytes.length}`)
  return bytes
}

/** A copy: what the driver gives is a view of everything it received, which would stay in memory with it. */
const bytesOf = (row: Row, column: string): Uint8Array<ArrayBuffer> => {
  const value = row[column]
  if (value instanceof Uint8Array) return new Uint8Array(value)
  throw new RowProblem(`column ${column} should hold bytes but holds ${value === null ? "nothing" : `a ${typeof value}`}`)
}
