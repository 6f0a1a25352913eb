/** The side of the worker process: runs the tasks of its pool, one at a time. */
import { flushCompileCache } from "node:module"
import { Worker } from "node:worker_threads"
import { describe } from "@detent/machine/internal"
import { type FromWorker, moduleBeside, type TaskChannel, type TaskHandler, type ToWorker, UnsoundWorker } from "./Protocol.ts"

type Run = Extract<ToWorker, { readonly _tag: "Run" }>
type Reply = Extract<ToWorker, { readonly _tag: "Piece" | "Taken" }>

const megabyte = 1024 * 1024

const memory = () => Math.ceil(process.memoryUsage.rss() / megabyte)

/** Returns the task of a name. Its modules may be loaded at the first call. */
export type FindTask = (name: string) => TaskHandler | undefined | Promise<TaskHandler | undefined>

export const serve = (find: FindTask) => {
  const kept = new Map<string, unknown>()
  const watchdog = startWatchdog()
  let replied: ((reply: Reply) => void) | undefined
  const answer = (message: FromWorker) => process.send?.(message)
  let openings = 0
  let last: Promise<unknown> = Promise.resolve()
  /** One after the other: the pool answers one question at a time. */
  const ask = (message: FromWorker): Promise<Reply> => {
    const reply = last.then(
      () =>
        new Promise<Reply>((resolve) => {
          replied = resolve
          answer(message)
        }),
    )
    last = reply
    return reply
  }
  const channel: TaskChannel = {
    emit: async (items) => {
      await ask({ _tag: "Emit", items })
    },
    async *source(name) {
      const opening = openings++
      for (;;) {
        const reply = await ask({ _tag: "Pull", source: name, opening })
        if (reply._tag === "Taken" || reply.items === undefined) return
        yield reply.items
      }
    },
  }

  const run = async ({ task, input, shared }: Run): Promise<FromWorker> => {
    try {
      const handler = await find(task)
      if (handler === undefined) return { _tag: "Failed", problem: "this worker knows no such task", isUnsound: false, memory: memory() }
      // Both were sent by the pool of this package, which knows the types of the task.
      const output = await handler(input as never, channel, kept.get(shared ?? "") as never)
      return { _tag: "Done", output, memory: memory() }
    } catch (error) {
      return { _tag: "Failed", problem: describe(error), isUnsound: error instanceof UnsoundWorker, memory: memory() }
    }
  }

  process.on("message", (message: ToWorker) => {
    switch (message._tag) {
      case "Share":
        kept.set(message.key, message.value)
        return
      case "Forget":
        kept.delete(message.key)
        return
      case "Run":
        watchdog.begin(message)
        void run(message).then((outcome) => {
          watchdog.end()
          answer(outcome)
          // A worker is killed, not closed, so it stores its compile cache here. Without a new module this does nothing.
          flushCompileCache()
        })
        return
      default:
        watchdog.nextStep()
        replied?.(message)
    }
  })
  // The process that started this one stops it. A signal to the whole group, as from a terminal, is for that process to handle.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined)
  process.on("disconnect", () => process.exit())
  answer({ _tag: "Ready" })
  flushCompileCache()
}

/** The largest number of milliseconds that the watchdog can hold: 24 days. */
const mostMillis = 2 ** 31 - 1

const startWatchdog = () => {
  const limits = new Int32Array(new SharedArrayBuffer(12))
  new Worker(moduleBeside(import.meta.url, "Watchdog"), { workerData: limits }).unref()
  const setMemory = (megabytes: number) => {
    Atomics.store(limits, 0, megabytes)
    Atomics.notify(limits, 0)
  }
  let later = 0
  /** The processor time of a step is counted from its beginning. */
  const beginStep = (time: number) => {
    Atomics.store(limits, 1, Math.min(time, mostMillis))
    Atomics.add(limits, 2, 1)
  }
  return {
    begin: ({ memory, start, time }: Run) => {
      later = time
      beginStep(start)
      setMemory(memory)
    },
    nextStep: () => beginStep(later),
    end: () => setMemory(0),
  }
}
