/** The same work on databases of a growing number of instances, in turns: what each costs, and how large the tables are. */
import type { Findings, Part } from "../../measure/Group.ts"
import { type Player, startPlayer, withPlayers } from "../../measure/Player.ts"
import { type Client, type Postgres, withPostgres } from "../../measure/Postgres.ts"
import { startProgress } from "../../measure/Progress.ts"
import { median } from "../../measure/Statistics.ts"
import type { Table } from "../../measure/Table.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"
import type { Surviving } from "../durable/Surviving.ts"
import type { Lateness, Populated, Reads, Sent } from "./contestants/populated.ts"
import { type FilledDatabase, fillDatabase, fittingDisk, grouped, serverSettings, startPopulated } from "./filling.ts"
import { eventsEach } from "./parcel.ts"

/** The smallest table. Below, the rows of the instances in use are the whole table. */
const smallest = 10_000

/** So many instances are in use, spread over the table. */
const inUse = 1000

const lengthOf = (quick: boolean) =>
  quick
    ? { most: 100_000, turns: 5, warmUpMillis: 1000, turnMillis: 600, reads: 20, timers: 1000, recoveries: 1 }
    : { most: 10_000_000, turns: 25, warmUpMillis: 4000, turnMillis: 1500, reads: 100, timers: 1000, recoveries: 3 }

type Length = ReturnType<typeof lengthOf>

interface Cost {
  readonly perSecond: number
  readonly nodeMicros: number
  readonly postgresMicros: number
  readonly walBytes: number
}

interface Grown {
  readonly database: FilledDatabase
  readonly transition: Cost
  readonly start: Cost
  readonly reads: Reads
  readonly timers: Lateness
  readonly recovery: { readonly firstProgress: number; readonly all: number; readonly lost: number }
}

export const growth: Part = ({ quick }) => growTo(lengthOf(quick))

export const growTo = (length: Length): Promise<Findings> =>
  withPostgres(async (server) => {
    const most = fittingDisk(length.most)
    const databases: Array<FilledDatabase> = []
    for (let total = smallest; total <= most; total *= 10) databases.push(await fillDatabase(server, `instances_${total}`, total))
    const found = await measureInTurns(server, databases, length)
    const [first, last] = [found[0], found.at(-1)]
    if (first === undefined || last === undefined) throw new Error("no database was measured")
    const largest = await sizesOf(last.database.client)
    const bytes = largest.reduce((sum, one) => sum + one.heapBytes + one.indexBytes, 0)
    return {
      tables: [costTable(found, most < length.most), readTable(found), sizeTable(last.database.total, largest)],
      figures: {
        "growth.instances": last.database.total,
        "growth.transitionCpu": cpuOf(last.transition) / cpuOf(first.transition),
        "growth.transitionMicros": cpuOf(last.transition),
        "growth.startCpu": cpuOf(last.start) / cpuOf(first.start),
        "growth.openMillis": last.reads.open,
        "growth.listMillis": Math.max(last.reads.newest, last.reads["newest in a state"], last.reads["page 100 of a state"]),
        "growth.searchMillis": Math.max(last.reads["search by id"], last.reads["search by an indexed field"]),
        "growth.timersLastMillis": last.timers.last,
        "growth.recoveryFirstMillis": last.recovery.firstProgress,
        "growth.lost": found.reduce((sum, { recovery }) => sum + recovery.lost, 0),
        "growth.bytesPerInstance": bytes / last.database.total,
      },
    }
  }, serverSettings)

const cpuOf = ({ nodeMicros, postgresMicros }: Cost): number => nodeMicros + postgresMicros

const measureInTurns = (server: Postgres, databases: ReadonlyArray<FilledDatabase>, length: Length): Promise<ReadonlyArray<Grown>> =>
  withPlayers(
    databases.map(({ total, url }) => startPopulated(grouped(total), url)),
    async (players) => {
      const each = databases.map((database, index) => ({ database, player: players[index] as Player<Populated> }))
      for (const { database, player } of each) {
        await player.tell("choose", database.total, inUse)
        await player.tell("send", length.warmUpMillis)
        await player.tell("startNew", length.warmUpMillis / 4)
      }
      const transitions = await inTurns(server, each, length, "transitions", (player) => player.tell("send", length.turnMillis))
      const starts = await inTurns(server, each, length, "new instances", (player) => player.tell("startNew", length.turnMillis / 2))
      const found: Array<Grown> = []
      const progress = startProgress("reads, timers and recoveries", each.length)
      for (const [index, { database, player }] of each.entries()) {
        await player.tell("verifySent")
        const reads = await player.tell("read", database.total, length.reads)
        await player.tell("fire", length.timers, 3000)
        const timers = await player.tell("fire", length.timers, 3000)
        const recovery = await recover(database.url, length.recoveries)
        found.push({ database, transition: transitions[index] as Cost, start: starts[index] as Cost, reads, timers, recovery })
        progress.advance(1)
      }
      progress.end()
      return found
    },
  )

const inTurns = async (
  server: Postgres,
  each: ReadonlyArray<{ readonly player: Player<Populated> }>,
  { turns }: Length,
  title: string,
  play: (player: Player<Populated>) => Promise<Sent>,
): Promise<ReadonlyArray<Cost>> => {
  const costs = each.map(() => [] as Array<Cost>)
  const progress = startProgress(title, turns * each.length)
  for (let turn = 0; turn < turns; turn++) {
    for (const [index, { player }] of each.entries()) {
      costs[index]?.push(await costOf(server, () => play(player)))
      progress.advance(1)
    }
  }
  progress.end()
  return costs.map((all) => ({
    perSecond: median(all.map((one) => one.perSecond)),
    nodeMicros: median(all.map((one) => one.nodeMicros)),
    postgresMicros: median(all.map((one) => one.postgresMicros)),
    walBytes: median(all.map((one) => one.walBytes)),
  }))
}

