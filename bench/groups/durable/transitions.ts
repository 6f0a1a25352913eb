/** Fifty concurrent instances, each of which gets its next event when the last one is stored. */
import type { Part } from "../../measure/Group.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { type Table, times } from "../../measure/Table.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"
import { contest, type Entrant, type Result, syncsOf, type Turns } from "./contest.ts"

const concurrency = 50

const lengthOf = (quick: boolean): Turns =>
  quick ? { turns: 5, warmUpMillis: 500, turnMillis: 400 } : { turns: 25, warmUpMillis: 2000, turnMillis: 800 }

const ours = "detent"
const dbos = "DBOS, steps"
const effect = "Effect workflows, activities"
const effectTuned = "the same, tuned"
const raw32 = "raw appends, 32 connections"
const full = "detent, synchronous FULL"
const normal = "detent, synchronous NORMAL"
const effectFull = "Effect workflows, activities, FULL"
const effectFullTuned = "the same, tuned, FULL"

export const transitions: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const folder = temporaryFolder()
    const onPostgres: ReadonlyArray<Entrant> = [
      { name: ours, from: ["detent.ts", "postgres"], database: await server.createDatabase("detent"), concurrency },
      { name: dbos, from: ["dbos.mts", "postgres"], database: await server.createDatabase("dbos"), concurrency },
      { name: effect, from: ["effect.ts", "postgres"], database: await server.createDatabase("effect"), concurrency },
      { name: effectTuned, from: ["effect.ts", "postgresTuned"], database: await server.createDatabase("effect_tuned"), concurrency },
      { name: "raw appends, 1 connection", from: ["raw.mts", "appends"], database: await server.createDatabase("raw1"), concurrency: 1 },
      { name: raw32, from: ["raw.mts", "appends"], database: await server.createDatabase("raw32"), concurrency: 32 },
      { name: "raw inserts of 50 events", from: ["raw.mts", "batches"], database: await server.createDatabase("batches"), concurrency },
    ]
    const onSqlite: ReadonlyArray<Entrant> = [
      { name: full, from: ["detent.ts", "sqliteFull"], database: folder.file("full.db"), concurrency },
      { name: normal, from: ["detent.ts", "sqliteNormal"], database: folder.file("normal.db"), concurrency },
      { name: effectFull, from: ["effect.ts", "sqliteFull"], database: folder.file("effect.db"), concurrency },
      { name: effectFullTuned, from: ["effect.ts", "sqliteFullTuned"], database: folder.file("effectTuned.db"), concurrency },
    ]
    const results = await contest(server, [...onPostgres, ...onSqlite], lengthOf(quick))
    const alone: Entrant = { ...(onPostgres[0] as Entrant), database: await server.createDatabase("alone") }
    const syncs = await syncsOf(server, alone, quick ? 1500 : 5000)
    folder.remove()
    const of = (name: string) => results.get(name) as Result
    const faster = (one: string, other: string) => of(one).perSecond / of(other).perSecond
    return {
      tables: [postgresTable(onPostgres.map(({ name }) => [name, of(name)])), sqliteTable(onSqlite.map(({ name }) => [name, of(name)]))],
      figures: {
        "transitions.pg.perSecond": of(ours).perSecond,
        "transitions.pg.vsDbos": faster(ours, dbos),
        "transitions.pg.vsEffect": faster(ours, effect),
        "transitions.pg.vsEffectTuned": faster(ours, effectTuned),
        "transitions.pg.vsRawAppend": faster(ours, raw32),
        "transitions.pg.nodeCpuUs": of(ours).nodeMicros,
        "transitions.pg.postgresCpuUs": of(ours).postgresMicros,
        "transitions.pg.walBytes": of(ours).walBytes,
        "transitions.pg.syncs": syncs,
        "transitions.sqlite.perSecond": of(full).perSecond,
        "transitions.sqlite.vsEffect": faster(full, effectFull),
        "transitions.sqlite.vsEffectTuned": faster(full, effectFullTuned),
        "transitions.sqlite.normalVsFull": faster(normal, full),
        "transitions.sqlite.nodeCpuUs": of(full).nodeMicros,
      },
    }
  })

const aboutEffect = [
  "Effect's engine has the defaults of SingleRunner.layer(), which simulate the serialisation to other runners. Tuned, it does not",
  "simulate it and has its runner storage in memory.",
]

const postgresTable = (results: ReadonlyArray<readonly [string, Result]>): Table => ({
  title: "PostgreSQL, fsync on: 50 at once, 200 bytes each",
  columns: ["", "per second", "detent is faster by", "node CPU µs", "PostgreSQL CPU µs", "WAL bytes"],
  rows: results.map(([name, { perSecond, nodeMicros, postgresMicros, walBytes }]) => [
    name,
    perSecond.toFixed(0),
    times((results[0]?.[1].perSecond ?? Number.NaN) / perSecond),
    nodeMicros.toFixed(1),
    Number.isNaN(postgresMicros) ? "n/a" : postgresMicros.toFixed(1),
    walBytes.toFixed(0),
  ]),
  notes: [
    "All counted writes were found in the databases afterwards. DBOS has 50 connections, Effect 32; each of their workflows",
    "runs up to 1,000 steps. A raw append updates a state row and inserts an event in one prepared statement.",
    ...aboutEffect,
  ],
})

const sqliteTable = (results: ReadonlyArray<readonly [string, Result]>): Table => ({
  title: "SQLite, WAL mode: 50 at once, 200 bytes each",
  columns: ["", "per second", "detent FULL is faster by", "node CPU µs"],
  rows: results.map(([name, { perSecond, nodeMicros }]) => [
    name,
    perSecond.toFixed(0),
    times((results[0]?.[1].perSecond ?? Number.NaN) / perSecond),
    nodeMicros.toFixed(1),
  ]),
  notes: aboutEffect,
})
