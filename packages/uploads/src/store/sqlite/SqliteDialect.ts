/** Uploads on SQLite. */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { ColumnType } from "../../kind/ItemColumns.ts"
import { type Dialect, type EntryValues, entryColumns, type ItemOfBatch, type OnConflict, type Value } from "../Dialect.ts"
import { type SearchTerm, wordsOf } from "../SearchText.ts"
import { viewQuery } from "../ViewQuery.ts"

export const sqliteDialect = (sql: SqlClient): Dialect => ({
  sql,
  batches: sql.literal("detent_upload_batches"),
  entries: sql.literal("detent_upload_entries"),
  items: sql.literal("detent_upload_items"),
  // Without statistics, SQLite reads all failed entries in their order: 145 ms for a rare reason among 1,000,000, instead of 0.5 ms.
  byReason: sql.literal("indexed by detent_upload_entries_reason"),
  limits: sql.literal("detent_upload_limits"),
  mappings: sql.literal("detent_upload_mappings"),
  rows: (json) => sql`json_each(${json})`,
  textOf: (column) => sql.literal(column),
  flag: (value) => sql`${value ? 1 : 0}`,
  writeEntries: (entries) => writeEntries(sql, entries),
  writeItems: (kind, items, existing) => writeItems(sql, kind, items, existing),
  view: (view, kind, columns) => {
    const named = `VIEW "detent_${view}"`
    const query = viewQuery(columns, ownColumns(kind), fieldOf)
    // SQLite keeps the statement from the name on.
    return { statements: [`drop view if exists "detent_${view}"`, `create ${named} as ${query}`], mark: `CREATE ${named} as ${query}` }
  },
  viewName: (view) => `detent_${view}`,
  viewMark: (view) => sql`select sql as current from sqlite_master where type = 'view' and name = ${`detent_${view}`}`,
  // A write waits for the transactions of other processes.
  lockViews: sql`update detent_upload_batches set stored = stored where batch = -1`,
  matches: (terms, tokens) => {
    const { positive, match } = matchOf(terms)
    const has = (text: string) => sql`(select rowid from detent_upload_items_search where detent_upload_items_search match ${text})`
    const wanted = [...(positive ? [`(${match})`] : []), ...tokens.map((token) => `fields : ${token}`)]
    return sql.and([
      ...(wanted.length === 0 ? [] : [sql`i.item in ${has(wanted.join(" AND "))}`]),
      ...(positive || terms.length === 0 ? [] : [sql`i.item not in ${has(match)}`]),
    ])
  },
})

const ownColumns = (kind: string) => ({
  columns: "i.id as detent_id, b.batch_id as detent_upload, i.item_index as detent_item, i.content as detent_json",
  from: `from detent_upload_items i join detent_upload_batches b on b.batch = i.batch where i.kind = '${kind}'`,
})

/** Names of types of JSON, and the type of the column. Times are ISO 8601, which sorts as text. */
const columnTypes: Readonly<Record<Exclude<ColumnType, "json">, { readonly json: string; readonly column: string }>> = {
  text: { json: "'text'", column: "text" },
  time: { json: "'text'", column: "text" },
  integer: { json: "'integer'", column: "integer" },
  number: { json: "'integer', 'real'", column: "real" },
  boolean: { json: "'true', 'false'", column: "integer" },
}

const fieldOf = (path: ReadonlyArray<string>, type: ColumnType): string => {
  const place = `'$${path.map((key) => `."${key}"`).join("")}'`
  const keys = path.map((key) => `'${key}'`)
  if (type === "json") return `i.content -> ${keys.join(" -> ")}`
  const { json, column } = columnTypes[type]
  return `case when json_type(i.content, ${place}) in (${json}) then cast(json_extract(i.content, ${place}) as ${column}) end`
}

