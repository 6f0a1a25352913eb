/**
 * One worker process of a pool: its shared values, and its current task. A process and not a thread: a
 * process can be killed in the middle of native code, its limit counts buffers and WebAssembly memory too, and running out of
 * memory ends it alone.
 */
import { type ChildProcess, fork } from "node:child_process"
import { getCompileCacheDir } from "node:module"
import { fileURLToPath } from "node:url"
import { describe } from "@detent/machine/internal"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type FromWorker, type Shared, TaskFailed, type TaskLimit, type ToWorker } from "./Protocol.ts"

/** The process ended before it answered, by a limit, by itself, or because the pool stopped it. */
export class WorkerEnded {
  readonly _tag = "WorkerEnded"
  readonly reason: "time" | "memory" | "crash" | "stopped"
  readonly problem: string
  constructor(reason: WorkerEnded["reason"], problem: string) {
    this.reason = reason
    this.problem = problem
  }
}

export interface WorkerTask<E, R> {
  readonly task: string
  readonly input: unknown
  readonly shared: Shared | undefined
  readonly limit: TaskLimit
  /** The sources that the task can read, by name. */
  readonly sources: Readonly<Record<string, Stream.Stream<unknown, E, R>>>
  /** Takes a part of the output. */
  readonly emit: (items: ReadonlyArray<unknown>) => Effect.Effect<unknown, E, R>
}

/** An ontology with its model is some megabytes; a batch uses one, and few batches run at the same time. */
const mostShared = 4

