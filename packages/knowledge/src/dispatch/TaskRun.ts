/**
 * Runs a task that a queue has delivered: for the first time, again, or when its batch no longer waits for it. Its result
 * is one of: done, late (nothing was done), to be delivered again (`TaskPostponed`), or given up (`TaskGivenUp`). The batch learns of a
 * task that is given up before the queue does.
 */

import type { StorageFolder } from "@detent/blobs/Storage"
import { describe } from "@detent/machine/internal"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { BatchEventLog } from "../batch/BatchEventLog.ts"
import { Batches } from "../batch/Batches.ts"
import { activeBatchStates, isTerminal } from "../batch/BatchState.ts"
import { BatchId, DocumentId } from "../storage/Identity.ts"
import { Count } from "../storage/Quantity.ts"
import type { Task } from "../tasks/Task.ts"
import { reportExtracted, reportGivenUp, runActivity } from "./Activities.ts"
import { stateOfActivity } from "./StageRun.ts"

/** The result of a delivery. */
export const TaskOutcome = Schema.Union([
  Schema.Struct({ outcome: Schema.Literal("done"), result: Schema.Unknown }),
  /** The batch has the task's result already, or no longer needs it. */
  Schema.Struct({ outcome: Schema.Literal("late"), reason: Schema.String }),
])
export type TaskOutcome = typeof TaskOutcome.Type

/** The task failed, and is to be delivered again. */
export class TaskPostponed extends Schema.TaggedError<TaskPostponed>()("TaskPostponed", { problem: Schema.String }) {
  override get message() {
    return `the task is delivered again: ${this.problem}`
  }
}

/** The task failed permanently. If its input names a batch that waits for it, that batch is notified. */
export class TaskGivenUp extends Schema.TaggedError<TaskGivenUp>()("TaskGivenUp", {
  problem: Schema.String,
  /** Whether the mistake is in the input, so that no batch was notified. */
  isOfInput: Schema.Boolean,
}) {
  override get message() {
    return this.problem
  }
}

/** Tasks of batches have an attempt, and name the document or the graph that they read; a manual call may have no attempt. */
const Target = Schema.Struct({
  batchId: BatchId,
  /** Default: the batch's current one. */
  attempt: Schema.optionalKey(Count),
  documentId: Schema.optionalKey(DocumentId),
  resolvedUri: Schema.optionalKey(Schema.String),
  validatedUri: Schema.optionalKey(Schema.String),
})

const decodeTarget = Schema.decodeUnknownOption(Target)

