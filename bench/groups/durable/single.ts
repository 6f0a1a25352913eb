/** One instance that gets its next event when the last one is stored: no other event shares its commit. */
import type { Part } from "../../measure/Group.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { times } from "../../measure/Table.ts"
import { contest, type Entrant, type Result, type Turns } from "./contest.ts"

const lengthOf = (quick: boolean): Turns =>
  quick ? { turns: 21, warmUpMillis: 1000, turnMillis: 250 } : { turns: 61, warmUpMillis: 3000, turnMillis: 500 }

const ours = "detent"
const raw = "raw appends, 1 connection"
const dbos = "DBOS, steps"

export const single: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const concurrency = 1
    const entrants: ReadonlyArray<Entrant> = [
      { name: ours, from: ["detent.ts", "postgres"], database: await server.createDatabase("detent"), concurrency },
      { name: raw, from: ["raw.mts", "appends"], database: await server.createDatabase("raw"), concurrency },
      { name: dbos, from: ["dbos.mts", "postgres"], database: await server.createDatabase("dbos"), concurrency },
    ]
    const results = await contest(server, entrants, lengthOf(quick))
    const of = (name: string) => results.get(name) as Result
    return {
      tables: [
        {
          title: "PostgreSQL, fsync on: one at a time, 200 bytes each",
          columns: ["", "per second", "of detent's", "ms each", "node CPU µs", "PostgreSQL CPU µs"],
          rows: entrants.map(({ name }) => [
            name,
            of(name).perSecond.toFixed(0),
            times(of(name).perSecond / of(ours).perSecond),
            (1000 / of(name).perSecond).toFixed(2),
            of(name).nodeMicros.toFixed(0),
            of(name).postgresMicros.toFixed(0),
          ]),
        },
      ],
      figures: {
        "single.pg.perSecond": of(ours).perSecond,
        "single.pg.vsRaw": of(ours).perSecond / of(raw).perSecond,
        "single.pg.vsDbos": of(ours).perSecond / of(dbos).perSecond,
      },
    }
  })
