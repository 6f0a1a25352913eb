/** Jobs of pg-boss, fetched in batches, with its shortest interval of polling. */
import pg from "pg"
import { PgBoss } from "pg-boss"
import { queueOf } from "../Jobs.ts"

export const queue = ({ database }: { readonly database: string }) =>
  queueOf(async (executed) => {
    const boss = new PgBoss({ connectionString: database, max: 20 })
    boss.on("error", (error) => {
      throw error
    })
    await boss.start()
    await boss.createQueue("jobs")
    await boss.work<{ readonly number: number }>("jobs", { batchSize: 500, pollingIntervalSeconds: 0.5 }, async (jobs) => {
      for (const { data } of jobs) executed(data.number)
    })
    const client = new pg.Client(database)
    await client.connect()
    return {
      enqueue: (number, payload) => boss.send("jobs", { number, payload }),
      unfinished: async () => {
        const { rows } = await client.query("select count(*) as jobs from pgboss.job where name = 'jobs' and state <> 'completed'")
        return Number(rows[0]?.jobs)
      },
      close: async () => {
        await client.end()
        await boss.stop({ graceful: false })
      },
    }
  })
