/**
 * DBOS: workflows that receive messages, distributed over the processes. Every process sends to all workflows. A send is answered
 * when the message is stored, before the workflow receives it; a turn ends when the workflows have received all messages.
 */
import { DBOS } from "@dbos-inc/dbos-sdk"
import pg from "pg"
import { payload } from "../../durable/machines/toggle.ts"
import { sideBySide } from "../../durable/Throughput.ts"
import { hotInstances, type MemberOptions } from "../Team.ts"

const workflowOf = (index: number) => `receiver-${index}`

/** Longer than any measurement: a workflow without messages keeps waiting. */
const patienceSeconds = 3600

export const messages = async ({ database, member, members, senders }: MemberOptions) => {
  const receiver = DBOS.registerWorkflow(
    async () => {
      for (;;) if ((await DBOS.recv("turn", patienceSeconds)) === null) return
    },
    { name: "receiver" },
  )
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: database,
    systemDatabasePoolSize: 20,
    logLevel: "error",
    applicationVersion: "bench",
    executorID: `process-${member}`,
  })
  await DBOS.launch()
  const client = new pg.Client(database)
  await client.connect()
  const count = async (consumed: boolean) => {
    const { rows } = await client.query("select count(*) as messages from dbos.notifications where consumed = $1", [consumed])
    return Number(rows[0].messages)
  }
  const own = Array.from({ length: hotInstances }, (_, index) => index).filter((index) => index % members === member)
  await Promise.all(own.map((index) => DBOS.startWorkflow(receiver, { workflowID: workflowOf(index) })()))
  return {
    play: async (millis: number) => {
      const cpu = process.cpuUsage()
      const start = performance.now()
      const done = await sideBySide(senders, async (index) => {
        let sent = 0
        for (; performance.now() - start < millis; sent++) await DBOS.send(workflowOf(index % hotInstances), payload, "turn")
        return sent
      })
      while ((await count(false)) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
      const elapsed = performance.now() - start
      const { user, system } = process.cpuUsage(cpu)
      return { done, failed: 0, millis: elapsed, cpuMicros: user + system }
    },
    stored: () => count(true),
    shards: async () => 0,
    close: async () => {
      await client.end()
      await DBOS.shutdown()
    },
  }
}
