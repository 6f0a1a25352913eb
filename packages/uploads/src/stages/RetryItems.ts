/**
 * Retries the failed items of a batch, with their stored or corrected content. The key of this run is the dedupe id of the event to each
 * item's instance, so that a restarted run finds the same outcome; the result is entered once.
 */
import { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Existing } from "../batch/Existing.ts"
import { itemInstanceId } from "../item/ItemEntity.ts"
import { duplicateProblem, type ItemProblem } from "../item/ItemProblem.ts"
import type { ItemContent } from "../kind/ItemKind.ts"
import { type ReadContent, readingOf } from "../kind/ReadContent.ts"
import { addCounts } from "../store/Batches.ts"
import { beginRetry, findStored, type Retried, updateEntries } from "../store/Entries.ts"
import { limitNotes } from "../store/Limits.ts"
import type { BatchRow, FailedRow } from "../store/Rows.ts"
import { insisting } from "./ExtractItems.ts"
import { itemMachine, type Kind, type Uploading, writeAndDeliver } from "./Uploading.ts"

/** How many items one transaction retries. */
const pageSize = 100

interface Tried {
  readonly row: FailedRow
  readonly read: ReadContent
  readonly duplicateOf: number | undefined
  /** When the item was read and checked. */
  readonly at: number
}

interface Outcome {
  /** The remaining problem; undefined if the item can be stored. */
  readonly problem: ItemProblem | undefined
  readonly attempts: number
}

/** A run of retries. */
interface Run {
  /** The dedupe id of the events to the instances of its items. */
  readonly key: string
  readonly existing: Existing
}

export const retryItems = (uploading: Uploading, kind: Kind, batch: BatchRow, run: Run): Effect.Effect<void, PersistenceFailed> =>
  Effect.gen(function* () {
    let after = -1
    for (;;) {
      // A cancelled run waits for the end of this statement, so that it cannot mark items after the cancel has ended their retry.
      const page = yield* insisting(uploading, Effect.uninterruptible(beginRetry(uploading.store, batch.batch, after, pageSize)))
      if (page.length === 0) return
      yield* retryPage(uploading, kind, batch, page, run)
      after = page.at(-1)?.item_index ?? after
    }
  })

const retryPage = (
  uploading: Uploading,
  kind: Kind,
  batch: BatchRow,
  page: ReadonlyArray<FailedRow>,
  { key, existing }: Run,
): Effect.Effect<void, PersistenceFailed> =>
  Effect.gen(function* () {
    const { store } = uploading
    const at = Math.floor(yield* Clock.currentTimeMillis)
    const contents = yield* insisting(uploading, readAgain(uploading, kind, batch, page))
    const known = new Map(yield* insisting(uploading, findStored(store, batch.batch, idsOf(contents))))
    const tried = page.map((row, position): Tried => {
      const read = contents[position] ?? notKept(row)
      const id = read._tag === "Good" ? read.content.id : undefined
      const duplicateOf = id === undefined ? undefined : known.get(id)
      if (id !== undefined && duplicateOf === undefined) known.set(id, row.item_index)
      return { row, read, duplicateOf, at }
    })
    const outcomes = yield* Effect.forEach(tried, (one) => insisting(uploading, tryAgain(uploading, batch, one, key)), {
      concurrency: pageSize,
    })
    yield* insisting(uploading, enter(uploading, kind, batch, tried, outcomes, existing))
    // Releases the instances: at 3 kB each, half a million of them would stay in memory until they are passivated.
    const ids = page.map((row) => itemInstanceId(batch.batch_id, row.item_index))
    yield* uploading.engine.release(uploading.items.machine, ids)
  })

const readAgain = (
  { reader, store }: Uploading,
  kind: Kind,
  { batch }: BatchRow,
  page: ReadonlyArray<FailedRow>,
): Effect.Effect<ReadonlyArray<ReadContent>, PersistenceFailed> => {
  const texts = page.flatMap((row) => (isReadable(row) ? [{ index: row.item_index, text: row.content }] : []))
  const notes = limitNotes(store, batch, page[0]?.item_index ?? 0, page.at(-1)?.item_index ?? 0)
  return Effect.map(reader.read(kind, texts, notes), (found) => {
    let next = 0
    return page.map((row) => (isReadable(row) ? (found[next++] ?? notKept(row)) : notKept(row)))
  })
}

/** Whether the content of an item can be read: it was kept, and the cells of a bad row were corrected. */
const isReadable = (row: FailedRow): row is FailedRow & { readonly content: string } =>
  row.content !== null && (row.reason !== "bad_row" || row.corrected_at !== null)

