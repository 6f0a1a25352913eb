/**
 * Very many transitions on few rows: whether the tables stay small and a transition costs the same, with the settings of our tables and
 * with PostgreSQL's defaults. In the middle another session holds a transaction open, as a backup or a report does.
 */
import type { Findings, Part } from "../../measure/Group.ts"
import { type Player, withPlayers } from "../../measure/Player.ts"
import { type Client, type Postgres, withPostgres } from "../../measure/Postgres.ts"
import { startProgress } from "../../measure/Progress.ts"
import type { Table } from "../../measure/Table.ts"
import type { Populated } from "./contestants/populated.ts"
import { grouped, serverSettings, startPopulated } from "./filling.ts"
import { costOf } from "./growth.ts"

const ours = "settings of our tables"
const defaults = "PostgreSQL's defaults"

/** The transitions are made in so many parts; the transaction is open during the fifth. */
const parts = 10
const partWithTransaction = 4

const instances = 1000

interface Measured {
  readonly transitions: number
  readonly cpuMicros: number
  readonly perSecond: number
  readonly p99Millis: number
  readonly tables: ReadonlyMap<string, Fill>
}

interface Fill {
  readonly heapBytes: number
  readonly indexBytes: number
  readonly updates: number
  readonly hotUpdates: number
  readonly vacuums: number
  readonly deadRows: number
}

/** Without the part in which another transaction is open: no update can then be a HOT one for long. */
const hotShare = (all: ReadonlyArray<Measured>, table: string): number => {
  const at = (part: number, key: "updates" | "hotUpdates") => all.at(part)?.tables.get(table)?.[key] ?? 0
  const without = (key: "updates" | "hotUpdates") => at(-1, key) - (at(partWithTransaction, key) - at(partWithTransaction - 1, key))
  return without("hotUpdates") / without("updates")
}

export const bloat: Part = ({ quick }) =>
  quick ? makeTransitions(200_000, 500, ["autovacuum_naptime=1s"]) : makeTransitions(10_000_000, 3000)

/** A short run lets autovacuum check more often, so that it runs as often as in a long one. */
export const makeTransitions = (transitions: number, warmUpMillis: number, settings: ReadonlyArray<string> = []): Promise<Findings> =>
  withPostgres(
    async (server) => {
      const contestants = [
        { name: ours, ...(await prepare(server, "ours", async () => undefined)) },
        { name: defaults, ...(await prepare(server, "defaults", resetSettings)) },
      ]
      const results = await withPlayers(
        contestants.map(({ name, url }) => startPopulated(name, url)),
        async (players) => {
          const results = new Map(contestants.map(({ name }) => [name, [] as Array<Measured>]))
          for (const player of players) {
            await player.tell("begin", instances / 2, false)
            await player.tell("begin", instances / 2, true)
            await player.tell("send", warmUpMillis)
          }
          const progress = startProgress(`${grouped(transitions)} transitions on ${grouped(instances)} rows, twice`, parts * 2)
          for (let part = 0; part < parts; part++) {
            for (const [index, { name, client, reader }] of contestants.entries()) {
              if (part === partWithTransaction)
                await reader.query("begin isolation level repeatable read; select count(*) from detent.instances")
              const measured = await measurePart(server, players[index] as Player<Populated>, client, transitions / parts)
              if (part === partWithTransaction) await reader.query("commit")
              results.get(name)?.push({ ...measured, transitions: ((part + 1) * transitions) / parts })
              progress.advance(1)
            }
          }
          progress.end()
          for (const player of players) await player.tell("verifySent")
          return results
        },
      )
      const of = (name: string, part: number) => results.get(name)?.at(part) as Measured
      const [first, last, worst] = [of(ours, 0), of(ours, -1), of(ours, partWithTransaction)]
      const fill = (name: string, table: string) => of(name, -1).tables.get(table) as Fill
      const bytes = (name: string) =>
        ["instances", "timers", "listing", "moves"].reduce(
          (sum, table) => sum + fill(name, table).heapBytes + fill(name, table).indexBytes,
          0,
        )
      return {
        tables: [costTable(results, transitions), fillTable(results, transitions)],
        figures: {
          "bloat.transitions": transitions,
          "bloat.cpuLastVsFirst": last.cpuMicros / first.cpuMicros,
          "bloat.cpuWithTransactionVsFirst": worst.cpuMicros / first.cpuMicros,
          "bloat.hotShare": hotShare(results.get(ours) ?? [], "instances"),
          "bloat.bytesPerInstance": bytes(ours) / instances,
          "bloat.bytesVsDefaults": bytes(ours) / bytes(defaults),
          "bloat.cpuVsDefaults": last.cpuMicros / of(defaults, -1).cpuMicros,
        },
      }
    },
    [...serverSettings, ...settings],
  )

