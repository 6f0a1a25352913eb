/**
 * Jobs of pg-boss with `startAfter`. It finds them by polling, at most twice a second. It has eight workers, large batches, and
 * no pause while batches are full.
 */
import { PgBoss } from "pg-boss"
import { Firings, type Lateness } from "../Lateness.ts"
import { payload } from "../machines/toggle.ts"
import { onAnswered } from "./answered.mts"

const queue = "fire"
const options = { localConcurrency: 8, batchSize: 500, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true }

export const timers = async ({ database }: { readonly database: string }): Promise<Lateness & { readonly close: () => Promise<void> }> => {
  let firings = new Firings(0, 0)
  const numbers = new Map<string, number>()
  onAnswered("pg-boss", "SET completed_on", ([, ids]) => {
    for (const id of ids as ReadonlyArray<string>) firings.stored(numbers.get(id) ?? Number.NaN)
  })
  const boss = new PgBoss({ connectionString: database, max: 20 })
  boss.on("error", (error) => {
    throw error
  })
  await boss.start()
  await boss.createQueue(queue)
  await boss.work<{ readonly number: number }>(queue, options, async (jobs) => {
    for (const { id, data } of jobs) {
      firings.called(data.number)
      numbers.set(id, data.number)
    }
  })
  return {
    fire: async (count, leadMillis) => {
      const due = Date.now() + leadMillis
      firings = new Firings(count, due)
      numbers.clear()
      const jobs = Array.from({ length: count }, (_, index) => ({ data: { number: index, payload }, startAfter: new Date(due) }))
      for (let from = 0; from < count; from += 1000) await boss.insert(queue, jobs.slice(from, from + 1000))
      return firings.results()
    },
    close: () => boss.stop({ graceful: false }),
  }
}
