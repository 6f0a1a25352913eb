/** DBOS's part of the recovery: workflows of ten steps, which it recovers by itself when it is launched. */
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { DBOS } from "@dbos-inc/dbos-sdk"
import pg from "pg"
import { allSteps, type Surviving, type SurvivingOptions, stepsEach, things } from "../Surviving.ts"
import { countSteps, launch, step } from "./dbos.mts"

export const surviving = async ({ database, notes }: SurvivingOptions): Promise<Surviving> => {
  let stored: (id: string) => void = () => undefined
  let ended: () => void = () => undefined
  const steps = DBOS.registerWorkflow(
    async () => {
      for (let done = 0; done < stepsEach; done++) {
        await step()
        stored(DBOS.workflowID ?? "")
      }
      ended()
    },
    { name: "steps" },
  )
  return {
    begin: async () => {
      // Creates its tables first, which is not measured.
      await launch(database)
      await DBOS.shutdown()
      const start = performance.now()
      await launch(database)
      const half = Promise.withResolvers<void>()
      let count = 0
      stored = (id) => {
        appendFileSync(notes, `${id}\n`)
        count++
        if (count === allSteps / 2) half.resolve()
      }
      for (let index = 0; index < things; index++) void DBOS.startWorkflow(steps, { workflowID: `workflow-${index}` })()
      await half.promise
      return { millis: performance.now() - start }
    },
    resume: async () => {
      const before = await journaled(database)
      const missing = things - before.ended
      const done = Promise.withResolvers<void>()
      let count = 0
      let firstProgressMillis = Number.NaN
      const start = performance.now()
      stored = (id) => {
        // A workflow runs from its start again, and gets the results of stored steps.
        const again = seen.get(id) ?? 0
        seen.set(id, again + 1)
        if (again >= (before.steps.get(id) ?? 0) && Number.isNaN(firstProgressMillis)) firstProgressMillis = performance.now() - start
      }
      const seen = new Map<string, number>()
      ended = () => {
        if (++count === missing) done.resolve()
      }
      await launch(database)
      const unknown = Array.from({ length: things }, (_, index) => `workflow-${index}`).filter((id) => !before.known.has(id))
      for (const workflowID of unknown) void DBOS.startWorkflow(steps, { workflowID })()
      await done.promise
      const millis = performance.now() - start
      const found = await countSteps(database)
      if (found !== allSteps) throw new Error(`${found} steps are stored, of ${allSteps}`)
      const lost = [...stepsNoted(notes)].reduce((sum, [id, noted]) => sum + Math.max(0, noted - (before.steps.get(id) ?? 0)), 0)
      return { millis, firstProgressMillis, lost }
    },
  }
}

const journaled = async (database: string) => {
  const client = new pg.Client(database)
  await client.connect()
  const { rows } = await client.query<{ id: string; status: string; steps: string }>(`
    select s.workflow_uuid as id, s.status, (
      select count(*) from dbos.operation_outputs o where o.workflow_uuid = s.workflow_uuid and o.function_name = 'step'
    ) as steps
    from dbos.workflow_status s`)
  await client.end()
  return {
    known: new Set(rows.map(({ id }) => id)),
    steps: new Map(rows.map(({ id, steps }) => [id, Number(steps)])),
    ended: rows.filter(({ status }) => status === "SUCCESS").length,
  }
}

const stepsNoted = (notes: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  const lines = existsSync(notes) ? readFileSync(notes, "utf8").split("\n").slice(0, -1) : []
  for (const id of lines) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}
