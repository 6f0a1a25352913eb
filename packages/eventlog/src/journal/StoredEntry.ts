/** An event of a journal with its position. Checks events before they are stored, and reads them from database rows. */

import type { Row } from "@detent/store/internal"
import { RowProblem, textOf, wholeOf } from "@detent/store/internal"
import { Entry, EntryId, RemoteId } from "effect/eventlog/EventJournal"
import { EntryRefused, EntryUnreadable } from "./errors.ts"

export interface StoredEntry {
  /** Grows by one from event to event, in the order in which they became visible. Only compaction leaves gaps. */
  readonly position: number
  readonly entry: Entry
  /** The remote journal it came from; undefined if it was written here. */
  readonly origin: RemoteId | undefined
}

/** An event that is to be stored. */
export type NewEntry = Pick<StoredEntry, "entry" | "origin">

/** In the order of their ids: events of a remote may be older than those stored before them. */
export const byId = (entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> => entries.toSorted(Entry.Order)

/** Throws `EntryUnreadable` for a row that is not an event. */
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

/** Copies the bytes: the driver returns a view of everything it received, which would stay in memory with the view. */
const bytesOf = (row: Row, column: string): Uint8Array<ArrayBuffer> => {
  const value = row[column]
  if (value instanceof Uint8Array) return new Uint8Array(value)
  throw new RowProblem(`column ${column} should hold bytes but holds ${value === null ? "nothing" : `a ${typeof value}`}`)
}

/** Half of the largest message that the PostgreSQL driver reads: a payload that can be written can be read. */
const payloadLimit = 8 * 1024 * 1024
/** A PostgreSQL index entry has at most about 2,700 bytes. */
const keyLimit = 2_000

/** Returns why an event cannot be stored, before anything is written, so that it does not fail its batch. */
export const checkEntry = (journal: string, { event, primaryKey, payload }: Entry): EntryRefused | undefined => {
  const problem =
    problemOfText("its tag", event) ??
    problemOfText("its primary key", primaryKey) ??
    (lengthOf(event) + lengthOf(primaryKey) > keyLimit ? `tag and primary key are longer than ${keyLimit} bytes` : undefined) ??
    (payload.length > payloadLimit
      ? `its payload has ${payload.length} bytes, more than ${payloadLimit}; store large content elsewhere, and keep a reference to it here`
      : undefined)
  return problem === undefined ? undefined : new EntryRefused({ journal, event: event.slice(0, 100), problem })
}

const lengthOf = (text: string): number => new TextEncoder().encode(text).length

const problemOfText = (what: string, text: string): string | undefined => {
  if (text.includes("\u0000")) return `${what} contains the character 0, which database texts cannot hold`
  return text.isWellFormed() ? undefined : `${what} contains half of a surrogate pair`
}
