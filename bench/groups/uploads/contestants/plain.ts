/** Writes the items of a file with nothing but SQL: node plain.ts FILE DATABASE COUNT. Prints its measurements. */
import { hash } from "node:crypto"
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

type Item = Readonly<Record<string, never>>

const database = new DatabaseSync(filename)
database.exec("pragma journal_mode = wal; pragma synchronous = full")

const placeholders = (row: string, rows: number) => Array.from({ length: rows }, () => row).join(", ")
const insertItems = (rows: number) =>
  database.prepare(
    `insert into detent_upload_items (item, kind, id, time, content, batch, item_index)
     values ${placeholders("(?, 'Posts', ?, ?, ?, 1, ?)", rows)}`,
  )
const insertWords = (rows: number) =>
  database.prepare(`insert into detent_upload_items_search (rowid, words, fields) values ${placeholders("(?, ?, ?)", rows)}`)
const prepared = { items: insertItems(rowsPerStatement), words: insertWords(rowsPerStatement) }

const token = (field: string, value: unknown): string => `f${hash("md5", JSON.stringify([field, String(value)]), "hex")}`

const tokens = ({ type, by }: Item): string => `${token("type", type)} ${by === undefined ? "" : token("by", by)}`

const write = (items: ReadonlyArray<Item>, first: number) => {
  const full = items.length === rowsPerStatement
  const values = items.flatMap((item, index): ReadonlyArray<SQLInputValue> => {
    const place = first + index
    return [place + 1, String(item["id"]), item["time"] ?? 0, JSON.stringify(item), place]
  })
  const words = items.flatMap(
    (item, index): ReadonlyArray<SQLInputValue> => [first + index + 1, `${item["title"] ?? ""} ${item["text"] ?? ""}`, tokens(item)],
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
