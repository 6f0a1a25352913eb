/**
 * Worker processes for work on user content. They start on demand, and each has one task at a time. If the queue is full, callers wait
 * until there is room. A worker that exceeds the time or memory limit of its task is killed and replaced; so is one that ends by itself.
 * The task is tried once more, and then it fails. Idle workers end after some seconds.
 */
import { availableParallelism } from "node:os"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import { LimitExceeded, limitText, type Shared, type TaskLimit, WorkerCrashed, type WorkerError } from "./Protocol.ts"
import { WorkerEnded, WorkerProcess, type WorkerTask } from "./WorkerProcess.ts"

export interface ProcessPoolOptions {
  /** A module that serves tasks. */
  readonly entry: URL
  /** The limit of a task that names none. */
  readonly limit: TaskLimit
  /** The most workers. Default: the number of processors of the machine. */
  readonly size?: number
  /** How many tasks may wait for a worker. Default: twice the number of workers. */
  readonly queue?: number
  /** How large the heap of a worker may grow, in megabytes: up to the largest limit of a task. Default: the memory of `limit`. */
  readonly heap?: number
  /** A worker that holds more after its task is replaced, in megabytes. Default: half of the memory of `limit`. */
  readonly keptBelow?: number
  /** A worker that has not started after this time is replaced. Default: 60 seconds. */
  readonly startWithin?: Duration.Input
  /** How long an idle worker is kept. It holds about 100 MB, and starts again in less than a second. Default: 10 seconds. */
  readonly patience?: Duration.Input
}

export interface TaskOptions<E = never, R = never> {
  /** Default: that of the pool. */
  readonly limit?: TaskLimit
  /** How often the task is tried when its worker ends. Default: 2. */
  readonly attempts?: number
  /** Of several idle workers, one whose last task had the same affinity is preferred. */
  readonly affinity?: string
  /** The sources that the task can read, by name, from the beginning as often as it asks. */
  readonly sources?: Readonly<Record<string, Stream.Stream<unknown, E, R>>>
}

export interface StreamOptions<E = never, R = never> extends Omit<TaskOptions<E, R>, "attempts"> {
  /** Receives the result of the task, before the stream ends. */
  readonly done?: (output: unknown) => void
}

export interface ProcessPool {
  readonly size: number
  /**
   * Runs a task on a worker. Interruption also ends it in the worker. The time limit holds for each step, in processor time of the worker:
   * waiting for a source does not count, nor does other load of the machine.
   */
  readonly run: <E = never, R = never>(
    task: string,
    input: unknown,
    shared?: Shared,
    options?: TaskOptions<E, R>,
  ) => Effect.Effect<unknown, WorkerError | E, R>
  /** Runs a task that emits its output in parts. */
  readonly stream: <E = never, R = never>(
    task: string,
    input: unknown,
    options?: StreamOptions<E, R>,
  ) => Stream.Stream<unknown, WorkerError | E, R>
}

const attempts = 2

const defaultPatience = Duration.seconds(10)

/** Starting takes less than a second on an idle machine. */
const defaultStart = Duration.seconds(60)

export const makeProcessPool = (options: ProcessPoolOptions): Effect.Effect<ProcessPool, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { entry, limit: usual } = options
    const size = Math.max(1, Math.floor(options.size ?? availableParallelism()))
    const places = Semaphore.makeUnsafe(Math.max(1, Math.floor(options.queue ?? 2 * size)))
    const workers = yield* makeWorkers({
      size,
      entry,
      heap: options.heap ?? usual.memory,
      keptBelow: options.keptBelow ?? usual.memory / 2,
      startWithin: Duration.fromInputUnsafe(options.startWithin ?? defaultStart),
      patience: Duration.fromInputUnsafe(options.patience ?? defaultPatience),
    })

    const attempt = <E, R>(task: WorkerTask<E, R>, affinity: string | undefined) =>
      workers.use(affinity, (worker) => worker.run(task), places.take(1), places.release(1))

    const run = <E = never, R = never>(
      task: string,
      input: unknown,
      shared?: Shared,
      { limit = usual, attempts: most = attempts, affinity, sources = {} }: TaskOptions<E, R> = {},
    ) => {
      const asked: WorkerTask<E, R> = { task, input, shared, limit, sources, emit: () => Effect.void }
      const trying = (count: number): Effect.Effect<unknown, WorkerError | E, R> =>
        Effect.catch(attempt(asked, affinity), (error) => {
          if (!(error instanceof WorkerEnded)) return Effect.fail(error)
          return count < most && error.reason !== "stopped" ? trying(count + 1) : Effect.fail(errorOf(asked, error, count))
        })
      return trying(1)
    }

    const stream = <E = never, R = never>(
      task: string,
      input: unknown,
      { limit = usual, affinity, sources = {}, done }: StreamOptions<E, R> = {},
    ) =>
      Stream.callback<unknown, WorkerError | E, R>(
        (queue) => {
          const asked: WorkerTask<E, R> = { task, input, shared: undefined, limit, sources, emit: (items) => Queue.offerAll(queue, items) }
          return attempt(asked, affinity).pipe(
            Effect.mapError((error) => (error instanceof WorkerEnded ? errorOf(asked, error, 1) : error)),
            Effect.matchCauseEffect({
              onFailure: (cause) => Queue.failCause(queue, cause),
              onSuccess: (output) => {
                done?.(output)
                return Queue.end(queue)
              },
            }),
          )
        },
        { bufferSize: 4096, strategy: "suspend" },
      )

    return { size, run, stream }
  })

