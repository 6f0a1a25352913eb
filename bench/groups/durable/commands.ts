/** Commands beside the jobs of other libraries: enqueuing, executing a backlog, and the latency on an idle queue. */
import type { Part } from "../../measure/Group.ts"
import { type Player, startPlayer, withPlayers } from "../../measure/Player.ts"
import { type Postgres, withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import { type Table, times } from "../../measure/Table.ts"
import { contest, type Entrant, type Result } from "./contest.ts"
import type { Working } from "./Working.ts"

const ours = "detent"
const graphile = "graphile-worker"
const pgBoss = "pg-boss"
const effect = "Effect's PersistedQueue"

const lengthOf = (quick: boolean) =>
  quick
    ? { enqueue: { turns: 5, warmUpMillis: 500, turnMillis: 400 }, backlog: 20_000, works: 4, starts: 4, startsEach: 40 }
    : { enqueue: { turns: 25, warmUpMillis: 2000, turnMillis: 800 }, backlog: 20_000, works: 9, starts: 10, startsEach: 100 }

export const commands: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const length = lengthOf(quick)
    const concurrency = 16
    const entrants: ReadonlyArray<Entrant> = [
      { name: ours, from: ["detentCommands.ts", "enqueueing"], database: await server.createDatabase("detent"), concurrency },
      { name: graphile, from: ["graphileCommands.mts", "enqueueing"], database: await server.createDatabase("graphile"), concurrency },
      { name: pgBoss, from: ["pgBossCommands.mts", "enqueueing"], database: await server.createDatabase("pgboss"), concurrency },
      { name: effect, from: ["effectQueue.ts", "enqueueing"], database: await server.createDatabase("effect"), concurrency },
    ]
    const enqueued = await contest(server, entrants, length.enqueue)
    const workers = [startWorking(server, ours, "detentCommands.ts"), startWorking(server, graphile, "graphileCommands.mts")]
    const { worked, latencies } = await withPlayers(workers, async (players) => ({
      worked: await workInTurns(server, players, length.backlog, length.works),
      latencies: await startInTurns(players, length.starts, length.startsEach),
    }))
    const stored = (name: string) => enqueued.get(name) as Result
    const done = (name: string) => worked.get(name) as Done
    const late = (name: string, share: number) => quantile(latencies.get(name) ?? [], share)
    return {
      tables: [
        enqueueTable(entrants.map(({ name }) => [name, stored(name)])),
        workTable([ours, graphile].map((name) => [name, done(name)])),
        latencyTable([ours, graphile].map((name) => [name, late(name, 0.5), late(name, 0.99)])),
      ],
      figures: {
        "enqueue.perSecond": stored(ours).perSecond,
        "enqueue.vsGraphile": stored(ours).perSecond / stored(graphile).perSecond,
        "enqueue.vsPgBoss": stored(ours).perSecond / stored(pgBoss).perSecond,
        "enqueue.vsEffectQueue": stored(ours).perSecond / stored(effect).perSecond,
        "enqueueCpu.vsGraphile": cpu(stored(ours)) / cpu(stored(graphile)),
        "enqueueCpu.vsPgBoss": cpu(stored(ours)) / cpu(stored(pgBoss)),
        "enqueueCpu.vsEffectQueue": cpu(stored(ours)) / cpu(stored(effect)),
        "complete.perSecond": done(ours).perSecond,
        "complete.vsGraphile": done(ours).perSecond / done(graphile).perSecond,
        "completeCpu.micros": cpu(done(ours)),
        "completeCpu.vsGraphile": cpu(done(ours)) / cpu(done(graphile)),
        "latencyP50.millis": late(ours, 0.5),
        "latencyP50.vsGraphile": late(ours, 0.5) / late(graphile, 0.5),
        "latencyP99.millis": late(ours, 0.99),
        "latencyP99.vsGraphile": late(ours, 0.99) / late(graphile, 0.99),
      },
    }
  })

/** CPU time of one command, Node and PostgreSQL together. It does not depend on other load. */
const cpu = ({ nodeMicros, postgresMicros }: Pick<Done, "nodeMicros" | "postgresMicros">): number => nodeMicros + postgresMicros

