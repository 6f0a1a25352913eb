/** Jobs of graphile-worker, which are executed in the order of their priority and time. */
import { makeWorkerUtils, run, runMigrations } from "graphile-worker"
import pg from "pg"
import { concurrency, fairnessOf, work } from "../Fairness.ts"

export const fairness = ({ database }: { readonly database: string }) =>
  fairnessOf(async (started) => {
    await runMigrations({ connectionString: database })
    const pool = new pg.Pool({ connectionString: database, max: 4 })
    const utils = await makeWorkerUtils({ pgPool: pool })
    const runner = await run({
      preset: { worker: { connectionString: database, concurrentJobs: concurrency, maxPoolSize: concurrency + 4 } },
      noHandleSignals: true,
      taskList: {
        job: async (job) => {
          started((job as { readonly number: number }).number)
          await work()
        },
      },
    })
    return {
      fillLarge: async (count) => {
        const jobs = Array.from({ length: 1000 }, () => ({ identifier: "job", payload: { number: -1 } }))
        for (let from = 0; from < count; from += 1000) await utils.addJobs(jobs)
      },
      enqueueSmall: (all) => utils.addJobs(all.map(({ number }) => ({ identifier: "job", payload: { number } }))),
      close: async () => {
        await runner.stop()
        await utils.release()
        await pool.end()
      },
    }
  })
