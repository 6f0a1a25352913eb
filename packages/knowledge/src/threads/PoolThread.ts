/** One thread of a pool: what it has been given to keep, and the one task it is working on. */

import { Worker } from "node:worker_threads"
import * as Effect from "effect/Effect"
import type { FromWorker, Shared, ToWorker } from "./Protocol.ts"
import { TaskFailed } from "./WorkerError.ts"

/** The thread ended before it answered. */
export class ThreadEnded {
  readonly _tag = "ThreadEnded"
  readonly problem: string
  constructor(problem: string) {
    this.problem = problem
  }
}

/** An ontology with its model is some megabytes; a batch uses one, and few batches run at once. */
const mostShared = 4

export class PoolThread {
  private readonly worker: Worker
  private readonly shared = new Set<string>()
  private ended: ThreadEnded | undefined
  private listener: ((outcome: FromWorker | ThreadEnded) => void) | undefined
  private next = 0
  /** When it was last given back. */
  idleSince = 0

  constructor(entry: URL) {
    this.worker = new Worker(entry)
    // A pool that is idle does not keep the process alive.
    this.worker.unref()
    this.worker.on("message", (message: FromWorker) => this.listener?.(message))
    this.worker.on("error", (error) => this.end(error instanceof Error ? error.message : String(error)))
    this.worker.on("exit", (code) => this.end(`it left with code ${code}`))
  }

  get alive(): boolean {
    return this.ended === undefined
  }

  run(task: string, input: unknown, shared: Shared | undefined): Effect.Effect<unknown, TaskFailed | ThreadEnded> {
    return Effect.callback<unknown, TaskFailed | ThreadEnded>((resume) => {
      if (this.ended !== undefined) {
        resume(Effect.fail(this.ended))
        return
      }
      const id = this.next++
      this.listener = (outcome) => {
        if (!(outcome instanceof ThreadEnded) && outcome.id !== id) return
        this.listener = undefined
        this.worker.unref()
        resume(outcomeOf(task, outcome))
      }
      this.worker.ref()
      this.hand(shared)
      this.post({ _tag: "Run", id, task, input, shared: shared?.key })
      // The work does not look up to see whether it is still wanted, so the thread has to go.
      return Effect.promise(() => this.stop())
    })
  }

  stop(): Promise<unknown> {
    this.end("it was stopped")
    return this.worker.terminate()
  }

  private hand(shared: Shared | undefined) {
    if (shared === undefined || this.shared.has(shared.key)) return
    for (const key of this.shared) {
      if (this.shared.size < mostShared) break
      this.shared.delete(key)
      this.post({ _tag: "Forget", key })
    }
    this.shared.add(shared.key)
    this.post({ _tag: "Share", shared })
  }

  private post(message: ToWorker) {
    this.worker.postMessage(message)
  }

  private end(problem: string) {
    this.ended ??= new ThreadEnded(problem)
    const { listener } = this
    this.listener = undefined
    listener?.(this.ended)
  }
}

const outcomeOf = (task: string, outcome: FromWorker | ThreadEnded): Effect.Effect<unknown, TaskFailed | ThreadEnded> => {
  if (outcome instanceof ThreadEnded) return Effect.fail(outcome)
  return outcome._tag === "Done" ? Effect.succeed(outcome.output) : Effect.fail(new TaskFailed({ task, problem: outcome.problem }))
}
