/**
 * Jobs of graphile-worker with a `run_at`. It finds those by polling; the interval is a fortieth of its default. A local
 * queue and batched completion, as its documentation advises for throughput.
 */
import { makeWorkerUtils, run, runMigrations } from "graphile-worker"
import { Firings, type Lateness } from "../Lateness.ts"
import { payload } from "../machines/toggle.ts"

export const timers = async ({ database }: { readonly database: string }): Promise<Lateness & { readonly close: () => Promise<void> }> => {
  let firings = new Firings(0, 0)
  await runMigrations({ connectionString: database })
  const utils = await makeWorkerUtils({ connectionString: database })
  const runner = await run({
    preset: {
      worker: {
        connectionString: database,
        concurrentJobs: 24,
        maxPoolSize: 30,
        pollInterval: 50,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
    noHandleSignals: true,
    taskList: {
      fire: async (job) => {
        firings.fired((job as { readonly id: string }).id)
      },
    },
  })
  return {
    fire: async (count, leadMillis) => {
      const due = Date.now() + leadMillis
      firings = new Firings(count, due)
      const jobs = Array.from({ length: count }, (_, index) => ({
        identifier: "fire",
        payload: { id: String(index), payload },
        runAt: new Date(due),
      }))
      for (let from = 0; from < count; from += 1000) await utils.addJobs(jobs.slice(from, from + 1000))
      return firings.results()
    },
    close: async () => {
      await runner.stop()
      await utils.release()
    },
  }
}