export const costOf = async (server: Postgres, play: () => Promise<Sent>): Promise<Cost> => {
  const walBefore = await server.walBytes()
  const cpuBefore = server.cpuMicros()
  const { done, millis, cpuMicros } = await play()
  const postgresMicros = (server.cpuMicros() - cpuBefore) / done
  const walBytes = ((await server.walBytes()) - walBefore) / done
  return { perSecond: (done / millis) * 1000, nodeMicros: cpuMicros / done, postgresMicros, walBytes }
}

/** Instances at work among all others, whose process is killed halfway: see the part recovery of the group durable. */
const recover = async (database: string, rounds: number): Promise<Grown["recovery"]> => {
  const all: Array<{ readonly millis: number; readonly firstProgressMillis: number; readonly lost: number }> = []
  for (let round = 0; round < rounds; round++) {
    const folder = temporaryFolder()
    const options = { database, notes: folder.file("notes"), round }
    const module = new URL("../durable/contestants/detentSurvival.ts", import.meta.url).href
    const start = () => startPlayer<Surviving>("recovery", module, "surviving", options)
    await withPlayers([start()], async (players) => {
      for (const player of players) {
        await player.tell("begin")
        await player.kill()
      }
    })
    await withPlayers([start()], async (players) => {
      for (const player of players) all.push(await player.tell("resume"))
    })
    folder.remove()
  }
  return {
    all: median(all.map(({ millis }) => millis)),
    firstProgress: median(all.map(({ firstProgressMillis }) => firstProgressMillis)),
    lost: all.reduce((sum, { lost }) => sum + lost, 0),
  }
}

export interface Size {
  readonly table: string
  readonly rows: number
  readonly heapBytes: number
  readonly indexBytes: number
}

export const sizesOf = async (client: Client): Promise<ReadonlyArray<Size>> => {
  const { rows } = await client.query(
    `select c.relname as table, greatest(c.reltuples, 0)::float8 as rows,
       pg_table_size(c.oid)::float8 as heap, pg_indexes_size(c.oid)::float8 as indexes
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'detent' and c.relkind = 'r' order by pg_total_relation_size(c.oid) desc`,
  )
  return rows.map((row) => ({
    table: String(row["table"]),
    rows: Number(row["rows"]),
    heapBytes: Number(row["heap"]),
    indexBytes: Number(row["indexes"]),
  }))
}

const costTable = (found: ReadonlyArray<Grown>, isScaledDown: boolean): Table => ({
  title: `Cost as the tables grow: ${inUse.toLocaleString("en")} instances in use, spread over the table; 50 callers, PostgreSQL, fsync on`,
  columns: [
    "instances",
    "events",
    "transitions per second",
    "node CPU µs",
    "PostgreSQL CPU µs",
    "WAL bytes",
    "both CPUs, of the smallest",
    "new instances per second",
    "CPU µs of one",
  ],
  rows: found.map(({ database, transition, start }) => [
    grouped(database.total),
    grouped(database.total * eventsEach),
    grouped(transition.perSecond),
    transition.nodeMicros.toFixed(1),
    transition.postgresMicros.toFixed(1),
    transition.walBytes.toFixed(0),
    (cpuOf(transition) / cpuOf(found[0]?.transition ?? transition)).toFixed(2),
    grouped(start.perSecond),
    cpuOf(start).toFixed(1),
  ]),
  notes: [
    ...(isScaledDown ? ["Scaled down: the disk has no room for more instances."] : []),
    "Each number of instances is a database of its own on the same server; they take turns. Half of the instances have ended, a quarter",
    "waits for a timer, a quarter is open. The rows are copies, with numbers, ids and times of their own, of instances that the engine wrote;",
    `a sample was opened by an engine, and every event sent was found afterwards. PostgreSQL: ${serverSettings.join(", ")}.`,
  ],
})

const readTable = (found: ReadonlyArray<Grown>): Table => {
  const names = Object.keys(found[0]?.reads ?? {}) as ReadonlyArray<keyof Reads>
  return {
    title: "Reads, timers and recoveries as the tables grow, in ms",
    columns: ["instances", ...names, "1,000 timers due at once, median", "last", "after kill -9: first event", "all 1,000 done", "lost"],
    rows: found.map(({ database, reads, timers, recovery }) => [
      grouped(database.total),
      ...names.map((name) => reads[name].toFixed(2)),
      timers.median.toFixed(0),
      timers.last.toFixed(0),
      recovery.firstProgress.toFixed(0),
      recovery.all.toFixed(0),
      String(recovery.lost),
    ]),
    notes: [
      "Medians. Pages have 50 instances; an instance is opened from its journal of ten events. Timers: from the deadline to the stored",
      "transition, beside the timers of all waiting instances. Recovery: 1,000 instances of ten events, whose process is killed halfway.",
    ],
  }
}

const sizeTable = (total: number, sizes: ReadonlyArray<Size>): Table => ({
  title: `The tables of ${grouped(total)} instances`,
  columns: ["table", "rows", "MB", "indexes, MB", "bytes per row, with indexes"],
  rows: sizes
    .filter(({ rows }) => rows >= 1)
    .map(({ table, rows, heapBytes, indexBytes }) => [
      table,
      grouped(rows),
      (heapBytes / 1e6).toFixed(1),
      (indexBytes / 1e6).toFixed(1),
      ((heapBytes + indexBytes) / rows).toFixed(0),
    ]),
  notes: ["Events have 100 bytes of payload. Half of each page of instances is left free, so that a transition changes no index."],
})
