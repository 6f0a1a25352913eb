/** Turns failures of a database into `PersistenceFailed`, and recognises those that the content of one commit caused. */
import { PersistenceFailed } from "@detent/machine"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { isSqlError } from "effect/sql/SqlError"
import type { Commit, InstanceKey } from "../contract/Commit.ts"
import { driverOf } from "../driver/PostgresDriver.ts"

interface RowProblemOptions extends ErrorOptions {
  /** The value cannot be written as JSON: it is too large for one text, or not of its type. Default: false. */
  readonly isUnwritable?: boolean
}

/** A row that cannot be decoded, or cannot be written. Row mappers throw it; `persisting` turns it into a typed failure. */
export class RowProblem extends Error {
  override readonly name = "RowProblem"
  readonly isUnwritable: boolean

  constructor(message: string, { isUnwritable = false, ...options }: RowProblemOptions = {}) {
    super(message, options)
    this.isUnwritable = isUnwritable
  }
}

/** The subject of an operation: one instance, one machine, or the store as a whole. */
export type Subject = InstanceKey | { readonly machine: string; readonly id?: never }

/** For operations that are not about one machine. */
export const anyMachine: Subject = { machine: "store" }

/** Turns every failure of the database into one typed failure. Effect SQL reports a failed COMMIT or ROLLBACK as a defect. */
export const persisting =
  (operation: string, subject: Subject) =>
  <A, R>(effect: Effect.Effect<A, SqlError | RowProblem, R>): Effect.Effect<A, PersistenceFailed, R> =>
    Effect.mapError(failingTyped(effect), (error) => persistenceFailed(operation, subject, error))

/**
 * Turns defects that come from the database into failures.
 *
 * A connection that fails reports to its statement before it leaves the pool. Without the pause, the caller's next statements
 * would get the same dead connection.
 */
export const failingTyped = <A, R>(effect: Effect.Effect<A, SqlError | RowProblem, R>): Effect.Effect<A, SqlError | RowProblem, R> =>
  effect.pipe(
    defectsAsFailures((defect) => isSqlError(defect) || defect instanceof RowProblem),
    Effect.tapError((error) => (isSqlError(error) && error.reason._tag === "ConnectionError" ? Effect.yieldNow : Effect.void)),
  )

/**
 * Turns defects of the database into failures. A client reports a ROLLBACK that failed as a defect beside the failure of the transaction,
 * which stays the failure of the effect then; and an interrupted one stays interrupted.
 */
export const defectsAsFailures =
  <F>(isOfDatabase: (defect: unknown) => defect is F) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | F, R> =>
    Effect.catchCause(effect, (cause): Effect.Effect<never, E | F> => {
      const defects = cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect)
      const [first] = defects
      if (first === undefined || !defects.every(isOfDatabase)) return Effect.failCause(cause)
      const others = cause.reasons.filter((reason) => !Cause.isDieReason(reason))
      return others.length === 0 ? Effect.fail(first as F) : Effect.failCause(Cause.fromReasons(others))
    })

/** Whether the database has answered, but the answer cannot be read: it is too large for the client, or a row cannot be decoded. */
export const isUnreadable = (client: SqlClient, error: SqlError | RowProblem): boolean => {
  if (!isSqlError(error)) return !error.isUnwritable
  const driver = driverOf(client)
  if (driver?.isUnreadable !== undefined) return driver.isUnreadable(error)
  const { cause } = error.reason
  // Of `@effect/sql-pg`.
  return Predicate.hasProperty(cause, "_tag") && cause._tag === "PgProtocolParseError"
}

export const persistenceFailed = (operation: string, { machine, id }: Subject, cause: SqlError | RowProblem): PersistenceFailed =>
  new PersistenceFailed({ machine, ...(id === undefined ? {} : { id }), operation, cause: describe(cause) })

/** The subject of a batch is its machine, if it has only one. */
export const subjectOf = (keys: ReadonlyArray<Commit | InstanceKey>): Subject => {
  const [first] = keys
  if (first === undefined) return anyMachine
  if (keys.length === 1) return { machine: first.machine, id: first.id }
  return keys.every((key) => key.machine === first.machine) ? { machine: first.machine } : anyMachine
}

/** Whether the written content caused the failure, so that a batch can succeed without it. */
export const isContentProblem = (error: SqlError | RowProblem): boolean => {
  if (!isSqlError(error)) return error.isUnwritable
  const { reason } = error
  if (reason._tag === "UniqueViolation" || reason._tag === "ConstraintError") return true
  if (reason._tag !== "UnknownError") return false
  const { cause } = reason
  // PostgreSQL: data exceptions, and limits such as that of an index entry. SQLite: too big, type mismatch.
  if (Predicate.hasProperty(cause, "code") && typeof cause.code === "string" && /^(22|54)/.test(cause.code)) return true
  return Predicate.hasProperty(cause, "errno") && (cause.errno === 18 || cause.errno === 20)
}

/** Whether the database rolled the transaction back because of a conflict: it can be tried again unchanged. */
export const isUndone = (error: SqlError | RowProblem): boolean =>
  isSqlError(error) && (error.reason._tag === "DeadlockError" || error.reason._tag === "SerializationError")

/** The same for a failure as services report it. */
export const wasUndone = ({ cause }: PersistenceFailed): boolean => {
  const error = cause instanceof Error && !isSqlError(cause) ? cause.cause : cause
  return isSqlError(error) && isUndone(error)
}

/** Adds the message of the database, which the layers above would hide behind "failed to execute statement". */
const describe = (error: SqlError | RowProblem): Error => {
  if (!isSqlError(error)) return error
  const { cause } = error.reason
  return cause instanceof Error && cause.message !== error.message
    ? new Error(`${error.message}: ${cause.message}`, { cause: error })
    : error
}
