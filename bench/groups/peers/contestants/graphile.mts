/** Jobs of graphile-worker, with the local queue and the batched completion that its documentation advises for throughput. */
import { makeWorkerUtils, run, runMigrations } from "graphile-worker"
import pg from "pg"
import { queueOf } from "../Jobs.ts"

export const queue = ({ database }: { readonly database: string }) =>
  queueOf(async (executed) => {
    await runMigrations({ connectionString: database })
    const pool = new pg.Pool({ connectionString: database, max: 16 })
    const utils = await makeWorkerUtils({ pgPool: pool })
    const runner = await run({
      preset: {
        worker: {
          connectionString: database,
          concurrentJobs: 24,
          maxPoolSize: 30,
          localQueue: { size: 500 },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
      noHandleSignals: true,
      taskList: { job: async (job) => executed((job as { readonly number: number }).number) },
    })
    return {
      enqueue: (number, payload) => utils.addJob("job", { number, payload }),
      unfinished: async () => {
        const { rows } = await pool.query("select count(*) as jobs from graphile_worker._private_jobs")
        return Number(rows[0]?.jobs)
      },
      close: async () => {
        await runner.stop()
        await utils.release()
        await pool.end()
      },
    }
  })
