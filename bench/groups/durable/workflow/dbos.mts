/** DBOS: workflows of ten steps. */
import { DBOS } from "@dbos-inc/dbos-sdk"
import { countSteps, launch } from "../contestants/dbos.mts"
import { stepCount, workflowsOf } from "./Workload.ts"

export const postgres = async ({ database }: { readonly database: string }) => {
  const steps = DBOS.registerWorkflow(
    async () => {
      for (let step = 0; step < stepCount; step++) await DBOS.runStep(async () => undefined, { name: "step" })
    },
    { name: "steps" },
  )
  await launch(database)
  return workflowsOf({
    run: (id) => DBOS.startWorkflow(steps, { workflowID: id })().then((handle) => handle.getResult()),
    count: () => countSteps(database),
    close: () => DBOS.shutdown(),
  })
}
