/** Writes rows into the tables of uploads with nothing but SQL, many in one statement and some statements in one transaction. */
import { hash } from "node:crypto"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { Uploads } from "@detent/uploads"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Row } from "./posts.ts"

const rowsPerStatement = 250
const statementsPerTransaction = 8

export interface PlainInserts {
  readonly add: (row: Row) => void
  /** Writes the last rows. Returns how many rows were written. */
  readonly end: () => number
}

const placeholders = (row: string, rows: number) => Array.from({ length: rows }, () => row).join(", ")

const token = (field: string, value: unknown): string => `f${hash("md5", JSON.stringify([field, String(value)]), "hex")}`

export const plainInserts = async (filename: string): Promise<PlainInserts> => {
  // The uploads package itself creates its tables.
  await Effect.runPromise(
    Effect.scoped(Layer.build(Uploads.layer().pipe(Layer.provide(Engine.layer()), Layer.provide(SqliteStore.layer({ filename }))))),
  )
  const database = new DatabaseSync(filename)
  database.exec("pragma journal_mode = wal; pragma synchronous = full; begin")
  const insertItems = (rows: number) =>
    database.prepare(
      `insert into detent_upload_items (item, kind, id, time, content, batch, item_index)
       values ${placeholders("(?, 'Posts', ?, ?, ?, 1, ?)", rows)}`,
    )
  const insertWords = (rows: number) =>
    database.prepare(`insert into detent_upload_items_search (rowid, words, fields) values ${placeholders("(?, ?, ?)", rows)}`)
  const prepared = { items: insertItems(rowsPerStatement), words: insertWords(rowsPerStatement) }
  let rows: Array<Row> = []
  let written = 0
  let statements = 0
  const flush = () => {
    if (rows.length === 0) return
    const isFull = rows.length === rowsPerStatement
    const items: Array<SQLInputValue> = []
    const words: Array<SQLInputValue> = []
    for (const row of rows) {
      written++
      const { type, by } = row
      items.push(written, String(row.id), Number(row.time ?? 0), JSON.stringify(row), written - 1)
      words.push(written, `${row.title ?? ""} ${row.text ?? ""}`, `${token("type", type)} ${by === undefined ? "" : token("by", by)}`)
    }
    ;(isFull ? prepared.items : insertItems(rows.length)).run(...items)
    ;(isFull ? prepared.words : insertWords(rows.length)).run(...words)
    rows = []
    if (++statements % statementsPerTransaction === 0) database.exec("commit; begin")
  }
  return {
    add: (row) => {
      rows.push(row)
      if (rows.length === rowsPerStatement) flush()
    },
    end: () => {
      flush()
      database.exec("commit")
      database.close()
      return written
    },
  }
}
