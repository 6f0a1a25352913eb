/**
 * The tables of a database as a copy sees them: under one name on SQLite and PostgreSQL, with their columns and the key by which they
 * are read in pages. They come from the database's own catalog, so that a table of a later migration is copied too.
 *
 * The store's tables are `detent_events` on SQLite and `detent.events` on PostgreSQL, and `detent.events` here. Some packages leave
 * the prefix out on SQLite: see `alignNames`. Others have the same name on both.
 */

import { flagOf, optionalTextOf, type Row, textOf, wholeOf } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

export type DialectName = "sqlite" | "pg"

/** How a value is copied from one database to the other. A `derived` value is computed again from the other columns. */
export type Kind = "whole" | "number" | "flag" | "text" | "json" | "bytes" | "derived"

export interface Column {
  readonly name: string
  /** The database's own type, as a cast takes it. */
  readonly type: string
  readonly kind: Kind
  /** Whether an insert must provide it. */
  readonly isRequired: boolean
  /** Whether the database numbers it by itself. */
  readonly isIdentity: boolean
}

export interface Table {
  readonly name: string
  /** As a statement names it. */
  readonly place: string
  readonly columns: ReadonlyArray<Column>
  /** The key that orders the rows, with the types that its values are cast to. Empty if the table has none. */
  readonly key: ReadonlyArray<{ readonly column: string; readonly type: string }>
}

export interface Catalog {
  readonly sql: SqlClient
  readonly dialect: DialectName
  readonly tables: ReadonlyMap<string, Table>
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

export const readCatalog = (client: SqlClient): Effect.Effect<Catalog, SqlError> => {
  const sql = client.withoutTransforms()
  return sql.onDialectOrElse({
    pg: () => Effect.map(postgresTables(sql), (tables): Catalog => ({ sql, dialect: "pg", tables })),
    sqlite: () => Effect.map(sqliteTables(sql), (tables): Catalog => ({ sql, dialect: "sqlite", tables })),
    orElse: () => Effect.die(new Error("workspaces are stored in SQLite or PostgreSQL, and this client is for neither")),
  })
}

/**
 * Names a table `detent.runs` in both catalogs if one has it in the schema `detent` and the other as `runs`: on SQLite some tables have no
 * prefix.
 */
export const alignNames = (one: Catalog, other: Catalog): readonly [Catalog, Catalog] => [alignedTo(one, other), alignedTo(other, one)]

const alignedTo = (catalog: Catalog, other: Catalog): Catalog => {
  const aligned = [...catalog.tables].map(([name, table]): readonly [string, Table] => {
    const placed = `detent.${name}`
    return other.tables.has(placed) && !catalog.tables.has(placed) && !other.tables.has(name)
      ? [placed, { ...table, name: placed }]
      : [name, table]
  })
  return { ...catalog, tables: new Map(aligned) }
}

const prefix = "detent_"

/** Leaves out search indexes: their tables are virtual, or shadow tables of virtual ones. */
const sqliteTables = (sql: SqlClient) =>
  Effect.map(
    sql.unsafe<Row>(`
      select t.name as "table", t.wr as keyed, x.name, upper(x.type) as type, x."notnull" as required, x.dflt_value as fallback, x.pk
      from pragma_table_list t join pragma_table_xinfo(t.name) x
      where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite\\_%' escape '\\' and x.hidden = 0
      order by t.name, x.cid`),
    (rows) =>
      tablesOf(rows, (table, columns) => {
        const own = columns.filter((row) => wholeOf(row, "pk") > 0).toSorted((left, right) => wholeOf(left, "pk") - wholeOf(right, "pk"))
        const key = columns.some((row) => flagOf(row, "keyed"))
          ? own.map((row) => ({ column: quoted(textOf(row, "name")), type: textOf(row, "type") }))
          : [{ column: "rowid", type: "INTEGER" }]
        return {
          name: table.startsWith(prefix) ? `detent.${table.slice(prefix.length)}` : table,
          place: quoted(table),
          key,
          columns: columns.map((row) => ({
            name: textOf(row, "name"),
            type: textOf(row, "type"),
            kind: sqliteKind(textOf(row, "type")),
            isRequired: flagOf(row, "required") && optionalTextOf(row, "fallback") === undefined,
            isIdentity: false,
          })),
        }
      }),
  )

/** By SQLite's own rules of affinity. */
const sqliteKind = (type: string): Kind => {
  if (type.includes("INT")) return "whole"
  if (/CHAR|CLOB|TEXT|DATE|TIME/.test(type)) return "text"
  return type === "" || type.includes("BLOB") ? "bytes" : "number"
}

const postgresTables = (sql: SqlClient) =>
  Effect.map(
    sql.unsafe<Row>(`
      select n.nspname::text as schema, c.relname::text as "table", a.attname::text as name,
        format_type(a.atttypid, null)::text as type, a.attidentity <> '' as identity,
        (a.attnotnull and not a.atthasdef and a.attidentity = '') as required,
        coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0)::integer as pk
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      left join pg_index i on i.indrelid = c.oid and i.indisprimary
      where c.relkind = 'r' and n.nspname in ('detent', current_schema())
      order by n.nspname, c.relname, a.attnum`),
    (rows) =>
      tablesOf(rows, (table, columns) => {
        const schema = textOf(columns[0] ?? {}, "schema")
        const own = columns.filter((row) => wholeOf(row, "pk") > 0).toSorted((left, right) => wholeOf(left, "pk") - wholeOf(right, "pk"))
        return {
          name: schema === "detent" ? `detent.${table}` : table,
          place: `${quoted(schema)}.${quoted(table)}`,
          key: own.map((row) => ({ column: quoted(textOf(row, "name")), type: textOf(row, "type") })),
          columns: columns.map((row) => ({
            name: textOf(row, "name"),
            type: textOf(row, "type"),
            kind: postgresKind(textOf(row, "type")),
            isRequired: flagOf(row, "required"),
            isIdentity: flagOf(row, "identity"),
          })),
        }
      }),
  )

const postgresKinds: Readonly<Record<string, Kind>> = {
  smallint: "whole",
  integer: "whole",
  bigint: "whole",
  real: "number",
  "double precision": "number",
  numeric: "number",
  boolean: "flag",
  json: "json",
  jsonb: "json",
  bytea: "bytes",
  uuid: "bytes",
  tsvector: "derived",
}

/** Other types are copied as text. */
const postgresKind = (type: string): Kind => postgresKinds[type] ?? "text"

const tablesOf = (
  rows: ReadonlyArray<Row>,
  make: (table: string, columns: readonly [Row, ...Array<Row>]) => Table,
): ReadonlyMap<string, Table> => {
  const groups = new Map<string, [Row, ...Array<Row>]>()
  for (const row of rows) {
    const schema = optionalTextOf(row, "schema") ?? ""
    const place = `${schema}.${textOf(row, "table")}`
    const group = groups.get(place)
    if (group === undefined) groups.set(place, [row])
    else group.push(row)
  }
  return new Map(
    [...groups.values()].map((columns) => {
      const table = make(textOf(columns[0], "table"), columns)
      return [table.name, table]
    }),
  )
}
