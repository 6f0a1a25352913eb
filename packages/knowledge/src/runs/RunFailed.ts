/**
 * The failures of runs, in a form that is stored with the run; and the failures of the run database, with how long they are retried.
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
  /** Whether the run may succeed when it is resumed without any change. */
  retryable: Schema.Boolean,
  /** Set when every other document would fail the same way: the batch stops with this code. */
  stops: Schema.optionalKey(Schema.String),
}) {
  override get message() {
    return `run ${this.runId} failed (${this.code}): ${this.detail}`
  }
}

/** Turns any tagged error into the failure of a run. */
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

/** Whether this process lacks access to the storage: then every document of the batch would fail the same way. */
const isSourceRefused = (error: { readonly _tag: string }): boolean =>
  error instanceof AddressRefused || (error instanceof StorageFailed && error.noAccess === true)

/** The code of a run whose document exceeded a limit too often. */
export const setAsideCode: DocumentSetAside["_tag"] = "DocumentSetAside"

const setAside = (runId: RunId, problem: string) =>
  new RunFailed({
    runId,
    code: setAsideCode,
    detail: `it is set aside: extracting its facts was stopped, since ${problem}; split or simplify the document, or raise contentLimits.chunk, and start a new batch`,
    retryable: false,
  })

/** Whether a run ended because its document exceeded a limit: a resumed batch does not resume that run. */
export const isSetAside = ({ runId, status, errorMessage }: ExtractionRun): boolean =>
  status === "failed" &&
  Option.exists(errorMessage, (message) =>
    message.startsWith(new RunFailed({ runId, code: setAsideCode, detail: "", retryable: false }).message),
  )

/** Whether the run failed because the database was unavailable, not because of its document. */
export const isStoreAway = ({ code, retryable }: RunFailed): boolean => code === "RunStoreFailed" && retryable

/** The document has changed since the run started, so that its earlier findings cannot be combined with new ones. */
export class DocumentChanged extends Schema.TaggedError<DocumentChanged>()("DocumentChanged", {
  uri: Schema.String,
  batchIndex: Schema.Int,
}) {
  override get message() {
    return `${this.uri} has changed since the run started; restore it and resume, or start a new run`
  }
}

/** The database could not read or write a run's data. Nothing was written in part. */
export class RunStoreFailed extends Schema.TaggedError<RunStoreFailed>()("RunStoreFailed", {
  operation: Schema.String,
  /** Whether the database is unavailable, full or in use, and the run's data valid: the same request may succeed later. */
  retryable: Schema.Boolean,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `${this.problem}; check the database, then resume`
  }

  get problem() {
    return `cannot ${this.operation} the run: ${wordsOf(this.cause)}`
  }
}

export const runStoreFailed =
  (operation: string) =>
  (cause: SqlError): RunStoreFailed =>
    new RunStoreFailed({ operation, retryable: isAway(cause), cause })

const transientTags: ReadonlySet<string> = new Set([
  "ConnectionError",
  "DeadlockError",
  "SerializationError",
  "LockTimeoutError",
  "StatementTimeoutError",
])

/** SQLite result codes: no memory, read-only, a disk error, a full disk. */
const transientCodes: ReadonlySet<number> = new Set([7, 8, 10, 13])

/** Whether the database may accept the same statement later. The drivers classify only some of these errors. */
const isAway = ({ reason: { _tag, cause } }: SqlError): boolean => {
  if (transientTags.has(_tag)) return true
  if (_tag !== "UnknownError") return false
  // PostgreSQL: connection errors, a read-only standby, no disk space or memory, a server that stops or starts, I/O errors.
  if (Predicate.hasProperty(cause, "code") && typeof cause.code === "string" && /^(08|25006|53|57P|58)/.test(cause.code)) return true
  return Predicate.hasProperty(cause, "errno") && typeof cause.errno === "number" && transientCodes.has(cause.errno & 0xff)
}

/** The database's own message, which the driver hides behind "failed to execute statement". */
const wordsOf = (error: unknown): string => {
  const cause = isSqlError(error) ? error.reason.cause : undefined
  return cause instanceof Error && cause.message !== "" ? cause.message : describe(error)
}

// An operation on a database that is briefly unavailable, because it restarts or a connection broke, is retried, so that no findings of a
// run are lost. After `limit` it fails, and the work can be resumed.

/** Longer than a database takes to start, or its standby to take over. */
export const defaultPatience: Duration.Input = "30 seconds"

/** Retries with exponential backoff from 50 ms to two seconds, until the limit has passed. */
export const patienceOf = (limit: Duration.Input) =>
  Schedule.min([Schedule.exponential("50 millis", 1.5), Schedule.spaced("2 seconds")]).pipe(Schedule.upTo({ duration: limit }))

/** However many callers wait, an outage is logged once at its start and once at its end. */
export const storePatience = (limit: Duration.Input) => {
  const schedule = patienceOf(limit)
  const retried = `the operation is retried for up to ${Duration.format(Duration.fromInputUnsafe(limit))}`
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
    return Effect.logInfo("the run database is available again")
  })

  return <A, R>(effect: Effect.Effect<A, RunStoreFailed, R>): Effect.Effect<A, RunStoreFailed, R> =>
    effect.pipe(
      Effect.tapError(away),
      Effect.retry({ schedule, while: ({ retryable }) => retryable }),
      Effect.tap(() => back),
    )
}
