/**
 * Jobs of graphile-worker with a `run_at`. It finds them by polling; the interval is a fortieth of its default. It has a local
 * queue and batched completion, as its documentation advises for throughput. A job is done when it is deleted.
 */
import { Firings, type Lateness } from "../Lateness.ts"
import { payload } from "../machines/toggle.ts"
import { onAnswered } from "./answered.mts"

export const timers = async ({ database }: { readonly database: string }): Promise<Lateness & { readonly close: () => Promise<void> }> => {
  // Set before the import, because the module reads it when it is loaded. Its own benchmarks also switch off the log line per job.
  process.env["NO_LOG_SUCCESS"] = "1"
  const { makeWorkerUtils, run, runMigrations } = await import("graphile-worker")
  let firings = new Firings(0, 0)
  const numbers = new Map<string, number>()
  onAnswered("graphile-worker", "delete from", ([ids]) => {
    for (const id of Array.isArray(ids) ? ids : [ids]) firings.stored(numbers.get(String(id)) ?? Number.NaN)
  })
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
      fire: async (payload, { job }) => {
        const { number } = payload as { readonly number: number }
        firings.called(number)
        numbers.set(job.id, number)
      },
    },
  })
  return {
    fire: async (count, leadMillis) => {
      const due = Date.now() + leadMillis
      firings = new Firings(count, due)
      numbers.clear()
      const jobs = Array.from({ length: count }, (_, index) => ({
        identifier: "fire",
        payload: { number: index, payload },
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
