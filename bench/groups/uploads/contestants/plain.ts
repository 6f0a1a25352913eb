/** Writes the items of a file with nothing but SQL: node plain.ts FILE DATABASE COUNT. Prints its measurements. */
import { createReadStream } from "node:fs"
import { createInterface } from "node:readline"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { Uploads } from "@detent/uploads"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { measured } from "./measured.ts"

const [, , file = "", filename = "", count = "0"] = process.argv

// The uploads package itself creates its tables.
await Effect.runPromise(
  Effect.scoped(Layer.build(Uploads.layer().pipe(Layer.provide(Engine.layer()), Layer.provide(SqliteStore.layer({ filename }))))),
)

const rowsPerStatement = 250
const statementsPerTransaction = 8

const columns =
  "hn_id, type, author, time, text, url, title, score, kids, parent, descendants, deleted, dead, parts, poll, batch, item_index".split(", ")

type Item = Readonly<Record<string, never>>

const valuesOf = (item: Item, index: number): ReadonlyArray<SQLInputValue> => [
  item["id"] ?? null,
  item["type"] ?? null,
  item["by"] ?? null,
  item["time"] ?? 0,
  item["text"] ?? null,
  item["url"] ?? null,
  item["title"] ?? null,
  item["score"] ?? null,
  item["kids"] === undefined ? null : JSON.stringify(item["kids"]),
  item["parent"] ?? null,
  item["descendants"] ?? null,
  item["deleted"] === undefined ? null : Number(item["deleted"]),
  item["dead"] === undefined ? null : Number(item["dead"]),
  item["parts"] === undefined ? null : JSON.stringify(item["parts"]),
  item["poll"] ?? null,
  1,
  index,
]

const database = new DatabaseSync(filename)
database.exec("pragma journal_mode = wal; pragma synchronous = full")

const placeholders = (row: string, rows: number) => Array.from({ length: rows }, () => row).join(", ")
const insertItems = (rows: number) =>
  database.prepare(
    `insert into detent_items (${columns.join(", ")}) values ${placeholders(`(${columns.map(() => "?").join(", ")})`, rows)}`,
  )
const insertWords = (rows: number) =>
  database.prepare(`insert into detent_items_search (rowid, words, author) values ${placeholders("(?, ?, ?)", rows)}`)
const prepared = { items: insertItems(rowsPerStatement), words: insertWords(rowsPerStatement) }

const write = (items: ReadonlyArray<Item>, first: number) => {
  const full = items.length === rowsPerStatement
  const values = items.flatMap((item, index) => valuesOf(item, first + index))
  const words = items.flatMap(
    (item): ReadonlyArray<SQLInputValue> => [item["id"] ?? null, `${item["title"] ?? ""} ${item["text"] ?? ""}`, item["by"] ?? ""],
  )
  ;(full ? prepared.items : insertItems(items.length)).run(...values)
  ;(full ? prepared.words : insertWords(items.length)).run(...words)
}

await measured(Number(count), async () => {
  let written = 0
  let statements = 0
  let items: Array<Item> = []
  database.exec("begin")
  const flush = () => {
    if (items.length === 0) return
    write(items, written)
    written += items.length
    items = []
    if (++statements % statementsPerTransaction === 0) database.exec("commit; begin")
  }
  // Each item is on a line of its own, which makes the plain loop as simple as possible.
  for await (const line of createInterface({ input: createReadStream(file) })) {
    if (!line.startsWith("{")) continue
    items.push(JSON.parse(line.endsWith(",") ? line.slice(0, -1) : line))
    if (items.length === rowsPerStatement) flush()
  }
  flush()
  database.exec("commit")
  if (written !== Number(count)) throw new Error(`${written} of ${count} items were written`)
})
database.close()
