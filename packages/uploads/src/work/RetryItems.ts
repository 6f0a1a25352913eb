/**
 * Tries the failed items of a batch again, with the content they were given or corrected to. The instance of an item decides
 * under an id of this piece of work, so a run that was cut off finds the same outcome; what came of it is entered once.
 */
import { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { itemInstanceId, readingOf } from "../item/HNItemEntity.ts"
import type { ItemProblem } from "../item/ItemProblem.ts"
import { type ReadItem, readItem } from "../item/ReadItem.ts"
import { addCounts } from "../store/Batches.ts"
import { beginRetry, failedEntries, findStored, updateEntries } from "../store/Entries.ts"
import type { BatchRow, FailedRow } from "../store/Rows.ts"
import { insisting } from "./ExtractItems.ts"
import type { Uploading } from "./Uploading.ts"

/** So many at a time. */
const pageSize = 100

interface Tried {
  readonly row: FailedRow
  readonly read: ReadItem
  readonly duplicateOf: number | undefined
}

interface Outcome {
  /** What is wrong with it still. */
  readonly problem: ItemProblem | undefined
  readonly attempts: number
}

export const retryItems = (uploading: Uploading, batch: BatchRow, key: string): Effect.Effect<void, PersistenceFailed> =>
  Effect.gen(function* () {
    let after = -1
    for (;;) {
      const page = yield* insisting(uploading, failedEntries(uploading.store, batch.batch, after, pageSize))
      if (page.length === 0) return
      yield* retryPage(uploading, batch, page, key)
      after = page.at(-1)?.item_index ?? after
    }
  })

const retryPage = (
  uploading: Uploading,
  batch: BatchRow,
  page: ReadonlyArray<FailedRow>,
  key: string,
): Effect.Effect<void, PersistenceFailed> =>
  Effect.gen(function* () {
    const { store, check } = uploading
    const indices = page.map((row) => row.item_index)
    yield* insisting(uploading, beginRetry(store, batch.batch, indices))
    const read = page.map((row) => readAgain(row, check))
    const hnIds = read.flatMap((one) => (one._tag === "Good" ? [one.item.hnId] : []))
    const known = new Map(yield* insisting(uploading, findStored(store, batch.batch, hnIds)))
    const tried = page.map((row, position): Tried => {
      const one = read[position] as ReadItem
      const hnId = one._tag === "Good" ? one.item.hnId : undefined
      const duplicateOf = hnId === undefined ? undefined : known.get(hnId)
      if (hnId !== undefined && duplicateOf === undefined) known.set(hnId, row.item_index)
      return { row, read: one, duplicateOf }
    })
    const outcomes = yield* Effect.forEach(tried, (one) => insisting(uploading, tryAgain(uploading, batch, one, key)), {
      concurrency: pageSize,
    })
    yield* insisting(uploading, enter(uploading, batch, tried, outcomes))
  })

/** An item whose content was not kept stays what it was until it is corrected. */
const readAgain = ({ content, reason, message }: FailedRow, check: Uploading["check"]): ReadItem =>
  content === null
    ? { _tag: "Bad", problem: { reason: reason ?? "not_json", message: message ?? "its content was not kept" } }
    : readItem(content, check)

/** Has the instance of the item decide anew. */
const tryAgain = (
  { engine, itemWorkflow }: Uploading,
  { batch_id: batchId }: BatchRow,
  { row, read, duplicateOf }: Tried,
  key: string,
): Effect.Effect<Outcome, PersistenceFailed> =>
  Effect.gen(function* () {
    const id = itemInstanceId(batchId, row.item_index)
    const found = yield* engine.get(itemWorkflow.machine, id)
    if (Option.isNone(found)) return yield* Effect.fail(lost(id, "it is not there"))
    const instance = found.value
    const retry = itemWorkflow.trigger("retry_item", { argument: readingOf(read, duplicateOf) })
    const decided = Effect.map(instance.call(retry, { id: key }), (taken) => taken.state)
    // A run that was cut off may have got further than the entries tell: then the instance says what holds.
    const state = yield* Effect.catchTags(decided, { InvalidTransition: () => instance.state, MachineStopped: () => instance.state })
    const { problem, attempts } = state.entity
    return { problem: state._tag === "stored" ? undefined : (problem ?? stuck(state._tag)), attempts }
  }).pipe(Effect.mapError((error) => (error instanceof PersistenceFailed ? error : lost(row.item_index, error.message))))

/** Enters what came of them, each once: what another run has entered is not counted again. */
const enter = (
  { store }: Uploading,
  { batch }: BatchRow,
  tried: ReadonlyArray<Tried>,
  outcomes: ReadonlyArray<Outcome>,
): Effect.Effect<void, PersistenceFailed> =>
  store.transact(
    "retryItems",
    Effect.gen(function* () {
      const retried = tried.map(({ row, read }, position) => {
        const { problem, attempts = row.attempts + 1 } = outcomes[position] ?? {}
        return { index: row.item_index, hnId: read._tag === "Good" ? read.item.hnId : read.hnId, problem, attempts }
      })
      const entered = yield* updateEntries(store, batch, retried)
      const stored = tried.flatMap(({ row, read }, position) =>
        read._tag === "Good" && outcomes[position]?.problem === undefined && entered.has(row.item_index)
          ? [{ batch, index: row.item_index, item: read.item }]
          : [],
      )
      yield* store.run("writeItems", store.dialect.writeItems(stored))
      yield* addCounts(store, batch, { stored: stored.length, failed: -stored.length })
    }),
  )

const stuck = (state: string): ItemProblem => ({ reason: "invalid_field", message: `it is ${state}` })

const lost = (item: string | number, problem: string): PersistenceFailed =>
  new PersistenceFailed({
    machine: "HNItem",
    id: String(item),
    operation: "retry",
    cause: new Error(`it could not be tried again: ${problem}`),
  })
