/**
 * Rebuilds a table with its rows, because SQLite cannot drop a constraint. Views and triggers elsewhere that name it stay as they are, and
 * so do the user's own indexes and triggers on it.
 */
import * as Effect from "effect/Effect"
import { MigrationError } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"

export interface Rebuilt {
  readonly name: string
  /** Creates the table under its name with `_new` at the end. */
  readonly table: string
  /** The columns whose content is kept. */
  readonly columns: string
}

/** The indexes and triggers of the store on the table are gone afterwards: the migration creates those it wants. */
export const rebuildTable = ({ name, table, columns }: Rebuilt) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* refuseReferences(name)
    const own = yield* sql<{ readonly sql: string }>`
      select sql from sqlite_master
      where tbl_name = ${name} and type in ('index', 'trigger') and sql is not null and name not like 'detent\\_%' escape '\\'`
    yield* sql.unsafe(`pragma legacy_alter_table = on`)
    yield* sql.unsafe(table)
    yield* sql.unsafe(`insert into ${name}_new (${columns}) select ${columns} from ${name}`)
    yield* sql.unsafe(`drop table ${name}`)
    yield* sql.unsafe(`alter table ${name}_new rename to ${name}`)
    yield* sql.unsafe(`pragma legacy_alter_table = off`)
    for (const statement of own) yield* sql.unsafe(statement.sql)
  })

/** The user's own rows that refer to the old table would be lost with it. */
const refuseReferences = (name: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const referring = yield* sql<{ readonly name: string }>`
      select distinct m.name from sqlite_master m join pragma_foreign_key_list(m.name) f
      where m.type = 'table' and f."table" = ${name}`
    if (referring.length === 0) return
    const names = referring.map((table) => table.name).join(", ")
    return yield* new MigrationError({
      kind: "Failed",
      message: `${name} has to be rebuilt, and ${names} refers to it by a foreign key; recreate that table without the foreign key, then open the file again`,
    })
  })
