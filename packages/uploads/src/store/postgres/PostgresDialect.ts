/** Uploads on PostgreSQL, in a schema. */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import { searchText } from "../../item/PlainText.ts"
import {
  addItemValues,
  type Dialect,
  entryColumns,
  type ItemOfBatch,
  itemColumns,
  type KindItemValues,
  replacedColumns,
  type Value,
} from "../Dialect.ts"
import { type SearchTerm, wordsOf } from "../SearchText.ts"

export const postgresDialect = (sql: SqlClient, schema: string): Dialect => {
  const insert = insertItems(schema)
  return {
    sql,
    batches: sql.literal(`${schema}.upload_batches`),
    entries: sql.literal(`${schema}.upload_entries`),
    items: sql.literal(`${schema}.items`),
    kindItems: sql.literal(`${schema}.upload_items`),
    limits: sql.literal(`${schema}.upload_limits`),
    rows: (json) => sql`jsonb_array_elements(${json}::jsonb) as one (value)`,
    textOf: (column) => sql.literal(`${column} #>> '{}'`),
    writeEntries: (entries) =>
      entries.length === 0 ? Effect.void : Effect.asVoid(sql.unsafe(insertEntries(schema), [JSON.stringify(entries)])),
    writeItems: (items) => writeItems(sql, insert, items),
    matches: (terms) => sql`i.search @@ ${queryOf(terms)}::text::tsquery`,
    isBy: (author) => sql`i.author = ${author}`,
    flag: (value) => sql`${value}`,
    writeKindItems: (items) => writeKindItems(sql, schema, items),
    kindMatches: (terms, tokens) => {
      const all = [...(terms.length === 0 ? [] : [queryOf(terms)]), ...tokens.map((token) => `'=${token}'`)].join(" & ")
      return sql`i.search @@ ${all}::text::tsquery`
    },
  }
}

const writeKindItems = (sql: SqlClient, schema: string, items: ReadonlyArray<KindItemValues>): Effect.Effect<void, SqlError> => {
  if (items.length === 0) return Effect.void
  // In the order of their ids, so that two batches that write the same items do not wait for each other.
  const ordered = items.toSorted((left, right) => (left.id < right.id ? -1 : 1))
  const rows = ordered.map(({ kind, id, time, content, batch, index, text, tokens }) => {
    // No word begins with =, so no search for a word finds a token.
    const search = [vectorOf(text), ...tokens.map((token) => `'=${token}'`)].join(" ")
    return [kind, id, time, content, batch, index, search]
  })
  return Effect.asVoid(
    sql.unsafe(
      `insert into ${schema}.upload_items (kind, id, time, content, batch, item_index, search)
      select value ->> 0, value ->> 1, (value ->> 2)::double precision, value ->> 3, (value ->> 4)::integer, (value ->> 5)::bigint,
        (value ->> 6)::tsvector
      from jsonb_array_elements($1::jsonb) as one (value)
      on conflict (kind, id) do update set time = excluded.time, content = excluded.content, batch = excluded.batch,
        item_index = excluded.item_index, search = excluded.search`,
      [JSON.stringify(rows)],
    ),
  )
}

const writeItems = (sql: SqlClient, insert: string, items: ReadonlyArray<ItemOfBatch>): Effect.Effect<void, SqlError> => {
  if (items.length === 0) return Effect.void
  // In the order of their ids, so that two batches that write the same items do not wait for each other.
  const ordered = items.toSorted((left, right) => left.item.hnId - right.item.hnId)
  const rows = ordered.map((one) => {
    const values: Array<Value> = []
    addItemValues(values, one)
    values.push(vectorOf(searchText(one.item)))
    return values
  })
  return Effect.asVoid(sql.unsafe(insert, [JSON.stringify(rows)]))
}

/** Limits of one text vector in PostgreSQL: its number of words (positions end there), the length of all words, and of one word. */
const limits = { words: 16_000, letters: 200_000, word: 500 }

/**
 * Builds the vector from the words of `wordsOf`: PostgreSQL's own parser splits addresses and numbers differently, and a search would
 * find other items than on SQLite.
 */
const vectorOf = (text: string): string => {
  const lexemes: Array<string> = []
  let letters = 0
  for (const word of wordsOf(text).slice(0, limits.words)) {
    letters += word.length
    if (letters > limits.letters) break
    if (word.length <= limits.word) lexemes.push(`'${word}':${lexemes.length + 1}`)
  }
  return lexemes.join(" ")
}

const texts = new Set<string>(["type", "author", "text", "url", "title", "kids", "parts"])
const flags = new Set<string>(["deleted", "dead"])

const readColumn = (column: string, position: number): string => {
  if (texts.has(column)) return `value ->> ${position}`
  return flags.has(column) ? `(value ->> ${position})::integer::boolean` : `(value ->> ${position})::bigint`
}

const readEntryColumn = (column: string, position: number): string =>
  entryTexts.has(column) ? `value ->> ${position}` : `(value ->> ${position})::bigint`

const entryTexts = new Set<string>(["state", "item_id", "reason", "message", "content"])

const insertEntries = (schema: string): string => `
  insert into ${schema}.upload_entries (attempts, ${entryColumns.join(", ")})
  select 1, ${entryColumns.map(readEntryColumn).join(", ")}
  from jsonb_array_elements($1::jsonb) as one (value)`

const insertItems = (schema: string): string => `
  insert into ${schema}.items (${itemColumns.join(", ")}, search)
  select ${itemColumns.map(readColumn).join(", ")}, (value ->> ${itemColumns.length})::tsvector
  from jsonb_array_elements($1::jsonb) as one (value)
  on conflict (hn_id) do update set ${replacedColumns.join(", ")}, search = excluded.search`

/** Words have only letters and digits, so quoting them is enough. */
const queryOf = (terms: ReadonlyArray<SearchTerm>): string =>
  terms
    .map(({ words, prefix, excluded }) => {
      const quoted = words.map((word, index) => `'${word}'${prefix && index === words.length - 1 ? ":*" : ""}`)
      return `${excluded ? "!" : ""}(${quoted.join(" <-> ")})`
    })
    .join(" & ")