const startWorking = async (server: Postgres, name: string, file: string): Promise<Player<Working>> =>
  startPlayer(name, new URL(`./contestants/${file}`, import.meta.url).href, "working", {
    database: await server.createDatabase(`working_${name.replace("-", "_")}`),
  })

/** Medians over the turns. CPU times are per command. */
interface Done {
  readonly perSecond: number
  readonly nodeMicros: number
  readonly postgresMicros: number
}

const workInTurns = async (
  server: Postgres,
  players: ReadonlyArray<Player<Working>>,
  count: number,
  turns: number,
): Promise<ReadonlyMap<string, Done>> => {
  const results = new Map(players.map(({ name }) => [name, [] as Array<Done>]))
  for (let turn = -1; turn < turns; turn++) {
    for (const player of players) {
      // The first turn warms up, with less to do.
      const size = turn < 0 ? 2000 : count
      await player.tell("fill", size)
      const cpuBefore = server.cpuMicros()
      const { millis, cpuMicros } = await player.tell("work", size)
      const cpu = server.cpuMicros() - cpuBefore
      if (turn >= 0)
        results.get(player.name)?.push({ perSecond: (size / millis) * 1000, nodeMicros: cpuMicros / size, postgresMicros: cpu / size })
    }
  }
  const middle = (all: ReadonlyArray<Done>): Done => ({
    perSecond: median(all.map((one) => one.perSecond)),
    nodeMicros: median(all.map((one) => one.nodeMicros)),
    postgresMicros: median(all.map((one) => one.postgresMicros)),
  })
  return new Map([...results].map(([name, all]) => [name, middle(all)]))
}

const startInTurns = async (
  players: ReadonlyArray<Player<Working>>,
  turns: number,
  each: number,
): Promise<ReadonlyMap<string, ReadonlyArray<number>>> => {
  const latencies = new Map(players.map(({ name }) => [name, [] as Array<number>]))
  for (const player of players) await player.tell("start", 20, 2)
  for (let turn = 0; turn < turns; turn++) {
    for (const player of players) latencies.get(player.name)?.push(...(await player.tell("start", each, 10)))
  }
  return latencies
}

const quantile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}

const enqueueTable = (results: ReadonlyArray<readonly [string, Result]>): Table => ({
  title: "Enqueue, PostgreSQL, fsync on: 16 callers, each awaited, 200 bytes each",
  columns: ["", "per second", "detent is faster by", "node CPU µs", "PostgreSQL CPU µs", "WAL bytes"],
  rows: results.map(([name, { perSecond, nodeMicros, postgresMicros, walBytes }]) => [
    name,
    perSecond.toFixed(0),
    times((results[0]?.[1].perSecond ?? Number.NaN) / perSecond),
    nodeMicros.toFixed(1),
    postgresMicros.toFixed(1),
    walBytes.toFixed(0),
  ]),
  notes: ["All counted writes were found in the databases afterwards. The others have a connection for each caller."],
})

const workTable = (results: ReadonlyArray<readonly [string, Done]>): Table => ({
  title: "Execute a backlog of 20,000 commands that do nothing, one process",
  columns: ["", "per second", "detent is faster by", "node CPU µs", "PostgreSQL CPU µs"],
  rows: results.map(([name, { perSecond, nodeMicros, postgresMicros }]) => [
    name,
    perSecond.toFixed(0),
    times((results[0]?.[1].perSecond ?? Number.NaN) / perSecond),
    nodeMicros.toFixed(1),
    postgresMicros.toFixed(1),
  ]),
  notes: [
    "Until the database shows that all are done. detent keeps completed commands; graphile-worker deletes its jobs. graphile-worker",
    "has 24 concurrent jobs, a local queue of 500 and batched completion; detent has its defaults.",
  ],
})

const latencyTable = (results: ReadonlyArray<readonly [string, number, number]>): Table => ({
  title: "From the enqueue call to the start of the execution, idle queue, ms",
  columns: ["", "median", "p99"],
  rows: results.map(([name, middle, late]) => [name, middle.toFixed(2), late.toFixed(2)]),
  notes: ["Enqueued and executed in one process. graphile-worker has its defaults and is woken by NOTIFY."],
})
