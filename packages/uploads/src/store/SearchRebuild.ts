/** Fills the search indexes from the stored items, for a database whose rows were copied from another database. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { MigrationError } from "effect/sql/Migrator"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { AnyUpload } from "../UploadDefinition.ts"
import { storedItemOf } from "./Items.ts"
import { itemTable } from "./ItemTable.ts"
import { ItemRow, KindItemRow } from "./Rows.ts"
import { UploadStore } from "./UploadStore.ts"

type Rebuilding<A> = Effect.Effect<A, MigrationError | PersistenceFailed | SqlError, SqlClient>

const batch = ItemRow.fields.item_index

const IndexedRow = Schema.Struct({ ...ItemRow.fields, batch })

const IndexedKindRow = Schema.Struct({ ...KindItemRow.fields, batch, kind: Schema.String })

const pageSize = 1000

/** Indexes the next page of Hacker News items after an id. Returns the last id, or undefined when all items are indexed. */
export const rebuildSearch = (after = 0): Rebuilding<number | undefined> =>
  Effect.gen(function* () {
    const store = yield* UploadStore.open("detent")
    const { sql, items, writeItems } = store.dialect
    const found = sql`select i.*, '' as batch_id from ${items} i where i.hn_id > ${after} order by i.hn_id limit ${pageSize}`
    const rows = yield* store.rows("rebuildSearch", IndexedRow, found)
    const written = writeItems(rows.map((row) => ({ batch: row.batch, index: row.item_index, item: storedItemOf(row).item })))
    yield* store.transact("rebuildSearch", written)
    return rows.length < pageSize ? undefined : rows.at(-1)?.hn_id
  })

/** The same for items of other kinds, whose definitions define the searched words and fields. */
export const rebuildKindSearch = (uploads: ReadonlyArray<AnyUpload>, after = 0): Rebuilding<number | undefined> =>
  Effect.gen(function* () {
    const store = yield* UploadStore.open("detent")
    const { sql, kindItems } = store.dialect
    const found = sql`
      select i.item, i.kind, i.id, i.time, i.content, i.batch, i.item_index, '' as batch_id
      from ${kindItems} i where i.item > ${after} order by i.item limit ${pageSize}`
    const rows = yield* store.rows("rebuildSearch", IndexedKindRow, found)
    for (const { kind } of uploads) {
      const own = rows.filter((row) => row.kind === kind.name)
      const items = yield* store.decoding("rebuildSearch", () =>
        own.map((row) => ({ batch: row.batch, index: row.item_index, item: kind.contentOf(kind.decode(row.content)) })),
      )
      yield* store.transact("rebuildSearch", itemTable(store, kind).write(items))
    }
    return rows.length < pageSize ? undefined : rows.at(-1)?.item
  })

/** The kinds of stored items, except Hacker News. */
export const storedKinds: Rebuilding<ReadonlyArray<string>> = Effect.gen(function* () {
  const store = yield* UploadStore.open("detent")
  const { sql, kindItems } = store.dialect
  const rows = yield* store.rows("storedKinds", Schema.Struct({ kind: Schema.String }), sql`select distinct kind from ${kindItems}`)
  return rows.map(({ kind }) => kind)
})
