/**
 * Stores a few items of a file in one transaction: the instance of each, its entry in the batch, the content of the good
 * ones, and how far the batch has got. So a process that dies leaves either all of them behind or none, and the next one
 * goes on with the item after the last that is stored.
 */
import { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { behind, type RawItem } from "../file/RawItem.ts"
import { type HNItemEntity, itemInstanceId, readingOf } from "../item/HNItemEntity.ts"
import type { ReadItem } from "../item/ReadItem.ts"
import { addCounts, advance } from "../store/Batches.ts"
import type { ItemOfBatch } from "../store/Dialect.ts"
import { findStored, insertEntries, type NewEntry } from "../store/Entries.ts"
import type { BatchRow } from "../store/Rows.ts"
import type { Uploading } from "./Uploading.ts"
import { readRaw } from "./ValidateFile.ts"

/** An item of the file and what was read of it. */
interface Item {
  readonly raw: RawItem
  readonly read: ReadItem
}

/** Whether they were stored; if not, somebody else has moved the batch on. */
export const storeItems = (
  { engine, store, itemWorkflow, limits, check }: Uploading,
  { batch, batch_id: batchId }: BatchRow,
  page: ReadonlyArray<RawItem>,
): Effect.Effect<boolean, PersistenceFailed> => {
  const first = page[0]
  const last = page.at(-1)
  if (first === undefined || last === undefined) return Effect.succeed(true)
  const items = page.map((raw): Item => ({ raw, read: readRaw(raw, limits.maxItemBytes, check) }))
  return store.transact(
    "storeItems",
    Effect.gen(function* () {
      const at = Math.floor(yield* Clock.currentTimeMillis)
      if (!(yield* advance(store, batch, first.index, behind(last), at))) return false
      const known = yield* findStored(store, batch, idsOf(items))
      const started = yield* engine.startAll(itemWorkflow.machine, instancesOf(batchId, items, new Map(known)))
      const entries: Array<NewEntry> = []
      const good: Array<ItemOfBatch> = []
      for (const [position, { raw, read }] of items.entries()) {
        const { index, line, offset } = raw
        const outcome = started[position]
        if (outcome === undefined || Result.isFailure(outcome)) return yield* Effect.fail(inTheWay(batchId, index, outcome?.failure))
        const { _tag: state, entity } = outcome.success
        if (state === "stored" && read._tag === "Good") {
          good.push({ batch, index, item: read.item })
          entries.push({ index, hnId: read.item.hnId, line, offset, problem: undefined, content: undefined })
        } else entries.push({ index, hnId: entity.hnId, line, offset, problem: entity.problem, content: raw.text })
      }
      yield* insertEntries(store, batch, entries)
      yield* store.run("writeItems", store.dialect.writeItems(good))
      yield* addCounts(store, batch, { stored: good.length, failed: entries.length - good.length })
      return true
    }),
  )
}

const idsOf = (items: ReadonlyArray<Item>): ReadonlyArray<number> =>
  items.flatMap(({ read }) => (read._tag === "Good" ? [read.item.hnId] : []))

/** What the instances of items begin with. `known` are the ids that are taken, and by which item. */
const instancesOf = (batchId: string, items: ReadonlyArray<Item>, known: Map<number, number>) =>
  items.map(({ raw: { index }, read }) => {
    const hnId = read._tag === "Good" ? read.item.hnId : undefined
    const duplicateOf = hnId === undefined ? undefined : known.get(hnId)
    if (hnId !== undefined && duplicateOf === undefined) known.set(hnId, index)
    const input: HNItemEntity = { batchId, itemIndex: index, sourceType: "BULK_UPLOAD", ...readingOf(read, duplicateOf), attempts: 1 }
    return { id: itemInstanceId(batchId, index), input }
  })

/** The batch says that the item has not been taken yet, the engine says that it has. */
const inTheWay = (batchId: string, index: number, cause: Error | undefined): PersistenceFailed => {
  if (cause instanceof PersistenceFailed) return cause
  const id = itemInstanceId(batchId, index)
  return new PersistenceFailed({
    machine: "HNItem",
    id,
    operation: "startAll",
    cause: new Error(`it could not be begun: ${cause?.message}`),
  })
}
