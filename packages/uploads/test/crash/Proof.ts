/** What must hold when a batch is over, proved from the tables with plain SQL: nothing of the package is trusted. */
import { readFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import * as PgClient from "@detent/durable/PgClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Address } from "../support/Databases.ts"

type Row = Readonly<Record<string, unknown>>
type Query = (statement: string) => Promise<ReadonlyArray<Row>>

/** What should be there: for each item of the file, the id it is stored under, or nothing. */
export const expectedOf = (path: string): ReadonlyArray<number | undefined> => {
  const seen = new Set<number>()
  const lines = readFileSync(path, "utf8").trim().split("\n")
  return lines.map((line) => {
    const id = goodId(line)
    if (id === undefined || seen.has(id)) return undefined
    seen.add(id)
    return id
  })
}

/** The bad items of these files are not JSON, or lack their id or type. */
const goodId = (line: string): number | undefined => {
  try {
    const { id, type } = JSON.parse(line) as { readonly id?: number; readonly type?: string }
    return type === undefined ? undefined : id
  } catch {
    return undefined
  }
}

/** Everything that is wrong. */
export const problemsOf = (
  address: Address,
  batchId: string,
  expected: ReadonlyArray<number | undefined>,
): Promise<ReadonlyArray<string>> => asking(address, (query, prefix) => judge(query, prefix, batchId, expected))

/** How many batches have an instance. */
export const begunBatches = (address: Address): Promise<number> =>
  asking(address, async (query, prefix) => (await query(`select id from ${prefix}instances where machine = 'UploadBatch'`)).length)

const asking = <A>(address: Address, ask: (query: Query, prefix: string) => Promise<A>): Promise<A> =>
  address._tag === "Sqlite"
    ? withSqlite(address.filename, (query) => ask(query, "detent_"))
    : withPostgres(address.url, (query) => ask(query, "detent."))

const judge = async (
  query: Query,
  prefix: string,
  batchId: string,
  expected: ReadonlyArray<number | undefined>,
): Promise<ReadonlyArray<string>> => {
  const problems: Array<string> = []
  const check = (what: string, found: unknown, wanted: unknown) => {
    if (String(found) !== String(wanted)) problems.push(`${what}: ${String(found)} instead of ${String(wanted)}`)
  }
  const stored = expected.filter((id) => id !== undefined)
  const [batch = {}] = await query(`select * from ${prefix}upload_batches where batch_id = '${batchId}'`)
  check("the batch's place", batch["next_index"], expected.length)
  check("the batch's count of stored items", batch["stored"], stored.length)
  check("the batch's count of failed items", batch["failed"], expected.length - stored.length)

  const entries = await query(
    `select item_index, state, item_id from ${prefix}upload_entries where batch = ${batch["batch"]} order by item_index`,
  )
  check("entries", entries.length, expected.length)
  const instances = await query(
    `select id, tag, sequence from ${prefix}instances where machine = 'UploadItem' and id like '${batchId}/%' order by id`,
  )
  check("instances", instances.length, expected.length)
  for (const [index, id] of expected.entries()) {
    const state = id === undefined ? "failed" : "stored"
    check(`entry ${index}`, `${entries[index]?.["item_index"]} ${entries[index]?.["state"]}`, `${index} ${state}`)
    if (id !== undefined) check(`the id of entry ${index}`, entries[index]?.["item_id"], id)
    check(
      `instance ${index}`,
      `${instances[index]?.["id"]} ${instances[index]?.["tag"]}`,
      `${batchId}/${String(index).padStart(9, "0")} ${state}`,
    )
    if (problems.length > 20) return problems
  }

  const items = await query(`select id, item_index from ${prefix}upload_items order by item_index`)
  check("items", items.map((row) => `${row["id"]}:${row["item_index"]}`).join(), storedOf(expected).join())
  const words = await query(
    prefix === "detent_"
      ? "select count(*) as count from detent_upload_items_search"
      : "select count(*) as count from detent.upload_items where search is not null",
  )
  check("items that can be searched", words[0]?.["count"], stored.length)
  return problems
}

const storedOf = (expected: ReadonlyArray<number | undefined>): ReadonlyArray<string> =>
  expected.flatMap((id, index) => (id === undefined ? [] : [`${id}:${index}`]))

const withSqlite = async <A>(filename: string, use: (query: Query) => Promise<A>): Promise<A> => {
  const database = new DatabaseSync(filename)
  try {
    return await use(async (statement) => database.prepare(statement).all() as ReadonlyArray<Row>)
  } finally {
    database.close()
  }
}

const withPostgres = <A>(url: string, use: (query: Query) => Promise<A>): Promise<A> =>
  Effect.runPromise(
    Effect.flatMap(PgClient.PgClient, (sql) =>
      Effect.promise(() => use((statement) => Effect.runPromise(sql.unsafe<Row>(statement)))),
    ).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))),
  )