/** Variables a worker may need. It gets no others: keys and passwords stay with the process that started it. */
const passedOn = ["NODE_COMPILE_CACHE", "NODE_ENV", "TZ", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SystemRoot"]

/**
 * A step may take this many times its processor time in wall-clock time. On a busy machine a task takes longer without doing more, and a
 * task that only waits uses no processor time.
 */
const idleFactor = 5

/** How much of a worker's standard error is kept, to explain its end. */
const keptOutput = 4000

export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #exited: Promise<void>
  /** The keys of the values that the worker holds now, oldest first. */
  readonly #shared = new Set<string>()
  /** The keys of all values that were sent to the worker. Another object has another key, so callers that share a pool do not interfere. */
  readonly #keys = new WeakMap<Shared, string>()
  #handed = 0
  #ended: WorkerEnded | undefined
  #isReady = false
  #output = ""
  #listener: (() => void) | undefined
  readonly #messages: Array<FromWorker> = []
  /** When its last task ended. */
  idleSince = 0
  /** The affinity of its last task: a task with the same affinity may find cached data here. */
  affinity: string | undefined
  /** Its memory after its last task, in megabytes. */
  memory = 0

  readonly #startWithin: Duration.Duration

  constructor(entry: URL, heap: number, startWithin: Duration.Duration) {
    this.#startWithin = startWithin
    const environment = passedOn.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]] as const]))
    const compileCache = getCompileCacheDir()
    this.#child = fork(fileURLToPath(entry), [], {
      serialization: "advanced",
      execArgv: ["--no-warnings", `--max-old-space-size=${heap}`],
      // A compile cache that this process has enabled without the variable also halves the start time of a worker.
      env: { ...(compileCache === undefined ? {} : { NODE_COMPILE_CACHE: compileCache }), ...Object.fromEntries(environment) },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    })
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#output = (this.#output + text).slice(-keptOutput)
    })
    this.#child.on("message", (message: FromWorker) => this.#received(message))
    const failed = (error: Error) => this.#end(new WorkerEnded("crash", error.message))
    this.#child.on("error", failed)
    this.#child.stderr?.on("error", failed)
    this.#exited = new Promise((resolve) => {
      this.#child.on("exit", (code, signal) => {
        this.#end(this.#endOf(code, signal))
        resolve()
      })
    })
    this.#release()
  }

  get alive(): boolean {
    return this.#ended === undefined
  }

  run<E, R>(task: WorkerTask<E, R>): Effect.Effect<unknown, TaskFailed | WorkerEnded | E, R> {
    return Effect.suspend(() => {
      this.#hold()
      return Effect.scoped(this.#work(task))
    }).pipe(
      Effect.onExit((exit) => {
        this.#release()
        // The worker may still be running a task that was interrupted.
        return Exit.isSuccess(exit) || isOwnFailure(exit) ? Effect.void : Effect.promise(() => this.stop())
      }),
    )
  }

  async stop(): Promise<void> {
    this.#end(new WorkerEnded("stopped", "it was stopped"))
    if (this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined) return
    // Keeps the process of the pool alive until the worker has exited.
    this.#child.ref()
    this.#child.kill("SIGKILL")
    await this.#exited
  }

  #work<E, R>(task: WorkerTask<E, R>): Effect.Effect<unknown, TaskFailed | WorkerEnded | E, R | Scope.Scope> {
    const worker = this
    return Effect.gen(function* () {
      const scope = yield* Effect.scope
      const readings = new Map<number, Effect.Effect<ReadonlyArray<unknown> | undefined, E, R>>()
      // Starting a process takes most of a second on a busy machine, which does not count for the task.
      if (!worker.#isReady) yield* worker.#started
      const { input, shared, limit } = task
      yield* worker.#post(task.task, ...worker.#handing(shared), {
        _tag: "Run",
        task: task.task,
        input,
        shared: shared === undefined ? undefined : worker.#keyOf(shared),
        memory: limit.memory,
        start: Duration.toMillis(limit.start ?? limit.time),
        time: Duration.toMillis(limit.time),
      })
      const patience = (time: Duration.Input) => Duration.times(Duration.fromInputUnsafe(time), idleFactor)
      for (let duration = patience(limit.start ?? limit.time); ; duration = patience(limit.time)) {
        const message = yield* Effect.timeoutOrElse(worker.#next, {
          duration,
          orElse: () => Effect.fail(new WorkerEnded("time", "it exceeded its time limit")),
        })
        switch (message._tag) {
          case "Ready":
            break
          case "Done":
            worker.memory = message.memory
            return message.output
          case "Failed":
            worker.memory = message.memory
            if (message.isUnsound) worker.#end(new WorkerEnded("crash", message.problem))
            return yield* new TaskFailed({ task: task.task, problem: message.problem })
          case "Emit":
            yield* task.emit(message.items)
            yield* worker.#post(task.task, { _tag: "Taken" })
            break
          case "Pull": {
            const reading = readings.get(message.opening) ?? (yield* opened(task.sources[message.source] ?? Stream.empty, scope))
            readings.set(message.opening, reading)
            yield* worker.#post(task.task, { _tag: "Piece", items: yield* reading })
          }
        }
      }
    })
  }

  /** Fails if the worker does not report that it has started. `run` then kills it. */
  get #started(): Effect.Effect<unknown, WorkerEnded> {
    return Effect.timeoutOrElse(this.#next, {
      duration: this.#startWithin,
      orElse: () => Effect.fail(new WorkerEnded("crash", `it did not start within ${Duration.format(this.#startWithin)}`)),
    })
  }

  /** The next message of the worker; fails if the worker ended. */
  get #next(): Effect.Effect<FromWorker, WorkerEnded> {
    return Effect.callback<FromWorker, WorkerEnded>((resume) => {
      const look = () => {
        const message = this.#messages.shift()
        if (message === undefined && this.#ended === undefined) return
        this.#listener = undefined
        resume(message === undefined ? Effect.fail(this.#ended ?? new WorkerEnded("crash", "it ended")) : Effect.succeed(message))
      }
      this.#listener = look
      look()
      return Effect.sync(() => {
        this.#listener = undefined
      })
    })
  }

  #received(message: FromWorker) {
    if (message._tag === "Ready") this.#isReady = true
    this.#messages.push(message)
    this.#listener?.()
  }

  /** The messages that send the worker the shared values of the task. */
  #handing(shared: Shared | undefined): ReadonlyArray<ToWorker> {
    if (shared === undefined) return []
    const key = this.#keyOf(shared)
    if (this.#shared.has(key)) return []
    const forgotten = [...this.#shared].slice(0, Math.max(0, this.#shared.size + 1 - mostShared))
    for (const old of forgotten) this.#shared.delete(old)
    this.#shared.add(key)
    return [...forgotten.map((old): ToWorker => ({ _tag: "Forget", key: old })), { _tag: "Share", key, value: shared.value }]
  }

  #keyOf(shared: Shared): string {
    const key = this.#keys.get(shared) ?? String(this.#handed++)
    this.#keys.set(shared, key)
    return key
  }

  /** A value that cannot be copied fails the task. */
  #post(task: string, ...messages: ReadonlyArray<ToWorker>): Effect.Effect<void, TaskFailed> {
    return Effect.try({
      try: () => {
        // A closed channel shows as the end of the process.
        if (this.alive) for (const message of messages) this.#child.send(message, () => undefined)
      },
      catch: (error) => new TaskFailed({ task, problem: describe(error) }),
    })
  }

  #end(end: WorkerEnded) {
    this.#ended ??= end
    this.#listener?.()
  }

  #endOf(code: number | null, signal: NodeJS.Signals | null): WorkerEnded {
    // The watchdog of the process uses these signals. A system that runs out of memory uses the second, too.
    if (signal === "SIGVTALRM") return new WorkerEnded("time", "it exceeded its time limit")
    if (signal === "SIGKILL") return new WorkerEnded("memory", "it exceeded its memory limit")
    if (/heap out of memory|heap limit|allocation failed/i.test(this.#output)) return new WorkerEnded("memory", "its heap is full")
    const said = this.#output.split("\n").find((line) => /\berror\b/i.test(line))
    return new WorkerEnded("crash", `it left with ${signal ?? `code ${code}`}${said === undefined ? "" : ` (${said.trim()})`}`)
  }

  /** A worker that is idle does not keep the process of its pool alive. */
  #release() {
    this.#child.unref()
    this.#child.channel?.unref()
    unrefStream(this.#child.stderr)
  }

  #hold() {
    if (this.alive) this.#child.channel?.ref()
  }
}

const isOwnFailure = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.length === 1 &&
  exit.cause.reasons.every((reason) => reason._tag === "Fail" && reason.error instanceof TaskFailed)

const unrefStream = (stream: object | null) => {
  if (stream !== null && "unref" in stream && typeof stream.unref === "function") stream.unref()
}

/** Opens a source at its beginning. Returns an effect that reads the next piece; undefined at the end. */
const opened = <E, R>(
  source: Stream.Stream<unknown, E, R>,
  scope: Scope.Scope,
): Effect.Effect<Effect.Effect<ReadonlyArray<unknown> | undefined, E, R>, never, R> =>
  Effect.map(Scope.provide(Stream.toPull(source), scope), (pull) => Pull.catchDone(pull, () => Effect.undefined))
