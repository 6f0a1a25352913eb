/** What the tables hold, read with plain SQL: nothing of the store is trusted. */
import { DatabaseSync } from "node:sqlite"
import * as PgClient from "@detent/store/PgClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Stored } from "../simulation/Audit.ts"
import type { StoreAddress } from "./Protocol.ts"

type Row = Readonly<Record<string, unknown>>
type Query = (statement: string) => Promise<ReadonlyArray<Row>>

export interface Tables {
  readonly instances: ReadonlyArray<Stored>
  /** Rows that belong to nothing, or that should not be there. */
  readonly problems: ReadonlyArray<string>
}

export const readTables = (store: StoreAddress): Promise<Tables> =>
  store._tag === "Sqlite" ? readSqlite(store.filename) : readPostgres(store.url)

const readSqlite = async (filename: string): Promise<Tables> => {
  const database = new DatabaseSync(filename)
  try {
    const [check] = database.prepare("pragma integrity_check").all()
    const tables = await read(async (statement) => database.prepare(statement).all() as ReadonlyArray<Row>, "detent_")
    const problem = Object.values(check ?? {})[0]
    return problem === "ok" ? tables : { ...tables, problems: [...tables.problems, `the file is damaged: ${String(problem)}`] }
  } finally {
    database.close()
  }
}

const readPostgres = (url: string): Promise<Tables> =>
  Effect.runPromise(
    Effect.flatMap(PgClient.PgClient, (sql) =>
      Effect.promise(() => read((statement) => Effect.runPromise(sql.unsafe<Row>(statement)), "detent.")),
    ).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))),
  )

const read = async (query: Query, prefix: string): Promise<Tables> => {
  const [instances, events, snapshots, timers, commands] = await Promise.all([
    query(`select * from ${prefix}instances`),
    query(`select * from ${prefix}events order by instance, sequence`),
    query(`select * from ${prefix}snapshots`),
    query(`select * from ${prefix}timers`),
    query(`select * from ${prefix}commands`),
  ])
  const of = (rows: ReadonlyArray<Row>) => {
    const groups = new Map<number, Array<Row>>()
    for (const row of rows) groups.set(Number(row["instance"]), [...(groups.get(Number(row["instance"])) ?? []), row])
    return groups
  }
  const parts = { events: of(events), snapshots: of(snapshots), timers: of(timers), commands: of(commands) }
  const known = new Set(instances.map((row) => Number(row["instance"])))
  const orphans = Object.entries(parts).flatMap(([name, groups]) =>
    [...groups.keys()].filter((instance) => !known.has(instance)).map((instance) => `${name} of ${instance}, which is not an instance`),
  )
  const dead = timers.filter((row) => Boolean(row["dead"])).map((row) => `timer ${text(row, "name")} was given up: ${text(row, "problem")}`)
  const keys = new Set(commands.map((row) => text(row, "key")))
  const repeated = keys.size === commands.length ? [] : [`${commands.length - keys.size} commands have the key of another`]
  return {
    problems: [...orphans, ...dead, ...repeated],
    instances: instances.map((row): Stored => {
      const instance = Number(row["instance"])
      const [snapshot] = parts.snapshots.get(instance) ?? []
      return {
        machine: text(row, "machine"),
        id: text(row, "id"),
        tag: text(row, "tag"),
        status: text(row, "status"),
        needsOwner: Boolean(row["needs_owner"]),
        owes: Boolean(row["owes"]),
        sequence: whole(row, "sequence"),
        startedAt: whole(row, "started_at"),
        pruned: 0,
        origin: maybeText(row, "origin"),
        events: (parts.events.get(instance) ?? []).map((event) => ({
          sequence: whole(event, "sequence"),
          at: whole(event, "at"),
          tag: text(event, "tag"),
          body: text(event, "body"),
          dedupeId: maybeText(event, "dedupe_id"),
        })),
        snapshot:
          snapshot === undefined
            ? undefined
            : {
                sequence: whole(snapshot, "sequence"),
                at: whole(snapshot, "at"),
                version: whole(snapshot, "version"),
                body: text(snapshot, "body"),
              },
        timers: (parts.timers.get(instance) ?? []).map((timer) => ({
          name: text(timer, "name"),
          entry: whole(timer, "entry"),
          due: whole(timer, "due"),
        })),
        commands: (parts.commands.get(instance) ?? []).map((command) => ({
          key: text(command, "key"),
          slot: text(command, "slot"),
          sequence: whole(command, "sequence"),
        })),
      }
    }),
  }
}

// Drivers give whole numbers as number or bigint.
const whole = (row: Row, column: string): number => Number(row[column])
const text = (row: Row, column: string): string => String(row[column])
const maybeText = (row: Row, column: string): string | undefined => (row[column] === null ? undefined : String(row[column]))