/** Nearly all entries are stored, so these have their own statement, in which shared values are one parameter. */
const writeEntries = (sql: SqlClient, entries: ReadonlyArray<EntryValues>): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    const stored = entries.filter(([, , state, , , , reason]) => state === "stored" && reason === null)
    for (const some of inStatements(stored)) {
      const values = valuesIn(some, (all, [, index, , itemId, line, offset]) => all.push(index, itemId, line, offset))
      yield* sql.unsafe(insertStored.get(some.length) ?? "", [...values, some[0]?.[0] ?? null])
    }
    if (stored.length === entries.length) return
    const others = entries.filter(([, , state, , , , reason]) => state !== "stored" || reason !== null)
    for (const some of inStatements(others))
      yield* sql.unsafe(
        insertEntries.get(some.length) ?? "",
        valuesIn(some, (values, entry) => values.push(...entry)),
      )
  })

/**
 * How many rows one statement inserts, as values: 2.6 µs of CPU for an item of 450 bytes, against 9.8 µs with all rows as one JSON
 * parameter. There are a few fixed sizes, so that each statement is prepared once.
 */
const statementSizes = [250, 25, 1] as const

const writeItems = (
  sql: SqlClient,
  kind: string,
  items: ReadonlyArray<ItemOfBatch>,
  existing: OnConflict,
): Effect.Effect<ReadonlySet<string>, SqlError> =>
  Effect.gen(function* () {
    const keys = new Map<string, number>()
    if (items.length === 0) return new Set<string>()
    const [last] = yield* sql<{ readonly item: number | null }>`select max(item) as item from detent_upload_items`
    for (const some of inStatements(items)) {
      const values = valuesIn(some, (all, { batch, index, item: { id, time, content } }) => all.push(id, time, content, batch, index))
      const written = yield* sql.unsafe<WrittenItem>(insertItems[existing].get(some.length) ?? "", [...values, kind])
      for (const { item, id } of written) keys.set(id, item)
    }
    // Replaces only where an item existed: replacing takes 3 µs more for each item.
    const words = items.flatMap(({ item: { id, text, tokens } }): ReadonlyArray<WordRow> => {
      const key = keys.get(id)
      return key === undefined ? [] : [[key, indexedWords(text), tokens.join(" ")]]
    })
    const isNew = ([item]: WordRow) => item > (last?.item ?? 0)
    yield* writeWords(sql, insertWords, words.filter(isNew))
    yield* writeWords(
      sql,
      replaceWords,
      words.filter((row) => !isNew(row)),
    )
    return new Set(keys.keys())
  })

interface WrittenItem {
  readonly item: number
  readonly id: string
}

type WordRow = readonly [item: number, words: string, fields: string]

const writeWords = (sql: SqlClient, statements: ReadonlyMap<number, string>, rows: ReadonlyArray<WordRow>): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    for (const [size, some] of inPaddedStatements(rows)) {
      const values = valuesIn(some, (all, row) => all.push(...row))
      while (values.length < size * wordColumns) values.push(null)
      yield* sql.unsafe(statements.get(size) ?? "", values)
    }
  })

/** The parameters of a statement for many rows, in one array: thousands of arrays for single rows would only be garbage. */
const valuesIn = <A>(rows: ReadonlyArray<A>, add: (values: Array<Value>, row: A) => void): Array<Value> => {
  const values: Array<Value> = []
  for (const row of rows) add(values, row)
  return values
}

const inStatements = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> => {
  const parts: Array<ReadonlyArray<A>> = []
  let from = 0
  for (const size of statementSizes) {
    for (; from + size <= all.length; from += size) parts.push(all.slice(from, from + size))
  }
  return parts
}

/** A page of a file. */
const mostWords = 2000

/**
 * How many rows of words one statement inserts. Before every statement of several rows, FTS5 writes the words of earlier statements to
 * its index, so that the statement can be undone. Statements of 250 rows, in turns with those of items, made eight parts of the index
 * for each page instead of one; to write and merge them took 1.2 µs of CPU more for each item.
 */
const wordSizes = [25, 250, mostWords]