/** `isLast`: the queue does not deliver the task again, so that any failure is permanent. */
export const runTask = (folder: StorageFolder, { activity, input }: Pick<Task, "activity" | "input">, isLast: boolean) =>
  Effect.gen(function* () {
    const target = Option.getOrUndefined(decodeTarget(input))
    const late = target === undefined ? undefined : yield* lateness(activity, target)
    if (late !== undefined) return late
    const exit = yield* Effect.exit(
      Effect.gen(function* () {
        return yield* runActivity(folder, activity, input)
      }),
    )
    if (Exit.isSuccess(exit)) {
      if (target !== undefined) yield* checkTaken(folder, activity, target)
      return { outcome: "done", result: exit.value } as const satisfies TaskOutcome
    }
    if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.interrupt
    const error = Cause.squash(exit.cause)
    const problem = describe(error)
    // The batch may have ended, or gone back a stage, because of this failure or meanwhile.
    const since = target === undefined ? undefined : yield* lateness(activity, target)
    if (since !== undefined && isPassed(error)) return since
    // The caller made the mistake, or called too early, and gets the problem. The batch still waits for the right call.
    if (target?.attempt === undefined && (isOfInput(error) || isPassed(error))) return yield* new TaskGivenUp({ problem, isOfInput: true })
    if (isTransient(error) && !isLast) return yield* new TaskPostponed({ problem })
    const isNotified = yield* Effect.catchCause(Effect.as(reportGivenUp(folder, activity, input, problem), true), (cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : hasNoBatch(cause) ? Effect.succeed(false) : postponedBy(cause),
    )
    return yield* new TaskGivenUp({ problem, isOfInput: !isNotified })
  })

/** Notifies the batch of a task that failed permanently, if the batch still waits for it. Ignores a task that the batch did not enqueue. */
export const giveUpTask = (folder: StorageFolder, { activity, input }: Pick<Task, "activity" | "input">, problem: string) =>
  Effect.gen(function* () {
    const target = Option.getOrUndefined(decodeTarget(input))
    if (target?.attempt === undefined || (yield* lateness(activity, target)) !== undefined) return
    yield* Effect.catchTag(reportGivenUp(folder, activity, input, problem), "ActivityInputRefused", () => Effect.void)
  })

/** Whether no batch can be notified: the input cannot be decoded, the batch did not enqueue it, or the batch does not exist. */
const hasNoBatch = (cause: Cause.Cause<unknown>): boolean => {
  const tag = tagOf(Cause.squash(cause))
  return tag === "ActivityInputRefused" || tag === "BatchNotFound"
}

const postponedBy = (cause: Cause.Cause<unknown>) =>
  Effect.fail(new TaskPostponed({ problem: `its batch could not be notified: ${describe(Cause.squash(cause))}` }))

type Waiting = typeof Target.Type

/**
 * Why the batch does not wait for this task; undefined when it does. A call without an attempt is a manual one: a wrong batch or graph is
 * the caller's mistake, and a stage that has ended returns its result again, which the caller needs for the next call.
 */
const lateness = (activity: Task["activity"], { batchId, attempt, resolvedUri, validatedUri }: Waiting) =>
  Effect.gen(function* () {
    const late = (reason: string) => ({ outcome: "late", reason: `${batchId} ${reason}` }) as const satisfies TaskOutcome
    const found = yield* storedState(batchId)
    if (Option.isNone(found)) return attempt === undefined ? undefined : late("no longer exists")
    const state = found.value
    if (attempt !== undefined && state.attempt !== attempt)
      return late(`is in attempt ${state.attempt}, and this is a task of attempt ${attempt}`)
    if (state._tag === "Failed" || state._tag === "Cancelled") return late(`is ${state._tag}; resume it first`)
    if (isTerminal(state)) return late(`is ${state._tag}`)
    if (attempt === undefined) return undefined
    if (activeBatchStates.indexOf(state._tag) > activeBatchStates.indexOf(stateOfActivity[activity]))
      return late(`is ${state._tag}: it has the result`)
    // Another batch has published meanwhile, so that this one was resolved again.
    const isOther = (graph: { readonly uri: string }, uri: string | undefined) => uri !== undefined && uri !== graph.uri
    if (state._tag === "Validating" && activity === "validation" && isOther(state.resolvedGraph, resolvedUri))
      return late(`has resolved its graph again since, to ${state.resolvedGraph.uri}`)
    if (state._tag === "Ingesting" && activity === "ingestion" && isOther(state.validatedGraph, validatedUri))
      return late(`has validated its graph again since, to ${state.validatedGraph.uri}`)
    return undefined
  })

const storedState = (batchId: BatchId) =>
  Effect.flatMap(Batches, (batches) => batches.state(batchId)).pipe(
    Effect.asSome,
    Effect.catchTag("BatchNotFound", () => Effect.succeedNone),
    Effect.mapError(postponing),
  )

const postponing = (error: unknown) => new TaskPostponed({ problem: describe(error) })

/**
 * Fails when the batch has not received the result, so that the task is delivered again: a process that is stopping sends nothing to a
 * batch. When all documents have ended, this delivery reports that too: the process that ended the last document may not get to it.
 */
const checkTaken = (folder: StorageFolder, activity: Task["activity"], { batchId, attempt, documentId }: Waiting) =>
  Effect.gen(function* () {
    const isWaiting = Effect.map(
      storedState(batchId),
      (state) =>
        Option.isSome(state) &&
        state.value._tag === stateOfActivity[activity] &&
        (attempt === undefined || state.value.attempt === attempt),
    )
    if (!(yield* isWaiting)) return
    if (activity === "extraction" && documentId !== undefined) {
      if (!(yield* isExtracted(batchId))) return
      yield* Effect.catchCause(reportExtracted(folder, batchId, documentId), (cause) =>
        Cause.hasInterruptsOnly(cause) ? Effect.interrupt : postponedBy(cause),
      )
      if (!(yield* isWaiting)) return
    }
    return yield* new TaskPostponed({ problem: `${batchId} has not received the result` })
  })

/** Whether all documents of the batch have ended. */
const isExtracted = (batchId: BatchId) =>
  Effect.gen(function* () {
    const state = Option.getOrUndefined(yield* storedState(batchId))
    const counted = Effect.flatMap(BatchEventLog, (log) => log.counts(batchId))
    const { completed, failed, "set-aside": setAside } = yield* Effect.mapError(counted, postponing)
    return state !== undefined && completed + failed + setAside >= state.documentsTotal
  })

const tagOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "_tag" in error && typeof error._tag === "string" ? error._tag : ""

/** Whether the batch refused the activity: it is in another stage. */
const isPassed = (error: unknown): boolean => tagOf(error) === "ActivityRefused"

/** Whether the input is wrong, or names a batch or a file that does not exist or may not be read. */
const isOfInput = (error: unknown): boolean =>
  ["ActivityInputRefused", "AddressRefused", "BatchNotFound", "BlobNotFound"].includes(tagOf(error))

/** Errors that repeat until a user acts. */
const permanent: ReadonlySet<string> = new Set([
  "ActivityInputRefused",
  "AddressRefused",
  "ArtifactDamaged",
  "BatchNotFound",
  "BatchStopped",
  "BlobNotFound",
  "ManifestRefused",
  "StorageFull",
])

/** Uses the `retryable` of the error. Errors without it, and defects, are transient unless they are known to be permanent. */
const isTransient = (error: unknown): boolean => {
  if (typeof error === "object" && error !== null && "retryable" in error && typeof error.retryable === "boolean") return error.retryable
  return !permanent.has(tagOf(error))
}
