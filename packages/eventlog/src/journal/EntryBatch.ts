/**
 * Many events as two parameters of one statement. Payloads are sent as one byte array that the database splits: no base64, and no limit on
 * their number.
 */
import * as Hex from "effect/encoding/Hex"
import type { NewEntry } from "./StoredEntry.ts"

export interface EntryBatch {
  readonly count: number
  /** JSON rows: id, event, primary key, origin, the start of its payload (from 1), the length of its payload. */
  readonly rows: string
  readonly payloads: Uint8Array
}

export const batchOf = (entries: ReadonlyArray<NewEntry>): EntryBatch => {
  // Never empty: an empty array of bytes is null for SQLite.
  const payloads = new Uint8Array(1 + entries.reduce((sum, { entry }) => sum + entry.payload.length, 0))
  let begin = 0
  const rows = entries.map(({ entry, origin }) => {
    const row = [
      Hex.encode(entry.id),
      entry.event,
      entry.primaryKey,
      origin === undefined ? null : Hex.encode(origin),
      begin + 1,
      entry.payload.length,
    ]
    payloads.set(entry.payload, begin)
    begin += entry.payload.length
    return row
  })
  return { count: entries.length, rows: JSON.stringify(rows), payloads }
}

/** More than this in one statement gains no throughput and costs latency and memory. */
export const batchLimit = 500
const batchBytes = 4 * 1024 * 1024

/** Splits entries into batches that are not too large for one statement. */
export const inBatches = (all: ReadonlyArray<NewEntry>): ReadonlyArray<ReadonlyArray<NewEntry>> => {
  const batches: Array<Array<NewEntry>> = []
  let bytes = Number.POSITIVE_INFINITY
  for (const one of all) {
    const size = one.entry.payload.length
    if (bytes + size > batchBytes || batches.at(-1)?.length === batchLimit) {
      batches.push([])
      bytes = 0
    }
    batches.at(-1)?.push(one)
    bytes += size
  }
  return batches
}