/** Parts with the size of the smallest statement that holds each. The statement ignores rows of null. */
const inPaddedStatements = <A>(all: ReadonlyArray<A>): ReadonlyArray<readonly [size: number, some: ReadonlyArray<A>]> => {
  const parts: Array<readonly [number, ReadonlyArray<A>]> = []
  for (let from = 0; from < all.length; from += mostWords) {
    const some = all.slice(from, from + mostWords)
    parts.push([wordSizes.find((size) => size >= some.length) ?? mostWords, some])
  }
  return parts
}

/** One statement for each size. */
const bySize = (
  statement: (rows: (row: string) => string) => string,
  sizes: ReadonlyArray<number> = statementSizes,
): ReadonlyMap<number, string> =>
  new Map(sizes.map((size) => [size, statement((row) => Array.from({ length: size }, () => row).join(", "))]))

const insertEntries = bySize(
  (rows) => `
    insert into detent_upload_entries (attempts, ${entryColumns.join(", ")}) values ${rows(`(1, ${entryColumns.map(() => "?").join(", ")})`)}`,
)

/** The last parameter is the batch. */
const insertStored = bySize(
  (rows) => `
    insert into detent_upload_entries (batch, item_index, state, item_id, line, byte_offset, attempts)
    select b.batch, v.column1, 'stored', v.column2, v.column3, v.column4, 1
    from (values ${rows("(?, ?, ?, ?)")}) v cross join (select ? as batch) b`,
)

/** The last parameter is the kind. `where true` tells the parser that `on` begins the conflict clause. */
const insertItemsOn = (conflict: string) =>
  bySize(
    (rows) => `
      insert into detent_upload_items as i (kind, id, time, content, batch, item_index)
      select k.kind, v.column1, v.column2, v.column3, v.column4, v.column5
      from (values ${rows("(?, ?, ?, ?, ?)")}) v cross join (select ? as kind) k where true
      on conflict (kind, id) ${conflict}
      returning item, id`,
  )

const replacing = "do update set time = excluded.time, content = excluded.content, batch = excluded.batch, item_index = excluded.item_index"

const insertItems: Readonly<Record<OnConflict, ReadonlyMap<number, string>>> = {
  skip: insertItemsOn("do nothing"),
  update: insertItemsOn(`${replacing} where i.content <> excluded.content or i.time <> excluded.time`),
  replace: insertItemsOn(replacing),
}

const wordColumns = 3

const givenWords = (rows: (row: string) => string): string => `
  into detent_upload_items_search (rowid, words, fields)
  select column1, column2, column3 from (values ${rows("(?, ?, ?)")}) where column1 is not null`

const insertWords = bySize((rows) => `insert ${givenWords(rows)}`, wordSizes)

const replaceWords = bySize((rows) => `insert or replace ${givenWords(rows)}`, wordSizes)

/**
 * SQLite splits ASCII text like `wordsOf` does. Other text is split here, and only the parts between spaces that are not ASCII: 7 µs of
 * CPU for a text of 400 letters with one accent, against 14 µs for the whole text.
 */
export const indexedWords = (text: string): string => {
  if (isAscii(text)) return text
  const parts = text.split(" ")
  return parts.map((part) => (isAscii(part) ? part : wordsOf(part).join(" "))).join(" ")
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII begins with them.
const isAscii = (text: string): boolean => /^[\u0000-\u007f]*$/.test(text)

/** Quotes every word, so that no user input becomes an operator. */
const matchOf = (terms: ReadonlyArray<SearchTerm>): { readonly positive: boolean; readonly match: string } => {
  const text = ({ words, prefix }: SearchTerm) => `words : "${words.join(" ")}"${prefix ? " *" : ""}`
  const included = terms.filter((term) => !term.excluded).map(text)
  const excluded = terms.filter((term) => term.excluded).map(text)
  if (included.length === 0) return { positive: false, match: excluded.join(" OR ") }
  return { positive: true, match: [`(${included.join(" AND ")})`, ...excluded].join(" NOT ") }
}
