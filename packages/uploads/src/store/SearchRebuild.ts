/** Fills the search index from the stored items, for a database whose rows were copied from another database. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { MigrationError } from "effect/sql/Migrator"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { AnyUpload } from "../kind/UploadDefinition.ts"
import { ItemRow } from "./Rows.ts"
import { UploadStore } from "./UploadStore.ts"

type Rebuilding<A> = Effect.Effect<A, MigrationError | PersistenceFailed | SqlError, SqlClient>

const IndexedRow = Schema.Struct({ ...ItemRow.fields, batch: ItemRow.fields.item_index, kind: Schema.String })

const pageSize = 1000

/**
 * Indexes the next page of items after a number. The definitions define the searched words and fields. Returns the number of the last
 * item, or undefined when all items are indexed.
 */
export const rebuildSearch = (uploads: ReadonlyArray<AnyUpload>, after = 0): Rebuilding<number | undefined> =>
  Effect.gen(function* () {
    const store = yield* UploadStore.open("detent")
    const { sql, items, writeItems } = store.dialect
    const found = sql`
      select i.item, i.kind, i.id, i.time, i.content, i.batch, i.item_index, '' as batch_id
      from ${items} i where i.item > ${after} order by i.item limit ${pageSize}`
    const rows = yield* store.rows("rebuildSearch", IndexedRow, found)
    for (const { kind } of uploads) {
      const own = rows.filter((row) => row.kind === kind.name)
      const written = yield* store.decoding("rebuildSearch", () =>
        own.map((row) => ({ batch: row.batch, index: row.item_index, item: kind.contentOf(kind.decode(row.content)) })),
      )
      yield* store.transact("rebuildSearch", writeItems(kind.name, written, "replace"))
    }
    return rows.length < pageSize ? undefined : rows.at(-1)?.item
  })

/** The kinds of stored items. */
export const storedKinds: Rebuilding<ReadonlyArray<string>> = Effect.gen(function* () {
  const store = yield* UploadStore.open("detent")
  const { sql, items } = store.dialect
  const rows = yield* store.rows("storedKinds", Schema.Struct({ kind: Schema.String }), sql`select distinct kind from ${items}`)
  return rows.map(({ kind }) => kind)
})
