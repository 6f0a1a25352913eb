/**
 * A second thread of a worker process. It ends the process when a task exceeds its memory or its processor time, which the busy thread
 * cannot do itself, and when the parent process has ended.
 */
import { workerData } from "node:worker_threads"

/** In milliseconds. A decompression bomb grows by about 100 MB in this time. */
const interval = 25

const megabyte = 1024 * 1024

/**
 * Limits as the serving thread sets them: memory in megabytes, or 0 between tasks; milliseconds of processor time for one step; and
 * the number of the step.
 */
const watch = (limits: Int32Array) => {
  const parent = process.ppid
  let step: number | undefined
  let since = process.cpuUsage()
  for (;;) {
    const memory = Atomics.load(limits, 0)
    // Sleeps until the next task.
    if (memory === 0) {
      Atomics.wait(limits, 0, 0)
      continue
    }
    if (step !== Atomics.load(limits, 2)) {
      step = Atomics.load(limits, 2)
      since = process.cpuUsage()
    }
    Atomics.wait(limits, 0, memory, interval)
    if (Atomics.load(limits, 0) === 0) continue
    if (process.memoryUsage.rss() > memory * megabyte || process.ppid !== parent) process.kill(process.pid, "SIGKILL")
    const { user, system } = process.cpuUsage(since)
    const isOver = step === Atomics.load(limits, 2) && (user + system) / 1000 > Atomics.load(limits, 1)
    // The signal tells the pool which limit was exceeded. Windows does not have this signal.
    if (isOver) process.kill(process.pid, process.platform === "win32" ? "SIGKILL" : "SIGVTALRM")
  }
}

if (workerData instanceof Int32Array) watch(workerData)
