/** The cost of a send through the Promise API, beside a send through the Effect API: fifty instances, both in the same turns. */
import type { Part } from "../../measure/Group.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { times } from "../../measure/Table.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"
import { contest, type Entrant, type Result, type Turns } from "./contest.ts"

const concurrency = 50

const lengthOf = (quick: boolean): Turns =>
  quick ? { turns: 7, warmUpMillis: 500, turnMillis: 300 } : { turns: 25, warmUpMillis: 2000, turnMillis: 800 }

export const promise: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const folder = temporaryFolder()
    const pairs = [
      [
        { name: "PostgreSQL, Effect", from: ["detent.ts", "postgres"], database: await server.createDatabase("effects"), concurrency },
        {
          name: "PostgreSQL, Promise",
          from: ["detentPromise.ts", "postgres"],
          database: await server.createDatabase("promises"),
          concurrency,
        },
      ],
      [
        { name: "SQLite FULL, Effect", from: ["detent.ts", "sqliteFull"], database: folder.file("effects.db"), concurrency },
        { name: "SQLite FULL, Promise", from: ["detentPromise.ts", "sqlite"], database: folder.file("promises.db"), concurrency },
      ],
    ] as const satisfies ReadonlyArray<readonly [Entrant, Entrant]>
    const results = await contest(server, pairs.flat(), lengthOf(quick))
    folder.remove()
    const of = ({ name }: Entrant) => results.get(name) as Result
    const cpuRatio = ([effect, promise]: readonly [Entrant, Entrant]) => of(promise).nodeMicros / of(effect).nodeMicros
    const speedRatio = ([effect, promise]: readonly [Entrant, Entrant]) => of(promise).perSecond / of(effect).perSecond
    return {
      tables: [
        {
          title: "A send through the Promise API, beside a send through the Effect API: 50 instances, each send awaited",
          columns: ["", "per second", "of Effect's", "node CPU µs", "of Effect's"],
          rows: pairs.flatMap((pair) =>
            pair.map((entrant) => [
              entrant.name,
              of(entrant).perSecond.toFixed(0),
              times(of(entrant).perSecond / of(pair[0]).perSecond),
              of(entrant).nodeMicros.toFixed(1),
              times(of(entrant).nodeMicros / of(pair[0]).nodeMicros),
            ]),
          ),
        },
      ],
      figures: {
        "promise.pg.cpuOfEffect": cpuRatio(pairs[0]),
        "promise.pg.speedOfEffect": speedRatio(pairs[0]),
        "promise.sqlite.cpuOfEffect": cpuRatio(pairs[1]),
        "promise.sqlite.speedOfEffect": speedRatio(pairs[1]),
      },
    }
  })
