/** Domain events: fifty writers at once, each writing its next event when the last one is stored. */
import type { Part } from "../../measure/Group.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { times } from "../../measure/Table.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"
import { contest, type Entrant, type Result, type Turns } from "./contest.ts"

const concurrency = 50

const lengthOf = (quick: boolean): Turns =>
  quick ? { turns: 5, warmUpMillis: 500, turnMillis: 400 } : { turns: 25, warmUpMillis: 2000, turnMillis: 800 }

const journal = "detent, journal"
const log = "detent, log with a table"
const effectJournal = "Effect, journal"
const effectLog = "Effect, log with a table"
const journalOnPostgres = "detent, journal, PostgreSQL"
const logOnPostgres = "detent, log with a table, PostgreSQL"

export const events: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const folder = temporaryFolder()
    const entrants: ReadonlyArray<Entrant> = [
      { name: journal, from: ["detentEvents.ts", "sqliteJournal"], database: folder.file("journal.db"), concurrency },
      { name: effectJournal, from: ["effectEvents.ts", "sqliteJournal"], database: folder.file("effectJournal.db"), concurrency },
      { name: log, from: ["detentEvents.ts", "sqliteLog"], database: folder.file("log.db"), concurrency },
      { name: effectLog, from: ["effectEvents.ts", "sqliteLog"], database: folder.file("effectLog.db"), concurrency },
      {
        name: journalOnPostgres,
        from: ["detentEvents.ts", "postgresJournal"],
        database: await server.createDatabase("journal"),
        concurrency,
      },
      { name: logOnPostgres, from: ["detentEvents.ts", "postgresLog"], database: await server.createDatabase("log"), concurrency },
    ]
    const results = await contest(server, entrants, lengthOf(quick))
    folder.remove()
    const of = (name: string) => results.get(name) as Result
    const faster = (one: string, other: string) => of(one).perSecond / of(other).perSecond
    return {
      tables: [
        {
          title: "Domain events: 50 writers at once, 200 bytes each; SQLite in WAL mode with synchronous FULL, PostgreSQL with fsync",
          columns: ["", "per second", "faster than Effect's by", "node CPU µs", "PostgreSQL CPU µs", "WAL bytes"],
          rows: entrants.map(({ name }) => [
            name,
            of(name).perSecond.toFixed(0),
            name === journal ? times(faster(journal, effectJournal)) : name === log ? times(faster(log, effectLog)) : "",
            of(name).nodeMicros.toFixed(1),
            name.endsWith("PostgreSQL") ? of(name).postgresMicros.toFixed(1) : "n/a",
            name.endsWith("PostgreSQL") ? of(name).walBytes.toFixed(0) : "n/a",
          ]),
          notes: [
            "All counted events were found in the databases afterwards. The journal that comes with Effect does not run on PostgreSQL.",
          ],
        },
      ],
      figures: {
        "events.sqlite.perSecond": of(journal).perSecond,
        "events.sqlite.vsEffect": faster(journal, effectJournal),
        "events.sqlite.logVsEffect": faster(log, effectLog),
        "events.pg.perSecond": of(journalOnPostgres).perSecond,
        "events.pg.logPerSecond": of(logOnPostgres).perSecond,
      },
    }
  })
