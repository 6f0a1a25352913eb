/**
 * Jobs of graphile-worker. For throughput it has a local queue and batched completion, as its documentation advises; for latency
 * its defaults, which wake workers by NOTIFY.
 */
import { makeWorkerUtils, run, runMigrations } from "graphile-worker"
import pg from "pg"
import { payload } from "../machines/toggle.ts"
import { sideBySide, type ThroughputOptions, throughputOf } from "../Throughput.ts"
import { workingOf } from "../Working.ts"

const modes = {
  throughput: { concurrentJobs: 24, maxPoolSize: 30, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
  latency: { concurrentJobs: 4, maxPoolSize: 10 },
}

export const enqueueing = async ({ database, concurrency }: ThroughputOptions) => {
  await runMigrations({ connectionString: database })
  const pool = new pg.Pool({ connectionString: database, max: concurrency })
  const utils = await makeWorkerUtils({ pgPool: pool })
  return throughputOf({
    store: (isOver) =>
      sideBySide(concurrency, async () => {
        let done = 0
        while (!isOver()) {
          await utils.addJob("job", { payload })
          done++
        }
        return done
      }),
    count: () => countJobs(pool),
    close: async () => {
      await utils.release()
      await pool.end()
    },
  })
}

export const working = async ({ database }: { readonly database: string }) => {
  await runMigrations({ connectionString: database })
  const pool = new pg.Pool({ connectionString: database, max: 4 })
  const utils = await makeWorkerUtils({ pgPool: pool })
  return workingOf({
    fill: async (count) => {
      const jobs = Array.from({ length: 1000 }, () => ({ identifier: "job", payload: { payload } }))
      for (let from = 0; from < count; from += 1000) await utils.addJobs(jobs)
    },
    begin: async (mode, executed) => {
      const runner = await run({
        preset: { worker: { connectionString: database, ...modes[mode] } },
        noHandleSignals: true,
        taskList: {
          job: async () => {
            executed()
          },
        },
      })
      return () => runner.stop()
    },
    enqueue: () => utils.addJob("job", { payload }),
    left: () => countJobs(pool),
    close: async () => {
      await utils.release()
      await pool.end()
    },
  })
}

const countJobs = async (pool: pg.Pool): Promise<number> => {
  const { rows } = await pool.query("select count(*) as jobs from graphile_worker._private_jobs")
  return Number(rows[0]?.jobs)
}
