/** A transition of an instance, and a call of a virtual object of Restate, which also has a key, a state, and one call at a time. */
import type { Part } from "../../measure/Group.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import { times } from "../../measure/Table.ts"
import type { Played, Throughput } from "../durable/Throughput.ts"
import { detent, type Engine, named, restate } from "./engines.ts"
import { enginesTable, playInTurns } from "./playing.ts"

const engines = [detent, restate]

export const transition: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const { turns, turnMillis } = quick ? { turns: 5, turnMillis: 800 } : { turns: 15, turnMillis: 3000 }
    const contest = (concurrency: number) =>
      playInTurns<Throughput, Played>(
        server,
        engines,
        {
          title: `transitions, ${concurrency} at once`,
          exported: concurrency === 1 ? "transition" : "transitions",
          turns,
          options: { concurrency },
        },
        (player) => player.tell("play", turnMillis),
        (player) => player.tell("verify"),
      )
    const many = await contest(50)
    const one = await contest(1)
    const rate = ({ measured }: typeof many, engine: Engine) => {
      const results = measured.find((entry) => entry.engine === engine)?.results ?? []
      return results.length === 0 ? Number.NaN : median(results.map(({ done, millis }) => (done / millis) * 1000))
    }
    return {
      tables: [
        {
          title: "A state transition with 200 bytes, each awaited: instances of detent, virtual objects of Restate",
          columns: ["", "50 at once, per second", "detent is faster by", "one alone, per second", "detent is faster by"],
          rows: engines.map((engine) => [
            named(engine),
            rate(many, engine).toFixed(0),
            times(rate(many, detent) / rate(many, engine)),
            rate(one, engine).toFixed(0),
            times(rate(one, detent) / rate(one, engine)),
          ]),
          notes: [
            "detent runs in the process of the caller; a call of Restate is an HTTP request to its server, which calls the process back.",
            "DBOS, Effect and Vercel have no such thing: see the part transitions of the group durable for their steps.",
            ...many.failures,
            ...one.failures,
          ],
        },
        enginesTable(engines, ["state and event are stored before the caller gets its answer. Every transition was found afterwards."]),
      ],
      figures: {
        "transition.perSecond": rate(many, detent),
        "transition.vsRestate": rate(many, detent) / rate(many, restate),
        "transition.oneVsRestate": rate(one, detent) / rate(one, restate),
      },
    }
  })
