/** Workflows of ten steps that run user code, one step after the other. */
import type { Part } from "../../measure/Group.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import { times } from "../../measure/Table.ts"
import { dbos, detent, type Engine, effect, named, restate, vercel } from "./engines.ts"
import type { Peer } from "./Peer.ts"
import { enginesTable, playInTurns } from "./playing.ts"

const engines = [detent, dbos, effect, restate, vercel]
const callers = 50

export const steps: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const { turns, turnMillis } = quick ? { turns: 2, turnMillis: 1000 } : { turns: 9, turnMillis: 4000 }
    const { measured, failures } = await playInTurns<
      Peer,
      { readonly perSecond: number; readonly cpuMillis: number; readonly serverMillis: number }
    >(
      server,
      engines,
      { title: "workflows of ten steps", exported: "peer", turns },
      async (player, turn) => {
        const before = server.cpuMicros()
        const { done, millis, cpuMicros, serverMicros } = await player.tell("steps", turn < 0 ? 10 : callers, turnMillis)
        const postgresMicros = server.cpuMicros() - before
        const micros = serverMicros > 0 ? serverMicros : postgresMicros
        return { perSecond: (done / millis) * 1000, cpuMillis: cpuMicros / 1000 / done, serverMillis: micros / 1000 / done }
      },
      (player) => player.tell("verify"),
    )
    const of = (engine: Engine) => {
      const results = measured.find((one) => one.engine === engine)?.results ?? []
      const middle = (key: keyof (typeof results)[number]) => (results.length === 0 ? Number.NaN : median(results.map((one) => one[key])))
      return { perSecond: middle("perSecond"), cpuMillis: middle("cpuMillis"), serverMillis: middle("serverMillis") }
    }
    const ours = of(detent).perSecond
    const cpuOf = (engine: Engine) => of(engine).cpuMillis + of(engine).serverMillis
    return {
      tables: [
        {
          title: `Workflows of 10 steps that run user code, one after the other: ${callers} callers, each of which waits for the result`,
          columns: ["", "workflows per second", "detent is faster by", "node CPU ms each", "CPU ms each of PostgreSQL or its server"],
          rows: measured.map(({ engine }) => {
            const { perSecond, cpuMillis, serverMillis } = of(engine)
            return [named(engine), perSecond.toFixed(1), times(ours / perSecond), cpuMillis.toFixed(2), serverMillis.toFixed(2)]
          }),
          notes: ["Medians over the turns.", ...failures],
        },
        enginesTable(engines, [
          "the workflow, its result stored before the caller gets it, one process of Node.js, one machine, one disk. All started workflows were",
          "found completed in the storage of the engine afterwards, and every step had run.",
        ]),
      ],
      figures: {
        "steps.perSecond": ours,
        "steps.vsDbos": ours / of(dbos).perSecond,
        "steps.vsEffect": ours / of(effect).perSecond,
        "steps.vsRestate": ours / of(restate).perSecond,
        "steps.vsVercel": ours / of(vercel).perSecond,
        "steps.cpuVsDbos": cpuOf(detent) / cpuOf(dbos),
        "steps.cpuVsRestate": cpuOf(detent) / cpuOf(restate),
      },
    }
  })
