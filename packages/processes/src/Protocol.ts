/**
 * The contract between a pool and its worker processes: the messages they exchange, the sources and output of a task, how its typed
 * errors are copied, and how work on a worker fails. A worker has one task at a time. While it works, it may ask for the next piece of
 * a source and hand over a part of its output; it waits for the answer to either before it continues.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

/** How much time and memory one task may take. */
export interface TaskLimit {
  /** Processor time that a worker may use before its next message. In wall-clock time it may take five times as long. */
  readonly time: Duration.Input
  /** The same for the first message, for tasks that load something first. Default: `time`. */
  readonly start?: Duration.Input
  /** Resident memory of the worker process, in megabytes. About 100 of them are the process itself. */
  readonly memory: number
}

/** A limit in words: `60s` or `1024 MB of memory`. */
export const limitText = (limit: TaskLimit, exceeded: "time" | "memory"): string =>
  exceeded === "time" ? Duration.format(Duration.fromInputUnsafe(limit.time)) : `${limit.memory} MB of memory`

/** A large value that many tasks need, sent to each worker once. Tasks that pass the same object share it. */
export interface Shared {
  readonly value: unknown
}

export type ToWorker =
  | { readonly _tag: "Share"; readonly key: string; readonly value: unknown }
  | { readonly _tag: "Forget"; readonly key: string }
  | {
      readonly _tag: "Run"
      readonly task: string
      readonly input: unknown
      readonly shared: string | undefined
      /** In megabytes: the worker ends itself above it. */
      readonly memory: number
      /** Processor time of the first step and of every other, in milliseconds: the worker ends itself above it. */
      readonly start: number
      readonly time: number
    }
  /** The next piece of the source that was asked for; without items, the source is at its end. */
  | { readonly _tag: "Piece"; readonly items: ReadonlyArray<unknown> | undefined }
  /** The emitted part was received. */
  | { readonly _tag: "Taken" }

export type FromWorker =
  | { readonly _tag: "Ready" }
  /** `opening` distinguishes concurrent reads, also of one source: each reads from the beginning. */
  | { readonly _tag: "Pull"; readonly source: string; readonly opening: number }
  | { readonly _tag: "Emit"; readonly items: ReadonlyArray<unknown> }
  /** `memory` is the resident memory of the process, in megabytes. */
  | { readonly _tag: "Done"; readonly output: unknown; readonly memory: number }
  /** `isUnsound`: the state of the worker can no longer be relied on. */
  | { readonly _tag: "Failed"; readonly problem: string; readonly isUnsound: boolean; readonly memory: number }

export interface TaskChannel {
  /** The pieces of a source, from its beginning. Asked for again, it is read again. Several can be read at the same time. */
  readonly source: (name: string) => AsyncIterable<ReadonlyArray<unknown>>
  /** Hands over a part of the output and waits until the pool has taken it. */
  readonly emit: (items: ReadonlyArray<unknown>) => Promise<void>
}

/** The items of a source; the caller knows their type. A source that fails ends the worker, so the stream has no error. */
export const itemsOf = <A>(channel: TaskChannel, source: string): Stream.Stream<A> =>
  Stream.suspend(() =>
    Stream.flattenIterable(
      Stream.orDie(Stream.fromAsyncIterable(channel.source(source) as AsyncIterable<ReadonlyArray<A>>, (error) => error)),
    ),
  )

/** Does one kind of work. Its input and output are copied between processes, so they are plain data. */
export type TaskHandler = (input: never, channel: TaskChannel, shared: never) => unknown

/** Tasks by name. */
export type TaskHandlers = Readonly<Record<string, TaskHandler>>

/** Thrown by a task that leaves the worker in a state in which no further task must run. */
export class UnsoundWorker extends Error {}

/** The outcome of an effect in a worker, as plain data, with its typed errors. */
export type Outcome<A> =
  | { readonly _tag: "Success"; readonly value: A }
  /** Encoded by the schema of the task's errors. */
  | { readonly _tag: "Failure"; readonly error: unknown }

/** Runs an effect in the worker. A defect rejects. */
export const outcomeOf = <A, E>(errors: Schema.Codec<E, unknown>, effect: Effect.Effect<A, E>): Promise<Outcome<A>> =>
  Effect.runPromise(
    Effect.map(
      Effect.result(effect),
      (result): Outcome<A> =>
        Result.isSuccess(result)
          ? { _tag: "Success", value: result.success }
          : { _tag: "Failure", error: Schema.encodeSync(errors)(result.failure) },
    ),
  )

/** Turns an outcome back into an effect, in the process of the pool. */
export const fromOutcome = <A, E>(errors: Schema.Codec<E, unknown>, outcome: Outcome<A>): Effect.Effect<A, E> =>
  outcome._tag === "Success"
    ? Effect.succeed(outcome.value)
    : Effect.flatMap(Effect.orDie(Schema.decodeUnknownEffect(errors)(outcome.error)), (error) => Effect.fail(error))

/** The task itself failed. Another attempt would fail the same way. */
export class TaskFailed extends Schema.TaggedError<TaskFailed>()("TaskFailed", {
  task: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `the task ${this.task} failed: ${this.problem}`
  }
}

/** The worker was killed at a limit. */
export class LimitExceeded extends Schema.TaggedError<LimitExceeded>()("LimitExceeded", {
  task: Schema.String,
  exceeded: Schema.Literals(["time", "memory"]),
  /** The limit in words. */
  limit: Schema.String,
  attempts: Schema.Int,
}) {
  /** Without a next step, which depends on the purpose of the task. */
  get problem() {
    const times = this.attempts === 1 ? "" : `, in ${this.attempts} attempts`
    return this.exceeded === "time" ? `it took longer than ${this.limit}${times}` : `it needed more than ${this.limit}${times}`
  }

  override get message() {
    return `the task ${this.task} was stopped: ${this.problem}; give it less input at a time, or raise the limit`
  }
}

/** The worker ended by itself while it worked on the task. */
export class WorkerCrashed extends Schema.TaggedError<WorkerCrashed>()("WorkerCrashed", {
  task: Schema.String,
  attempts: Schema.Int,
  problem: Schema.String,
}) {
  override get message() {
    const workers = this.attempts === 1 ? "1 worker" : `${this.attempts} workers`
    return `${workers} ended while working on ${this.task}: ${this.problem}; give the task less input at a time, or the process more memory`
  }
}

export type WorkerError = TaskFailed | LimitExceeded | WorkerCrashed

/** The address of a module in the same folder. Sources run as TypeScript, a built package as JavaScript. */
export const moduleBeside = (self: string, name: string): URL => new URL(`./${name}${self.endsWith(".ts") ? ".ts" : ".js"}`, self)
