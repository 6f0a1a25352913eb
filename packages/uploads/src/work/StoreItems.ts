/**
 * Stores a few items of a file in one transaction: the instance of each, its entry in the batch, the content of the good
 * ones, and how far the batch has got. So a process that dies leaves either all of them behind or none, and the next one
 * goes on with the item after the last that is stored.
 */
import { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { behind, type RawItem } from "../file/ItemSplitter.ts"
import { type HNItemEntity, itemInstanceId, readingOf } from "../item/HNItemEntity.ts"
import type { ReadItem } from "../item/ReadItem.ts"
import { addCounts, advance } from "../store/Batches.ts"
import type { ItemOfBatch } from "../store/Dialect.ts"
import { findStored, insertEntries, type NewEntry } from "../store/Entries.ts"
import type { BatchRow } from "../store/Rows.ts"
import type { Uploading } from "./Uploading.ts"
import { readRaw } from "./ValidateFile.ts"

/** Whether they were stored; if not, somebody else has moved the batch on. */
export const storeItems = (
  { engine, store, itemWorkflow, limits, check }: Uploading,
  { batch, batch_id: batchId }: BatchRow,
  items: ReadonlyArray<RawItem>,
): Effect.Effect<boolean, PersistenceFailed> => {
  const first = items[0]
  const last = items.at(-1)
  if (first === undefined || last === undefined) return Effect.succeed(true)
  const read = items.map((raw) => readRaw(raw, limits.maxItemBytes, check))
  return store.transact(
    "storeItems",
    Effect.gen(function* () {
      const at = Math.floor(yield* Clock.currentTimeMillis)
      if (!(yield* advance(store, batch, first.index, behind(last), at))) return false
      const known = new Map(yield* findStored(store, batch, idsOf(read)))
      const begun = items.map((raw, position) => {
        const one = read[position] as ReadItem
        const hnId = one._tag === "Good" ? one.item.hnId : undefined
        const duplicateOf = hnId === undefined ? undefined : known.get(hnId)
        if (hnId !== undefined && duplicateOf === undefined) known.set(hnId, raw.index)
        const reading = readingOf(one, duplicateOf)
        const input: HNItemEntity = { batchId, itemIndex: raw.index, sourceType: "BULK_UPLOAD", ...reading, attempts: 1 }
        return { id: itemInstanceId(batchId, raw.index), input }
      })
      const started = yield* engine.startAll(itemWorkflow.machine, begun)
      const entries: Array<NewEntry> = []
      const good: Array<ItemOfBatch> = []
      for (const [position, outcome] of started.entries()) {
        const raw = items[position] as RawItem
        const one = read[position] as ReadItem
        if (Result.isFailure(outcome)) return yield* Effect.fail(inTheWay(outcome.failure, begun[position]?.id ?? ""))
        const state = outcome.success
        const { index, line, offset } = raw
        if (state._tag === "stored" && one._tag === "Good") {
          good.push({ batch, index, item: one.item })
          entries.push({ index, hnId: one.item.hnId, line, offset, problem: undefined, content: undefined })
        } else {
          entries.push({ index, hnId: state.entity.hnId, line, offset, problem: state.entity.problem, content: raw.text })
        }
      }
      yield* insertEntries(store, batch, entries)
      yield* store.run("writeItems", store.dialect.writeItems(good))
      yield* addCounts(store, batch, { stored: good.length, failed: entries.length - good.length })
      return true
    }),
  )
}

const idsOf = (read: ReadonlyArray<ReadItem>): ReadonlyArray<number> => read.flatMap((one) => (one._tag === "Good" ? [one.item.hnId] : []))

/** The batch says that the item has not been taken yet, the engine says that it has. */
const inTheWay = (cause: Error, id: string): PersistenceFailed =>
  cause instanceof PersistenceFailed
    ? cause
    : new PersistenceFailed({ machine: "HNItem", id, operation: "startAll", cause: new Error(`it could not be begun: ${cause.message}`) })