const prepare = async (server: Postgres, name: string, change: (client: Client) => Promise<void>) => {
  const url = await server.createDatabase(name)
  await withPlayers([startPopulated(name, url)], (players) => Promise.all(players.map((player) => player.tell("makeTables"))))
  const client = await server.connect(name)
  await change(client)
  return { url, client, reader: await server.connect(name) }
}

/** Gives the tables the settings that PostgreSQL gives to any table. */
const resetSettings = async (client: Client): Promise<void> => {
  const { rows } = await client.query(
    `select c.relname as name, array_to_string(array(select split_part(o, '=', 1) from unnest(c.reloptions) o), ', ') as options
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'detent' and c.relkind = 'r' and c.reloptions is not null`,
  )
  for (const row of rows) await client.query(`alter table detent.${String(row["name"])} reset (${String(row["options"])})`)
}

const measurePart = async (
  server: Postgres,
  player: Player<Populated>,
  client: Client,
  count: number,
): Promise<Omit<Measured, "transitions">> => {
  let p99Millis = Number.NaN
  const cost = await costOf(server, async () => {
    const sent = await player.tell("sendCount", count)
    p99Millis = sent.p99Millis
    return sent
  })
  return {
    perSecond: cost.perSecond,
    cpuMicros: cost.nodeMicros + cost.postgresMicros,
    p99Millis,
    tables: await fillOf(client),
  }
}

const fillOf = async (client: Client): Promise<ReadonlyMap<string, Fill>> => {
  const { rows } = await client.query(
    `select relname as table, pg_table_size(relid)::float8 as heap, pg_indexes_size(relid)::float8 as indexes,
       n_tup_upd::float8 as updates, n_tup_hot_upd::float8 as hot, autovacuum_count::float8 as vacuums, n_dead_tup::float8 as dead
     from pg_stat_user_tables where schemaname = 'detent'`,
  )
  return new Map(
    rows.map((row) => [
      String(row["table"]),
      {
        heapBytes: Number(row["heap"]),
        indexBytes: Number(row["indexes"]),
        updates: Number(row["updates"]),
        hotUpdates: Number(row["hot"]),
        vacuums: Number(row["vacuums"]),
        deadRows: Number(row["dead"]),
      },
    ]),
  )
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(2)

const costTable = (results: ReadonlyMap<string, ReadonlyArray<Measured>>, transitions: number): Table => {
  const count = transitions / parts
  return {
    title: `${grouped(transitions)} transitions on ${grouped(instances)} instances, half of them with a timer that each transition sets anew`,
    columns: ["", ...results.get(ours)!.map((one) => grouped(one.transitions))],
    rows: [...results].flatMap(([name, all]) => [
      [`${name}: CPU µs of a transition`, ...all.map((one) => one.cpuMicros.toFixed(1))],
      [`${name}: per second`, ...all.map((one) => grouped(one.perSecond))],
      [`${name}: MB of instances and timers`, ...all.map((one) => megabytes(sizeOf(one, "instances") + sizeOf(one, "timers")))],
    ]),
    notes: [
      `The two databases take turns of ${grouped(count)} transitions. During the fifth turn of each, another session holds a transaction open that`,
      "has read the table: PostgreSQL then keeps every row version. CPU of Node and PostgreSQL together, autovacuum included. Every event",
      "sent was found afterwards.",
    ],
  }
}

const sizeOf = (measured: Measured, table: string): number => {
  const fill = measured.tables.get(table)
  return fill === undefined ? 0 : fill.heapBytes + fill.indexBytes
}

const fillTable = (results: ReadonlyMap<string, ReadonlyArray<Measured>>, transitions: number): Table => ({
  title: `The tables after ${grouped(transitions)} transitions on ${grouped(instances)} instances`,
  columns: ["", "MB", "indexes, MB", "updates", "of them HOT", "dead rows", "vacuumed"],
  rows: [...results].flatMap(([name, all]) =>
    [...(all.at(-1)?.tables ?? [])]
      .filter(([, { updates, heapBytes }]) => updates > 0 || heapBytes > 100_000)
      .map(([table, { heapBytes, indexBytes, updates, deadRows, vacuums }]) => [
        `${table}, ${name}`,
        megabytes(heapBytes),
        megabytes(indexBytes),
        grouped(updates),
        updates === 0 ? "" : `${(100 * hotShare(all, table)).toFixed(1)} %`,
        grouped(deadRows),
        String(vacuums),
      ]),
  ),
  notes: [
    "A HOT update writes the new version of a row into the same page, and to no index; their share is without the turn in which the other",
    "session holds its transaction.",
  ],
})
