/**
 * Fills a database with instances. The engine writes one instance for each template; all others are copies of their rows, with numbers, ids
 * and times of their own, so every row is as the engine writes it. A sample of the copies is opened by an engine afterwards.
 */
import { statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { startPlayer, withPlayers } from "../../measure/Player.ts"
import type { Client, Postgres } from "../../measure/Postgres.ts"
import { startProgress } from "../../measure/Progress.ts"
import type { Populated } from "./contestants/populated.ts"
import { templateCustomer, templates } from "./parcel.ts"

/** Rows, indexes and the write-ahead log of an instance of ten events, measured. */
const bytesEach = 4000

/** Room for the write-ahead log and for other programs. */
const spareBytes = 10 * 2 ** 30

/** The largest power of ten, at most `wanted`, for which the temporary folder has room. Says so where it is smaller. */
export const fittingDisk = (wanted: number): number => {
  const { bavail, bsize } = statfsSync(tmpdir())
  const fits = (bavail * bsize - spareBytes) / (bytesEach * 1.2)
  let total = wanted
  while (total > fits && total > 10_000) total /= 10
  if (total < wanted) {
    const free = ((bavail * bsize) / 1e9).toFixed(0)
    console.error(
      `${grouped(wanted)} instances need ${((wanted * bytesEach * 1.2 + spareBytes) / 1e9).toFixed(0)} GB in ${tmpdir()}, which has ${free} GB: ${grouped(total)} are used. Set TMPDIR to a larger disk for all of them.`,
    )
  }
  return total
}

export const grouped = (number: number): string => Math.round(number).toLocaleString("en")

/** Shown in the notes of tables. */
export const serverSettings = ["shared_buffers=1GB", "max_wal_size=8GB", "checkpoint_timeout=15min"]

export interface FilledDatabase {
  readonly url: string
  readonly client: Client
  readonly total: number
}

/** How many instances one statement copies. Their events are inserted in the order of time: those of one instance are not side by side. */
const blockSize = 100_000

/** `prepare` changes the empty tables before they are filled. */
export const fillDatabase = async (
  server: Postgres,
  name: string,
  total: number,
  prepare: (client: Client) => Promise<unknown> = async () => undefined,
): Promise<FilledDatabase> => {
  const url = await server.createDatabase(name)
  await withPlayers([startPopulated(name, url)], ([player]) => player?.tell("makeTables") ?? Promise.resolve())
  const client = await server.connect(name)
  await prepare(client)
  await withPlayers([startPopulated(name, url)], ([player]) => player?.tell("makeTemplates") ?? Promise.resolve())
  await copyTemplates(client, total)
  const verified = await withPlayers([startPopulated(name, url)], ([player]) =>
    player === undefined ? Promise.resolve(0) : player.tell("verify", total, Math.min(1000, total)),
  )
  if (verified === 0) throw new Error("no sample was verified")
  return { url, client, total }
}

export const startPopulated = (name: string, database: string) =>
  startPlayer<Populated>(name, new URL("./contestants/populated.ts", import.meta.url).href, "populated", { database })

const copyTemplates = async (client: Client, total: number): Promise<void> => {
  const copies = await makeCopier(client)
  const progress = startProgress(`${grouped(total)} instances`, total)
  progress.advance(templates.length)
  const perBlock = Math.max(1, Math.floor(blockSize / templates.length))
  const rounds = total / templates.length
  for (let first = 1; first < rounds; first += perBlock) {
    const last = Math.min(rounds - 1, first + perBlock - 1)
    await client.query("begin")
    for (const copy of copies) await client.query(copy(first, last))
    await client.query("commit")
    progress.advance((last - first + 1) * templates.length)
  }
  await client.query(`select setval(pg_get_serial_sequence('detent.instances', 'instance'), (select max(instance) from detent.instances))`)
  await client.query(`truncate detent.counts`)
  await client.query(
    `insert into detent.counts (machine, tag, instances) select machine, tag, count(*) from detent.listing group by machine, tag`,
  )
  // As autovacuum would do within the next minutes; it would disturb what is measured first.
  await client.query("vacuum (analyze)")
  await client.query("checkpoint")
  progress.end()
}

/** The tables with the rows of an instance. Each copy has the columns of its table, whichever these are. */
const copied = ["instances", "listing", "fields", "events", "snapshots", "timers"] as const

/** The columns that have the state of an instance, or values of it. */
const isOfState = (column: string): boolean => column === "origin" || column === "body" || column === "fields" || column === "text"

const makeCopier = async (client: Client): Promise<ReadonlyArray<(first: number, last: number) => string>> => {
  const { rows } = await client.query(
    `select table_name, string_agg(column_name, ',' order by ordinal_position) as columns
     from information_schema.columns where table_schema = 'detent' group by table_name`,
  )
  const columnsOf = new Map(rows.map((row) => [String(row["table_name"]), String(row["columns"]).split(",")]))
  return copied.map((table) => (first, last) => {
    const columns = columnsOf.get(table) ?? []
    const number = `(t.instance + s.n * ${templates.length})`
    const values = columns.map((column) => {
      if (column === "instance") return number
      if (column === "id") return idInSql(number)
      if (isOfState(column)) return `replace(t.${column}, '${templateCustomer}', ${customerInSql(number)})`
      return isTime(column) ? `t.${column} + s.n` : `t.${column}`
    })
    const order = columns.includes("sequence") ? "t.sequence, s.n, t.instance" : "s.n, t.instance"
    return `insert into detent.${table} (${columns.join(", ")}) ${table === "instances" ? "overriding system value" : ""}
      select ${values.join(", ")} from detent.${table} t, generate_series(${first}, ${last}) as s (n)
      where t.instance <= ${templates.length} order by ${order}`
  })
}

const isTime = (column: string): boolean => column === "at" || column === "started_at" || column === "updated_at" || column === "due"

/** The customer of an instance, as `customerOf` makes it. */
const customerInSql = (number: string): string => `'customer-' || ${number} / 10`

/** The id of an instance, as `idOf` makes it: random to the index, as most ids are. */
const idInSql = (number: string): string => `substr(md5(${number}::text), 1, 12) || '-' || ${number}`