/** An item whose content cannot be read keeps its problem until it is corrected. */
const notKept = ({ reason, message }: FailedRow): ReadContent => ({
  _tag: "Bad",
  problem: { reason: reason ?? "not_json", message: message ?? "its content was not kept" },
})

/** The content of an item, even if the user's check refuses it now. */
const uncheckedOf = (read: ReadContent): ReadContent => (read._tag === "Bad" ? (read.unchecked ?? read) : read)

/** Sends the retry event to the instance of the item. */
const tryAgain = (
  { engine, items }: Uploading,
  { batch_id: batchId }: BatchRow,
  { row, read, duplicateOf, at }: Tried,
  key: string,
): Effect.Effect<Outcome, PersistenceFailed> => {
  const id = itemInstanceId(batchId, row.item_index)
  return Effect.gen(function* () {
    const { machine, trigger } = items
    const found = yield* engine.get(machine, id)
    if (Option.isNone(found)) return yield* Effect.fail(lost(id, "its instance does not exist"))
    const instance = found.value
    const retry = trigger("retry_item", { argument: readingOf(read, duplicateOf, { ingestedAt: at, validatedAt: at }) })
    const decided = Effect.map(instance.call(retry, { id: key }), (taken) => taken.state)
    // An interrupted run may have sent the event without updating the entries: then the state of the instance decides.
    const state = yield* Effect.catchTags(decided, { InvalidTransition: () => instance.state, MachineStopped: () => instance.state })
    const { problem, attempts } = state.entity
    return { problem: state._tag === "stored" ? undefined : (problem ?? stuck(state._tag)), attempts }
  }).pipe(Effect.mapError((error) => (error instanceof PersistenceFailed ? error : lost(id, error.message))))
}

/** Enters each result once: results that another run has entered are not counted again. */
const enter = (
  { store }: Uploading,
  kind: Kind,
  { batch, batch_id: batchId }: BatchRow,
  tried: ReadonlyArray<Tried>,
  outcomes: ReadonlyArray<Outcome>,
  existing: Existing,
): Effect.Effect<void, PersistenceFailed> =>
  store.transact(
    "retryItems",
    Effect.gen(function* () {
      // Locks the row of the batch, so that no other process stores an item after the query below.
      yield* addCounts(store, batch, { stored: 0, failed: 0 })
      const taken = new Map(yield* findStored(store, batch, idsOf(tried.map(({ read }) => read))))
      const settled = tried.map((one, position) => settle(one, outcomes[position], taken))
      const entered = yield* updateEntries(store, batch, settled)
      const stored = settled.flatMap(({ index, item }) => (item !== undefined && entered.has(index) ? [{ batch, index, item }] : []))
      yield* writeAndDeliver(kind, batchId, stored, existing)
      yield* addCounts(store, batch, { stored: stored.length, failed: -stored.length })
    }),
  )

/**
 * The entry of an item. Its instance may have decided in an interrupted run: then the item is stored even if a check would refuse it
 * now, unless another item of the batch has been stored with its id since.
 */
const settle = (
  { row, read }: Tried,
  outcome: Outcome | undefined,
  taken: Map<string, number>,
): Retried & { readonly item: ItemContent | undefined } => {
  const { item_index: index } = row
  const { problem, attempts = row.attempts + 1 } = outcome ?? {}
  const content = uncheckedOf(read)
  const id = read._tag === "Good" ? read.content.id : read.itemId
  const known = { index, id, attempts, item: undefined }
  if (outcome === undefined || problem !== undefined) return { ...known, problem: problem ?? stuck("processing") }
  if (content._tag === "Bad") return { ...known, problem: content.problem }
  const item = content.content
  const first = taken.get(item.id)
  if (first !== undefined && first !== index) return { ...known, problem: duplicateProblem(first, item.id) }
  taken.set(item.id, index)
  return { ...known, id: item.id, problem: undefined, item }
}

/** The ids of items, including items that a check refuses. */
const idsOf = (contents: ReadonlyArray<ReadContent>): ReadonlyArray<string> =>
  contents.map(uncheckedOf).flatMap((one) => (one._tag === "Good" ? [one.content.id] : []))

const stuck = (state: string): ItemProblem => ({ reason: "invalid_field", message: `it is ${state}` })

const lost = (id: string, problem: string): PersistenceFailed =>
  new PersistenceFailed({
    machine: itemMachine,
    id,
    operation: "retry",
    cause: new Error(`the item could not be retried: ${problem}`),
  })
