/** The database did not take or give a run's data. Nothing was half written. */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { isSqlError, type SqlError } from "effect/unstable/sql/SqlError"
import { describe } from "../storage/Describe.ts"

export class RunStoreFailed extends Schema.TaggedError<RunStoreFailed>()("RunStoreFailed", {
  operation: Schema.String,
  /** Whether the database is away, full or in use, and not this run's data to blame: what was asked can be asked again as it is. */
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
