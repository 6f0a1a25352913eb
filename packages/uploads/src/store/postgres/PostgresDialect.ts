/** Uploads on PostgreSQL, in a schema. */
import { hash } from "node:crypto"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import type { ColumnType } from "../../kind/ItemColumns.ts"
import { type Dialect, entryColumns, type ItemOfBatch, type OnConflict } from "../Dialect.ts"
import type { SearchTerm } from "../SearchText.ts"
import { viewQuery } from "../ViewQuery.ts"
import { queryOf, sequenceText, vectorOf } from "./TextVector.ts"

export const postgresDialect = (sql: SqlClient, schema: string): Dialect => ({
  sql,
  batches: sql.literal(`${schema}.upload_batches`),
  entries: sql.literal(`${schema}.upload_entries`),
  items: sql.literal(`${schema}.upload_items`),
  byReason: sql``,
  limits: sql.literal(`${schema}.upload_limits`),
  mappings: sql.literal(`${schema}.upload_mappings`),
  rows: (json) => sql`jsonb_array_elements(${json}::jsonb) as one (value)`,
  textOf: (column) => sql.literal(`${column} #>> '{}'`),
  flag: (value) => sql`${value}`,
  writeEntries: (entries) =>
    entries.length === 0 ? Effect.void : Effect.asVoid(sql.unsafe(insertEntries(schema), [JSON.stringify(entries)])),
  writeItems: (kind, items, existing) => writeItems(sql, schema, kind, items, existing),
  view: (view, kind, columns) => {
    const name = `${schema}."${view}"`
    const query = viewQuery(columns, ownColumns(schema, kind), fieldOf)
    const mark = `made from ${hash("sha256", query)}`
    const statements = [`drop view if exists ${name}`, `create view ${name} as ${query}`, `comment on view ${name} is '${mark}'`]
    return { statements, mark }
  },
  viewName: (view) => `${schema}.${view}`,
  viewMark: (view) => sql`select obj_description(to_regclass(${`${schema}."${view}"`}), 'pg_class') as current`,
  lockViews: sql`select pg_advisory_xact_lock(hashtext(${`${schema}.upload_views`}))`,
  matches: (terms, tokens) => matching(sql, terms, tokens),
})

/** The cast to JSON stands in a query of its own, which PostgreSQL runs once for each item instead of once for each column. */
const ownColumns = (schema: string, kind: string) => ({
  columns: "i.id as detent_id, b.batch_id as detent_upload, i.item_index as detent_item, j.item as detent_json",
  from: `from ${schema}.upload_items i join ${schema}.upload_batches b on b.batch = i.batch
    cross join lateral (select i.content::jsonb as item offset 0) as j where i.kind = '${kind}'`,
})

const columnTypes: Readonly<Record<Exclude<ColumnType, "json" | "time" | "integer">, { readonly json: string; readonly column: string }>> =
  {
    text: { json: "string", column: "text" },
    number: { json: "number", column: "double precision" },
    boolean: { json: "boolean", column: "boolean" },
  }

/** Exactly the times that PostgreSQL reads: one that it refused would fail every query of the view. */
const time = ((): string => {
  const leap = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29"
  const days = "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8])"
  return `^(?!0000)([0-9]{4}-(${days})|${leap})T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?Z$`
})()

const fieldOf = (path: ReadonlyArray<string>, type: ColumnType): string => {
  const keys = `'{${path.map((key) => `"${key}"`).join(",")}}'`
  const text = `(j.item #>> ${keys})`
  if (type === "json") return `j.item #> ${keys}`
  if (type === "integer") return `case when ${text} ~ '^-?[0-9]{1,16}$' then ${text}::bigint end`
  if (type === "time") return `case when ${text} ~ '${time}' then ${text}::timestamptz end`
  const { json, column } = columnTypes[type]
  return `case when jsonb_typeof(j.item #> ${keys}) = '${json}' then ${text}::${column} end`
}

const matching = (sql: SqlClient, terms: ReadonlyArray<SearchTerm>, tokens: ReadonlyArray<string>): Fragment => {
  const { query, sequences } = queryOf(terms, tokens)
  return sql.and([
    ...(query === "" ? [] : [sql`i.search @@ ${query}::text::tsquery`]),
    ...sequences.map(({ text, excluded }) => {
      const place = sql`strpos(${sql.literal(sequenceText)}, ${text})`
      return sql`(i.sequence is null or ${place} ${sql.literal(excluded ? "= 0" : "> 0")})`
    }),
  ])
}

const replacing = `do update set time = excluded.time, content = excluded.content, batch = excluded.batch,
  item_index = excluded.item_index, search = excluded.search, sequence = excluded.sequence`

const onConflict: Readonly<Record<OnConflict, string>> = {
  skip: "do nothing",
  update: `${replacing} where i.content <> excluded.content or i.time <> excluded.time`,
  replace: replacing,
}

const writeItems = (
  sql: SqlClient,
  schema: string,
  kind: string,
  items: ReadonlyArray<ItemOfBatch>,
  existing: OnConflict,
): Effect.Effect<ReadonlySet<string>, SqlError> => {
  if (items.length === 0) return Effect.succeed(new Set())
  const rows = items.map(({ batch, index, item: { id, time, content, text, tokens } }) => {
    const { search, sequence } = vectorOf(text, tokens)
    return [id, time, content, batch, index, search, sequence]
  })
  // Numbered in the order of the file, which is the order of equal times; written in the order of their ids, so that two batches that
  // write the same items do not wait for each other.
  return Effect.map(
    sql.unsafe<{ readonly id: string }>(
      `with numbered as materialized (
        select value, nextval(pg_get_serial_sequence('${schema}.upload_items', 'item')) as item
        from (select value from jsonb_array_elements($1::jsonb) with ordinality as one (value, place) order by place) as given
      )
      insert into ${schema}.upload_items as i (item, kind, id, time, content, batch, item_index, search, sequence) overriding system value
      select item, $2, value ->> 0, (value ->> 1)::double precision, value ->> 2, (value ->> 3)::integer, (value ->> 4)::bigint,
        (value ->> 5)::tsvector, (value ->> 6)::tsvector
      from numbered order by (value ->> 0) collate "C"
      on conflict (kind, id) ${onConflict[existing]}
      returning id`,
      [JSON.stringify(rows), kind],
    ),
    (written) => new Set(written.map(({ id }) => id)),
  )
}

const readEntryColumn = (column: string, position: number): string =>
  entryTexts.has(column) ? `value ->> ${position}` : `(value ->> ${position})::bigint`

const entryTexts = new Set<string>(["state", "item_id", "reason", "message", "content"])

const insertEntries = (schema: string): string => `
  insert into ${schema}.upload_entries (attempts, ${entryColumns.join(", ")})
  select 1, ${entryColumns.map(readEntryColumn).join(", ")}
  from jsonb_array_elements($1::jsonb) as one (value)`
