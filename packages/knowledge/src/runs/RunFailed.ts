/**
 * Why a run ended without a graph, in a form that can be stored with it; and failures of the database of runs, with how long they are
 * retried.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { isSqlError, type SqlError } from "effect/unstable/sql/SqlError"
import type { DocumentSetAside } from "../document/ReadError.ts"
import { ExtractionFailed } from "../extract/Extractor.ts"
import { describe } from "../storage/Describe.ts"
import { RunId } from "../storage/Identity.ts"
import { AddressRefused, StorageFailed } from "../storage/Storage.ts"
import type { ExtractionRun } from "./Run.ts"

export class RunFailed extends Schema.TaggedError<RunFailed>()("RunFailed", {
  runId: RunId,
  /** The tag of the error: `DocumentEmpty`, `ExtractionFailed`. */
  code: Schema.String,
  detail: Schema.String,
  /** Whether the same run may succeed when it is resumed, without anything being changed first. */
  retryable: Schema.Boolean,
  /** Set where every other document would fail the same way: the batch stops with this code. */
  stops: Schema.optionalKey(Schema.String),
}) {
  override get message() {
    return `run ${this.runId} failed (${this.code}): ${this.detail}`
  }
}

/** Any tagged error as the failure of a run. */
export const runFailed = (runId: RunId) => (error: { readonly _tag: string; readonly retryable?: boolean; readonly stops?: string }) => {
  if (error instanceof RunFailed) return error
  if (error instanceof ExtractionFailed && error.reason === "LimitExceeded") return setAside(runId, error.detail)
  return new RunFailed({
    runId,
    code: error._tag,
    detail: describe(error),
    retryable: error.retryable ?? false,
    ...(error._tag === "ExtractorRefused" ? { stops: "ExtractorRefused" } : {}),
    ...(isSourceRefused(error) ? { stops: "SourceRefused" } : {}),
    ...(error.stops === undefined ? {} : { stops: error.stops }),
  })
}

/** Whether this process may not read or write where it has to: then no document of the batch is to blame, and each would fail. */
const isSourceRefused = (error: { readonly _tag: string }): boolean =>
  error instanceof AddressRefused || (error instanceof StorageFailed && error.noAccess === true)

/** The code of a run whose document exceeded a limit as often as it may. */
export const setAsideCode: DocumentSetAside["_tag"] = "DocumentSetAside"

const setAside = (runId: RunId, problem: string) =>
  new RunFailed({
    runId,
    code: setAsideCode,
    detail: `it is set aside: extracting its facts was stopped, since ${problem}; split or simplify the document, or raise contentLimits.chunk, and start a new batch`,
    retryable: false,
  })

/** Whether a run ended because its document exceeded a limit: such a run is not resumed with its batch. */
export const isSetAside = ({ runId, status, errorMessage }: ExtractionRun): boolean =>
  status === "failed" &&
  Option.exists(errorMessage, (message) =>
    message.startsWith(new RunFailed({ runId, code: setAsideCode, detail: "", retryable: false }).message),
  )

/** Whether the database was away, and nothing of the document is to blame. */
export const isStoreAway = ({ code, retryable }: RunFailed): boolean => code === "RunStoreFailed" && retryable

/** The document is not the one the run began with, so that its earlier findings cannot be combined with new ones. */
export class DocumentChanged extends Schema.TaggedError<DocumentChanged>()("DocumentChanged", {
  uri: Schema.String,
  batchIndex: Schema.Int,
}) {
  override get message() {
    return `${this.uri} was changed since the run began; put it back as it was and resume, or start a new run`
  }
}

// The database did not take or give a run's data. Nothing was half written.

export class RunStoreFailed extends Schema.TaggedError<RunStoreFailed>()("RunStoreFailed", {
  operation: Schema.String,
  /** Whether the database is unavailable, full or in use, rather than this run's data invalid: the request can be repeated as it is. */
  retryable: Schema.Boolean,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `${this.problem}; see to the database, then resume`
  }

  get problem() {
    return `cannot ${this.operation} the run: ${wordsOf(this.cause)}`
  }
}

export const runStoreFailed =
  (operation: string) =>
  (cause: SqlError): RunStoreFailed =>
    new RunStoreFailed({ operation, retryable: isAway(cause), cause })

const passing: ReadonlySet<string> = new Set([
  "ConnectionError",
  "DeadlockError",
  "SerializationError",
  "LockTimeoutError",
  "StatementTimeoutError",
])

/** Of SQLite: no memory, read-only, a disk that fails or is full. */
const passingNumbers: ReadonlySet<number> = new Set([7, 8, 10, 13])

/** Whether the same may be taken later. The drivers classify only a part of it. */
const isAway = ({ reason: { _tag, cause } }: SqlError): boolean => {
  if (passing.has(_tag)) return true
  if (_tag !== "UnknownError") return false
  // PostgreSQL: connections, a standby, no more room or memory, a server that is stopped or starts, its disk.
  if (Predicate.hasProperty(cause, "code") && typeof cause.code === "string" && /^(08|25006|53|57P|58)/.test(cause.code)) return true
  return Predicate.hasProperty(cause, "errno") && typeof cause.errno === "number" && passingNumbers.has(cause.errno & 0xff)
}

/** The words of the database, which the driver hides behind "failed to execute statement". */
const wordsOf = (error: unknown): string => {
  const cause = isSqlError(error) ? error.reason.cause : undefined
  return cause instanceof Error && cause.message !== "" ? cause.message : describe(error)
}

// An operation on a database that is unavailable for a moment, because it restarts or a connection broke, is tried again, so that nothing
// a run has found is lost. After the patience it fails, and the work can be resumed.

/** Longer than a database takes to start, or its standby to take over. */
export const defaultPatience: Duration.Input = "30 seconds"

/** Soon at first, and every two seconds in the end. */
export const patienceOf = (limit: Duration.Input) =>
  Schedule.min([Schedule.exponential("50 millis", 1.5), Schedule.spaced("2 seconds")]).pipe(Schedule.upTo({ duration: limit }))

/** However many callers wait, an outage is logged once at its start and once at its end. */
export const storePatience = (limit: Duration.Input) => {
  const schedule = patienceOf(limit)
  const retried = `the database is asked again for up to ${Duration.format(Duration.fromInputUnsafe(limit))}`
  let isAway = false

  const away = ({ problem, retryable }: RunStoreFailed) =>
    Effect.suspend(() => {
      if (isAway || !retryable) return Effect.void
      isAway = true
      return Effect.logWarning(`${problem}; ${retried}`)
    })

  const back = Effect.suspend(() => {
    if (!isAway) return Effect.void
    isAway = false
    return Effect.logInfo("the database of runs is there again")
  })

  return <A, R>(effect: Effect.Effect<A, RunStoreFailed, R>): Effect.Effect<A, RunStoreFailed, R> =>
    effect.pipe(
      Effect.tapError(away),
      Effect.retry({ schedule, while: ({ retryable }) => retryable }),
      Effect.tap(() => back),
    )
}
