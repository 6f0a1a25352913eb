/** The table of the mappings that are kept for kinds. */
import type { PersistenceFailed } from "@detent/machine"
import type { Mapping } from "@detent/tables"
import * as Effect from "effect/Effect"
import { MappingRow } from "./Rows.ts"
import type { UploadStore } from "./UploadStore.ts"

export interface KeptMapping {
  readonly mapping: Mapping
  /** In milliseconds since 1970. */
  readonly keptAt: number
}

export const findMapping = (store: UploadStore, kind: string): Effect.Effect<KeptMapping | undefined, PersistenceFailed> => {
  const { sql, mappings } = store.dialect
  const found = sql`select mapping, kept_at from ${mappings} where kind = ${kind}`
  return Effect.map(store.rows("findMapping", MappingRow, found), ([row]) =>
    row === undefined ? undefined : { mapping: row.mapping, keptAt: row.kept_at },
  )
}

/** Keeps a mapping in place of the earlier one. */
export const writeMapping = (
  store: UploadStore,
  kind: string,
  { mapping, keptAt }: KeptMapping,
): Effect.Effect<void, PersistenceFailed> => {
  const { sql, mappings } = store.dialect
  return store.run(
    "writeMapping",
    sql`
      insert into ${mappings} (kind, mapping, kept_at) values (${kind}, ${JSON.stringify(mapping)}, ${keptAt})
      on conflict (kind) do update set mapping = excluded.mapping, kept_at = excluded.kept_at`,
  )
}

/** Returns whether there was one. */
export const deleteMapping = (store: UploadStore, kind: string): Effect.Effect<boolean, PersistenceFailed> => {
  const { sql, mappings } = store.dialect
  const deleted = sql`delete from ${mappings} where kind = ${kind} returning mapping, kept_at`
  return Effect.map(store.rows("deleteMapping", MappingRow, deleted), (rows) => rows.length > 0)
}
