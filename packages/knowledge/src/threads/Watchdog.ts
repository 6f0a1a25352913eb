/**
 * A thread beside the work of a worker process. It ends the process when its memory exceeds the limit of the task, which the busy
 * thread cannot do itself, and when the process that started it is gone.
 */
import { workerData } from "node:worker_threads"

/** In milliseconds. A decompression bomb grows by about 100 MB in this time. */
const interval = 25

const megabyte = 1024 * 1024

const watch = (limitOf: Int32Array) => {
  const parent = process.ppid
  for (;;) {
    const limit = Atomics.load(limitOf, 0)
    // 0 between tasks: then the thread sleeps until the next one.
    if (limit === 0) {
      Atomics.wait(limitOf, 0, 0)
      continue
    }
    Atomics.wait(limitOf, 0, limit, interval)
    if (Atomics.load(limitOf, 0) === 0) continue
    if (process.memoryUsage.rss() > limit * megabyte || process.ppid !== parent) process.kill(process.pid, "SIGKILL")
  }
}

if (workerData instanceof Int32Array) watch(workerData)
