/**
 * Stores a page of items in one transaction: the instance of each, its entry in the batch, the content of the valid items, and the
 * position of the batch. So a process that dies has stored all of them or none, and the next process resumes after the last stored
 * item.
 */

import { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Existing } from "../batch/Existing.ts"
import { type ItemEntity, itemInstanceId } from "../item/ItemEntity.ts"
import { readingOf } from "../kind/ReadContent.ts"
import { addCounts, advance } from "../store/Batches.ts"
import type { ItemOfBatch } from "../store/Dialect.ts"
import { findStored, insertEntries, type NewEntry } from "../store/Entries.ts"
import type { BatchRow } from "../store/Rows.ts"
import type { UploadStore } from "../store/UploadStore.ts"
import type { Item, Page } from "./Page.ts"
import { itemMachine, type Kind, type Uploading, writeAndDeliver } from "./Uploading.ts"

/** Returns true if the items were stored, false if another process has advanced the batch. */
export const storeItems = (
  { engine, store, items: { machine } }: Uploading,
  kind: Kind,
  { batch, batch_id: batchId }: BatchRow,
  page: Page,
  ids: StoredIds,
  existing: Existing = "update",
): Effect.Effect<boolean, PersistenceFailed> => {
  const { items, from, end } = page
  const storing = store.transact(
    "storeItems",
    Effect.gen(function* () {
      const at = Math.floor(yield* Clock.currentTimeMillis)
      if (!(yield* advance(store, batch, from, end, at))) return undefined
      const known = yield* ids.find(items)
      const started = yield* engine.startAll(machine, instancesOf(batchId, page, known))
      const entries: Array<NewEntry> = []
      const good: Array<ItemOfBatch> = []
      for (const [position, { index, line, offset, read, text }] of items.entries()) {
        const outcome = started[position]
        if (outcome === undefined || Result.isFailure(outcome)) return yield* Effect.fail(notStarted(batchId, index, outcome?.failure))
        const { _tag: state, entity } = outcome.success
        if (state === "stored" && read._tag === "Good") {
          good.push({ batch, index, item: read.content })
          entries.push({ index, id: read.content.id, line, offset, problem: undefined, content: undefined })
        } else
          entries.push({
            index,
            id: entity.itemId,
            line,
            offset,
            problem: entity.problem,
            content: text ?? textOf(read),
          })
      }
      yield* insertEntries(store, batch, entries)
      yield* addCounts(store, batch, { stored: good.length, failed: entries.length - good.length })
      yield* writeAndDeliver(kind, batchId, good, existing)
      return entries
    }),
  )
  return Effect.map(storing, (entries) => {
    if (entries === undefined) return false
    ids.add(entries)
    return true
  })
}

/** A valid item fails if it is a duplicate. Its JSON is stored, so that it can be retried. */
const textOf = (read: Item["read"]): string | undefined => (read._tag === "Good" ? read.content.content : undefined)

const idsOf = (items: ReadonlyArray<Item>): ReadonlyArray<string> =>
  items.flatMap(({ read }) => (read._tag === "Good" ? [read.content.id] : []))

/** The first states of the instances of items. `known` maps each id that is taken to the index of its item. */
const instancesOf = (batchId: string, page: Page, known: ReadonlyMap<string, number>) => {
  const here = new Map<string, number>()
  return page.items.map(({ index, read }) => {
    const id = read._tag === "Good" ? read.content.id : undefined
    const duplicateOf = id === undefined ? undefined : (known.get(id) ?? here.get(id))
    if (id !== undefined && duplicateOf === undefined) here.set(id, index)
    const reading = readingOf(read, duplicateOf, page)
    const input: ItemEntity = { batchId, itemIndex: index, sourceType: "BULK_UPLOAD", ...reading, attempts: 1 }
    return { id: itemInstanceId(batchId, index), input }
  })
}

/** The engine could not start the instance of an item, although the batch has not extracted the item yet. */
const notStarted = (batchId: string, index: number, cause: Error | undefined): PersistenceFailed => {
  if (cause instanceof PersistenceFailed) return cause
  const id = itemInstanceId(batchId, index)
  return new PersistenceFailed({
    machine: itemMachine,
    id,
    operation: "startAll",
    cause: new Error(`the instance could not be started: ${cause?.message}`),
  })
}

// The ids that a batch has stored, each with the index of its item. A run that began with the first item of the file has stored all of
// them itself. It keeps them in memory, up to a limit, and saves a query for each page, which takes 1.5 µs of CPU per item.

/** About 10 MB of memory. */
const remembered = 100_000

export class StoredIds {
  readonly #store: UploadStore
  readonly #batch: number
  #known: Map<string, number> | undefined

  constructor(store: UploadStore, { batch, next_index }: BatchRow) {
    this.#store = store
    this.#batch = batch
    this.#known = next_index === 0 ? new Map() : undefined
  }

  /** Finds stored ids, at least those of the given items. */
  find(items: ReadonlyArray<Item>): Effect.Effect<ReadonlyMap<string, number>, PersistenceFailed> {
    return this.#known === undefined ? findStored(this.#store, this.#batch, idsOf(items)) : Effect.succeed(this.#known)
  }

  /** Adds committed entries. */
  add(entries: ReadonlyArray<NewEntry>) {
    if (this.#known === undefined) return
    for (const { id, index, problem } of entries) if (id !== undefined && problem === undefined) this.#known.set(id, index)
    if (this.#known.size > remembered) this.#known = undefined
  }
}
