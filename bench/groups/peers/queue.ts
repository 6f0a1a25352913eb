/** A queue: jobs that 16 callers enqueue one at a time, and workers of the same process execute. */
import type { Part } from "../../measure/Group.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import { times } from "../../measure/Table.ts"
import { dbos, detent, type Engine, graphile, named, pgBoss, restate } from "./engines.ts"
import type { Queue, Worked } from "./Jobs.ts"
import { enginesTable, playInTurns } from "./playing.ts"

const engines = [detent, graphile, pgBoss, dbos, restate]
const callers = 16

export const queue: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const { turns, count } = quick ? { turns: 3, count: 1000 } : { turns: 9, count: 10_000 }
    const { measured, failures } = await playInTurns<Queue, Worked>(
      server,
      engines,
      { title: "jobs", exported: "queue", turns },
      (player, turn) => player.tell("jobs", turn < 0 ? 200 : count, callers),
      async () => undefined,
    )
    const of = (engine: Engine) => {
      const results = measured.find((one) => one.engine === engine)?.results ?? []
      const middle = (read: (worked: Worked) => number) => (results.length === 0 ? Number.NaN : median(results.map(read)))
      return {
        enqueued: middle(({ enqueuedMillis }) => (count / enqueuedMillis) * 1000),
        done: middle(({ doneMillis }) => (count / doneMillis) * 1000),
        cpuMicros: middle(({ cpuMicros }) => cpuMicros / count),
        repeated: results.reduce((sum, { repeated }) => sum + repeated, 0),
      }
    }
    const ours = of(detent)
    return {
      tables: [
        {
          title: `${count.toLocaleString("en")} jobs of 200 bytes, enqueued one at a time by ${callers} callers and executed meanwhile`,
          columns: ["", "enqueued per second", "enqueued and done per second", "detent is faster by", "node CPU µs each", "executed twice"],
          rows: measured.map(({ engine }) => {
            const { enqueued, done, cpuMicros, repeated } = of(engine)
            return [named(engine), enqueued.toFixed(0), done.toFixed(0), times(ours.done / done), cpuMicros.toFixed(0), String(repeated)]
          }),
          notes: ["Done: the storage has no unfinished job. DBOS polls its queue every second, its default.", ...failures],
        },
        enginesTable(engines, ["a job is stored before its caller goes on. Every job was executed."]),
      ],
      figures: {
        "queue.perSecond": ours.done,
        "queue.vsGraphile": ours.done / of(graphile).done,
        "queue.vsPgBoss": ours.done / of(pgBoss).done,
        "queue.vsDbos": ours.done / of(dbos).done,
        "queue.vsRestate": ours.done / of(restate).done,
      },
    }
  })
