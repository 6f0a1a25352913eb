/** Jobs of pg-boss, with a group each. It limits the jobs of a group that run at once, and fetches jobs in their order. */
import { PgBoss } from "pg-boss"
import { concurrency, fairnessOf, work } from "../Fairness.ts"

const queue = "jobs"

export const fairness = ({ database }: { readonly database: string }) =>
  fairnessOf(async (started) => {
    const boss = new PgBoss({ connectionString: database, max: 20 })
    boss.on("error", (error) => {
      throw error
    })
    await boss.start()
    await boss.createQueue(queue)
    // Each of its workers asks every half second, its shortest interval, so that it fetches several jobs and executes them in turn.
    const options = { localConcurrency: concurrency, batchSize: 64, pollingIntervalSeconds: 0.5 }
    await boss.work<{ readonly number: number }>(queue, options, async (jobs) => {
      for (const { data } of jobs) {
        started(data.number)
        await work()
      }
    })
    return {
      fillLarge: async (count) => {
        const jobs = Array.from({ length: 1000 }, () => ({ data: { number: -1 }, group: { id: "large" } }))
        for (let from = 0; from < count; from += 1000) await boss.insert(queue, jobs)
      },
      enqueueSmall: (all) =>
        boss.insert(
          queue,
          all.map(({ group, number }) => ({ data: { number }, group: { id: group } })),
        ),
      close: () => boss.stop({ graceful: false }),
    }
  })
