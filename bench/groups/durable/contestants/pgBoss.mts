/**
 * Jobs of pg-boss with `startAfter`. It finds those by polling, twice a second at most; eight workers, large batches, and
 * no pause while batches are full.
 */
import { PgBoss } from "pg-boss"
import { Firings, type Lateness } from "../Lateness.ts"
import { payload } from "../machines/toggle.ts"

const queue = "fire"
const options = { localConcurrency: 8, batchSize: 500, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true }

export const timers = async ({ database }: { readonly database: string }): Promise<Lateness & { readonly close: () => Promise<void> }> => {
  let firings = new Firings(0, 0)
  const boss = new PgBoss({ connectionString: database, max: 20 })
  boss.on("error", (error) => {
    throw error
  })
  await boss.start()
  await boss.createQueue(queue)
  await boss.work<{ readonly id: string }>(queue, options, async (jobs) => {
    for (const { data } of jobs) firings.fired(data.id)
  })
  return {
    fire: async (count, leadMillis) => {
      const due = Date.now() + leadMillis
      firings = new Firings(count, due)
      const jobs = Array.from({ length: count }, (_, index) => ({ data: { id: String(index), payload }, startAfter: new Date(due) }))
      for (let from = 0; from < count; from += 1000) await boss.insert(queue, jobs.slice(from, from + 1000))
      return firings.results()
    },
    close: () => boss.stop({ graceful: false }),
  }
}
