/** DBOS: workflows whose steps each return 200 bytes, which are stored. */
import { DBOS } from "@dbos-inc/dbos-sdk"
import pg from "pg"
import { payload } from "../machines/toggle.ts"
import { sideBySide, type ThroughputOptions, throughputOf } from "../Throughput.ts"

/** As many steps as fit into a turn, so that the cost of starting and ending a workflow hardly shows. */
const stepLimit = 1000

export const launch = async (database: string) => {
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: database,
    systemDatabasePoolSize: 50,
    logLevel: "error",
    // By default the version is computed from the code, and recovery only takes workflows of its own version.
    applicationVersion: "bench",
    executorID: "bench",
  })
  await DBOS.launch()
}

export const step = () => DBOS.runStep(async () => payload, { name: "step" })

export const postgres = async ({ database, concurrency }: ThroughputOptions) => {
  let isOver = () => true
  const steps = DBOS.registerWorkflow(
    async () => {
      let done = 0
      for (; done < stepLimit && !isOver(); done++) await step()
      return done
    },
    { name: "steps" },
  )
  await launch(database)
  return throughputOf({
    store: (over) => {
      isOver = over
      return sideBySide(concurrency, async () => {
        let done = 0
        do done += await steps()
        while (!isOver())
        return done
      })
    },
    count: () => countSteps(database),
    close: () => DBOS.shutdown(),
  })
}

export const countSteps = async (database: string): Promise<number> => {
  const client = new pg.Client(database)
  await client.connect()
  try {
    const { rows } = await client.query("select count(*) as steps from dbos.operation_outputs where function_name = 'step'")
    return Number(rows[0].steps)
  } finally {
    await client.end()
  }
}
