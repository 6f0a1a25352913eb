/**
 * Threads for work that keeps a processor busy: reading ontologies, training and the built-in extractor. As many as the
 * machine has processors, started when they are needed, each with one task at a time. Who brings more work than can wait is
 * held back until there is room. A thread that ends in the middle of a task is replaced and the task tried once more; one that
 * has had nothing to do for a while is ended.
 */

import { availableParallelism } from "node:os"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { PoolThread, ThreadEnded } from "./PoolThread.ts"
import type { Shared } from "./Protocol.ts"
import { type TaskFailed, WorkerCrashed, type WorkerError } from "./WorkerError.ts"

export interface WorkerPoolOptions {
  /** How many threads at most; as many as the machine runs at once unless given. */
  readonly size?: number
  /** How many tasks may wait for a thread; twice as many as there are threads unless given. */
  readonly queue?: number
  /** A module that serves tasks, for other work than this package's own. */
  readonly entry?: URL
}

export interface WorkerPoolService {
  readonly size: number
  /** Runs a task on a thread. Interruption ends it there, too. */
  readonly run: (task: string, input: unknown, shared?: Shared) => Effect.Effect<unknown, WorkerError>
}

export class WorkerPool extends Context.Service<WorkerPool, WorkerPoolService>()("@detent/knowledge/WorkerPool") {
  static readonly layer = (options: WorkerPoolOptions = {}): Layer.Layer<WorkerPool> => Layer.effect(WorkerPool, makeWorkerPool(options))
}

/** Sources run as they are and built as JavaScript; the thread has to be started from the same kind. */
export const ownEntry = (): URL => new URL(import.meta.url.endsWith(".ts") ? "./WorkerEntry.ts" : "./WorkerEntry.js", import.meta.url)

const attempts = 2

/** How long a thread without work is kept. It holds about 100 MB, and is started again in less than a second. */
const patience = Duration.seconds(10)

export const makeWorkerPool = (options: WorkerPoolOptions = {}): Effect.Effect<WorkerPoolService, never, Scope.Scope> =>
  Effect.gen(function* () {
    const size = Math.max(1, Math.floor(options.size ?? availableParallelism()))
    const places = Semaphore.makeUnsafe(Math.max(1, Math.floor(options.queue ?? 2 * size)))
    const threads = yield* makeThreads(size, options.entry ?? ownEntry())
    const attempt = (task: string, input: unknown, shared: Shared | undefined) =>
      threads.use((thread) => thread.run(task, input, shared), places.take(1), places.release(1))
    return {
      size,
      run: (task, input, shared) =>
        attempt(task, input, shared).pipe(
          Effect.catchIf(isEnd, () => attempt(task, input, shared)),
          Effect.mapError((error): TaskFailed | WorkerCrashed =>
            error instanceof ThreadEnded ? new WorkerCrashed({ task, attempts, problem: error.problem }) : error,
          ),
        ),
    }
  })

const isEnd = (error: TaskFailed | ThreadEnded): error is ThreadEnded => error instanceof ThreadEnded

/** Threads that are started when one is needed and none is idle, and that all end with the scope. */
const makeThreads = (size: number, entry: URL) =>
  Effect.gen(function* () {
    const running = Semaphore.makeUnsafe(size)
    const idle: Array<PoolThread> = []
    const all = new Set<PoolThread>()
    let isClosed = false
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => {
        isClosed = true
        return Promise.all([...all].map((thread) => thread.stop()))
      }),
    )
    const borrow = Effect.suspend(() => {
      // Whoever sees its thread end with the pool must not start another.
      if (isClosed) return Effect.fail(new ThreadEnded("the pool has ended"))
      const kept = idle.pop()
      if (kept?.alive) return Effect.succeed(kept)
      if (kept !== undefined) all.delete(kept)
      const started = new PoolThread(entry)
      all.add(started)
      return Effect.succeed(started)
    })
    const end = (thread: PoolThread) =>
      Effect.promise(() => {
        idle.splice(idle.indexOf(thread), 1)
        all.delete(thread)
        return thread.stop()
      })
    const scope = yield* Effect.scope
    /** One at a time looks after all of them; it ends with the last idle one. */
    let isWatched = false
    const watching = Effect.gen(function* () {
      while (idle.length > 0) {
        yield* Effect.sleep(patience)
        const now = yield* Clock.currentTimeMillis
        yield* Effect.forEach(
          idle.filter(({ idleSince }) => now - idleSince >= Duration.toMillis(patience)),
          end,
          { discard: true },
        )
      }
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          isWatched = false
        }),
      ),
    )
    const giveBack = (thread: PoolThread) =>
      Effect.gen(function* () {
        if (!thread.alive) return void all.delete(thread)
        thread.idleSince = yield* Clock.currentTimeMillis
        idle.push(thread)
        if (isWatched) return
        isWatched = true
        yield* Effect.forkIn(watching, scope)
      })
    return {
      /** Waits in the queue for a thread, then works with it. */
      use: <A, E>(work: (thread: PoolThread) => Effect.Effect<A, E>, enter: Effect.Effect<unknown>, leave: Effect.Effect<unknown>) =>
        Effect.uninterruptibleMask((restore) =>
          restore(enter).pipe(
            Effect.andThen(Effect.ensuring(restore(running.take(1)), leave)),
            Effect.andThen(
              Effect.ensuring(
                Effect.acquireUseRelease(borrow, (thread) => restore(work(thread)), giveBack),
                running.release(1),
              ),
            ),
          ),
        ),
    }
  })
