/** Uploads on PostgreSQL, in a schema. */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import { searchText } from "../../item/PlainText.ts"
import { type Dialect, type ItemOfBatch, itemColumns, itemValues, replacedColumns } from "../Dialect.ts"
import { type SearchTerm, wordsOf } from "../SearchText.ts"

export const postgresDialect = (sql: SqlClient, schema: string): Dialect => {
  const insert = insertItems(schema)
  return {
    sql,
    batches: sql.literal(`${schema}.upload_batches`),
    entries: sql.literal(`${schema}.upload_entries`),
    items: sql.literal(`${schema}.items`),
    rows: (json) => sql`jsonb_array_elements(${json}::jsonb) as one (value)`,
    writeItems: (items) => writeItems(sql, insert, items),
    matches: (terms) => sql`i.search @@ ${queryOf(terms)}::text::tsquery`,
    isBy: (author) => sql`i.author = ${author}`,
    flag: (value) => sql`${value}`,
  }
}

const writeItems = (sql: SqlClient, insert: string, items: ReadonlyArray<ItemOfBatch>): Effect.Effect<void, SqlError> => {
  if (items.length === 0) return Effect.void
  // In the order of their ids, so that two batches that write the same items do not wait for each other.
  const ordered = items.toSorted((left, right) => left.item.hnId - right.item.hnId)
  const rows = ordered.map((one) => [...itemValues(one), vectorOf(searchText(one.item))])
  return Effect.asVoid(sql.unsafe(insert, [JSON.stringify(rows)]))
}

/** What PostgreSQL takes in one vector: so many words, as positions go no further, of so many letters in all and each. */
const limits = { words: 16_000, letters: 200_000, word: 500 }

/**
 * The vector is made here, of the words as `wordsOf` finds them: PostgreSQL's own parser makes words of another kind of
 * addresses and numbers, and a search would find other items than on SQLite.
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

const insertItems = (schema: string): string => `
  insert into ${schema}.items (${itemColumns.join(", ")}, search)
  select ${itemColumns.map(readColumn).join(", ")}, (value ->> ${itemColumns.length})::tsvector
  from jsonb_array_elements($1::jsonb) as one (value)
  on conflict (hn_id) do update set ${replacedColumns.join(", ")}, search = excluded.search`

/** Words are letters and digits only, so that quoting them is all there is to it. */
const queryOf = (terms: ReadonlyArray<SearchTerm>): string =>
  terms
    .map(({ words, prefix, excluded }) => {
      const quoted = words.map((word, index) => `'${word}'${prefix && index === words.length - 1 ? ":*" : ""}`)
      return `${excluded ? "!" : ""}(${quoted.join(" <-> ")})`
    })
    .join(" & ")