const errorOf = (
  { task, limit }: Pick<WorkerTask<never, never>, "task" | "limit">,
  { reason, problem }: WorkerEnded,
  count: number,
): WorkerError =>
  reason === "time" || reason === "memory"
    ? new LimitExceeded({ task, exceeded: reason, limit: limitText(limit, reason), attempts: count })
    : new WorkerCrashed({ task, attempts: count, problem })

interface WorkersOptions {
  readonly size: number
  readonly entry: URL
  /** How large the heap of a worker may grow, in megabytes: up to the largest limit of a task. */
  readonly heap: number
  readonly keptBelow: number
  readonly startWithin: Duration.Duration
  readonly patience: Duration.Duration
}

/** Workers that start when one is needed and none is idle, and that all end with the scope. */
const makeWorkers = ({ size, entry, heap, keptBelow, startWithin, patience }: WorkersOptions) =>
  Effect.gen(function* () {
    const running = Semaphore.makeUnsafe(size)
    const idle: Array<WorkerProcess> = []
    const all = new Set<WorkerProcess>()
    let isClosed = false
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => {
        isClosed = true
        return Promise.all([...all].map((worker) => worker.stop()))
      }),
    )
    const start = () => {
      const started = new WorkerProcess(entry, heap, startWithin)
      all.add(started)
      return started
    }
    /** The most suitable idle worker: one with the same affinity, else one without any, else the last. */
    const suiting = (affinity: string | undefined): WorkerProcess | undefined => {
      for (const dead of idle.filter(({ alive }) => !alive)) {
        idle.splice(idle.indexOf(dead), 1)
        all.delete(dead)
      }
      const found = idle.findLast((one) => one.affinity === affinity) ?? idle.findLast((one) => one.affinity === undefined)
      // A worker with another affinity keeps it while the pool may start another one.
      const chosen = found ?? (all.size < size ? undefined : idle.at(-1))
      if (chosen !== undefined) idle.splice(idle.indexOf(chosen), 1)
      return chosen
    }
    const borrow = (affinity: string | undefined) =>
      Effect.suspend(() => {
        // A task whose worker ended with the pool must not start another worker.
        if (isClosed) return Effect.fail(new WorkerEnded("stopped", "the pool has ended"))
        const worker = suiting(affinity) ?? start()
        worker.affinity = affinity
        return Effect.succeed(worker)
      })
    const end = (worker: WorkerProcess) =>
      Effect.promise(() => {
        all.delete(worker)
        return worker.stop()
      })
    const scope = yield* Effect.scope
    /** One fiber at a time watches all idle workers; it ends with the last of them. */
    let isWatched = false
    const watching = Effect.gen(function* () {
      while (idle.length > 0) {
        yield* Effect.sleep(patience)
        const now = yield* Clock.currentTimeMillis
        const due = idle.filter(({ idleSince }) => now - idleSince >= Duration.toMillis(patience))
        // Removed first, so that none of them gets a task while the pool waits for another one to exit.
        for (const worker of due) idle.splice(idle.indexOf(worker), 1)
        yield* Effect.forEach(due, end, { discard: true, concurrency: "unbounded" })
      }
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          isWatched = false
        }),
      ),
    )
    const giveBack = (worker: WorkerProcess) =>
      Effect.gen(function* () {
        if (!worker.alive || worker.memory > keptBelow) return yield* end(worker)
        worker.idleSince = yield* Clock.currentTimeMillis
        idle.push(worker)
        if (isWatched) return
        isWatched = true
        yield* Effect.forkIn(watching, scope)
      })
    return {
      /** Waits in the queue for a worker, then works with it. */
      use: <A, E, R>(
        affinity: string | undefined,
        work: (worker: WorkerProcess) => Effect.Effect<A, E, R>,
        enter: Effect.Effect<unknown>,
        leave: Effect.Effect<unknown>,
      ) =>
        Effect.uninterruptibleMask((restore) =>
          restore(enter).pipe(
            Effect.andThen(Effect.ensuring(restore(running.take(1)), leave)),
            Effect.andThen(
              Effect.ensuring(
                Effect.acquireUseRelease(borrow(affinity), (worker) => restore(work(worker)), giveBack),
                running.release(1),
              ),
            ),
          ),
        ),
    }
  })
