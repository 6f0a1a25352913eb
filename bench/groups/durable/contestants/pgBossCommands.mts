/** Jobs of pg-boss, sent one by one. */
import pg from "pg"
import { PgBoss } from "pg-boss"
import { payload } from "../machines/toggle.ts"
import { sideBySide, type ThroughputOptions, throughputOf } from "../Throughput.ts"

const queue = "jobs"

export const enqueueing = async ({ database, concurrency }: ThroughputOptions) => {
  const boss = new PgBoss({ connectionString: database, max: concurrency })
  boss.on("error", (error) => {
    throw error
  })
  await boss.start()
  await boss.createQueue(queue)
  return throughputOf({
    store: (isOver) =>
      sideBySide(concurrency, async () => {
        let done = 0
        while (!isOver()) {
          await boss.send(queue, { payload })
          done++
        }
        return done
      }),
    count: async () => {
      const client = new pg.Client(database)
      await client.connect()
      const { rows } = await client.query("select count(*) as jobs from pgboss.job where name = $1", [queue])
      await client.end()
      return Number(rows[0]?.jobs)
    },
    close: () => boss.stop({ graceful: false }),
  })
}
