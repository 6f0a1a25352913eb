/** DBOS with fifty connections, one for each caller. */
import { DBOS } from "@dbos-inc/dbos-sdk"
import pg from "pg"
import { launch } from "../../durable/contestants/dbos.mts"
import { queueOf } from "../Jobs.ts"
import { peerOf, type Running, stepCount, type UserCode } from "../Peer.ts"

export const peer = ({ database }: { readonly database: string }) => peerOf((code) => start(database, code))

const start = async (database: string, { step }: UserCode): Promise<Running> => {
  const run = (id: string, index: number) => DBOS.runStep(async () => step(id, index), { name: "step" })
  const steps = DBOS.registerWorkflow(
    async (id: string) => {
      for (let index = 0; index < stepCount; index++) await run(id, index)
    },
    { name: "steps" },
  )
  const waiter = DBOS.registerWorkflow(
    async (id: string) => {
      await DBOS.recv("go", 3600)
      await run(id, 0)
    },
    { name: "waiter" },
  )
  const sleeper = DBOS.registerWorkflow(
    async (id: string, due: number) => {
      await DBOS.sleep(Math.max(1, due - Date.now()))
      await run(id, 0)
    },
    { name: "sleeper" },
  )
  await launch(database)
  const client = new pg.Client(database)
  await client.connect()
  return {
    run: async (id) => (await DBOS.startWorkflow(steps, { workflowID: id })(id)).getResult(),
    wait: (id) => DBOS.startWorkflow(waiter, { workflowID: id })(id),
    signal: (id) => DBOS.send(id, "go", "go"),
    sleep: (id, due) => DBOS.startWorkflow(sleeper, { workflowID: id })(id, due),
    completed: async () => {
      const { rows } = await client.query(
        "select count(*) as completed from dbos.workflow_status where status = 'SUCCESS' and name in ('steps', 'waiter', 'sleeper')",
      )
      return Number(rows[0].completed)
    },
    close: async () => {
      await client.end()
      await DBOS.shutdown()
    },
  }
}

export const queue = ({ database }: { readonly database: string }) =>
  queueOf(async (executed) => {
    const job = DBOS.registerWorkflow(async (number: number, _payload: string) => executed(number), { name: "job" })
    await launch(database)
    await DBOS.registerQueue("jobs")
    const client = new pg.Client(database)
    await client.connect()
    return {
      enqueue: (number, payload) => DBOS.startWorkflow(job, { queueName: "jobs" })(number, payload),
      unfinished: async () => {
        const { rows } = await client.query("select count(*) as jobs from dbos.workflow_status where name = 'job' and status <> 'SUCCESS'")
        return Number(rows[0].jobs)
      },
      close: async () => {
        await client.end()
        await DBOS.shutdown()
      },
    }
  })
