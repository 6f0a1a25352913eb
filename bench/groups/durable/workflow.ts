/** Effect workflows of ten activities that do nothing, fifty at once, on our engine and on Effect's; DBOS with ten steps. */
import type { Part } from "../../measure/Group.ts"
import { type Player, startPlayer, withPlayers } from "../../measure/Player.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import { type Table, times } from "../../measure/Table.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"
import type { Turns } from "./contest.ts"
import type { Sleepers } from "./workflow/sleepers.ts"
import type { Workflows } from "./workflow/Workload.ts"

const concurrency = 50

interface Result {
  readonly perSecond: number
  /** CPU time of Node per workflow. */
  readonly cpuMicros: number
}

const lengthOf = (quick: boolean) =>
  quick
    ? { turns: 3, warmUpMillis: 1500, turnMillis: 500, sleepers: 5000 }
    : { turns: 9, warmUpMillis: 3000, turnMillis: 2000, sleepers: 20_000 }

const module = (file: string) => new URL(`./workflow/${file}`, import.meta.url).href

export const workflow: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const folder = temporaryFolder()
    const { sleepers, ...turns } = lengthOf(quick)
    const start = (name: string, file: string, exported: string, database: string) =>
      startPlayer<Workflows>(name, module(file), exported, { database })
    const results = await contest(
      [
        start("detent on PostgreSQL", "detent.ts", "postgres", await server.createDatabase("detent")),
        start("Effect on PostgreSQL", "effect.ts", "postgres", await server.createDatabase("effect")),
        start("DBOS on PostgreSQL", "dbos.mts", "postgres", await server.createDatabase("dbos")),
        start("detent on SQLite", "detent.ts", "sqlite", folder.file("detent.db")),
        start("Effect on SQLite", "effect.ts", "sqlite", folder.file("effect.db")),
      ],
      turns,
    )
    const sleepingBytes = await withPlayers(
      [startPlayer<Sleepers>("sleepers", module("sleepers.ts"), "sleepers", { database: folder.file("sleepers.db") })],
      ([player]) => (player as Player<Sleepers>).tell("sleep", sleepers),
    )
    folder.remove()
    const of = (name: string) => results.get(name)?.perSecond ?? Number.NaN
    return {
      tables: [table(results, sleepingBytes)],
      figures: {
        "workflow.pg.perSecond": of("detent on PostgreSQL"),
        "workflow.pg.vsEffect": of("detent on PostgreSQL") / of("Effect on PostgreSQL"),
        "workflow.pg.vsDbos": of("detent on PostgreSQL") / of("DBOS on PostgreSQL"),
        "workflow.sqlite.perSecond": of("detent on SQLite"),
        "workflow.sqlite.vsEffect": of("detent on SQLite") / of("Effect on SQLite"),
        "workflow.sleepingBytes": sleepingBytes,
      },
    }
  })

/** Medians over the turns. The warm-up has a few callers, enough to compile the code of every contestant. */
const contest = (
  starting: ReadonlyArray<Promise<Player<Workflows>>>,
  { turns, warmUpMillis, turnMillis }: Turns,
): Promise<ReadonlyMap<string, Result>> =>
  withPlayers(starting, async (players) => {
    for (const player of players) await player.tell("play", 10, warmUpMillis)
    const results = new Map(players.map((player) => [player.name, [] as Array<Result>]))
    for (let turn = 0; turn < turns; turn++) {
      for (const player of players) {
        const { done, millis, cpuMicros } = await player.tell("play", concurrency, turnMillis)
        results.get(player.name)?.push({ perSecond: (done / millis) * 1000, cpuMicros: cpuMicros / done })
      }
    }
    for (const player of players) await player.tell("verify")
    return new Map([...results].map(([name, all]) => [name, middle(all)]))
  })

const middle = (all: ReadonlyArray<Result>): Result => ({
  perSecond: median(all.map(({ perSecond }) => perSecond)),
  cpuMicros: median(all.map(({ cpuMicros }) => cpuMicros)),
})

const table = (results: ReadonlyMap<string, Result>, sleepingBytes: number): Table => ({
  title: "Workflows of 10 steps that do nothing: 50 at once, fsync on",
  columns: ["", "workflows per second", "detent is faster by", "node CPU ms each"],
  rows: [...results].map(([name, { perSecond, cpuMicros }]) => {
    const ours = results.get(name.endsWith("SQLite") ? "detent on SQLite" : "detent on PostgreSQL")
    return [name, perSecond.toFixed(1), times((ours?.perSecond ?? Number.NaN) / perSecond), (cpuMicros / 1000).toFixed(2)]
  }),
  notes: [
    "The workflow of detent and Effect is the same code. Their steps were found in the databases afterwards. DBOS has 50",
    `connections, Effect 32, detent 10. A workflow that sleeps on a durable clock takes ${sleepingBytes.toFixed(0)} bytes of heap.`,
  ],
})
