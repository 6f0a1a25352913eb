/** The failures of PostgreSQL, by its error codes: https://www.postgresql.org/docs/current/errcodes-appendix.html */
import * as Predicate from "effect/Predicate"
import * as Sql from "effect/sql/SqlError"
import pg from "pg"

/** The server has answered, and the client does not take the answer: a row is too long, or a value cannot be decoded. */
export class AnswerUnreadable extends Error {
  override readonly name = "AnswerUnreadable"
}

export const isUnreadable = ({ reason }: Sql.SqlError): boolean => reason.cause instanceof AnswerUnreadable

type Operation = "connect" | "acquire" | "query" | "commit"

export const failure = (cause: unknown, operation: Operation): Sql.SqlError => {
  const message = cause instanceof Error ? cause.message : "The statement failed"
  return new Sql.SqlError({ reason: reasonOf({ cause, message, operation }) })
}

/** The code of an error of the server; undefined for others. */
export const codeOf = (cause: unknown): string | undefined => (cause instanceof pg.DatabaseError ? cause.code : undefined)

/** Beside class 08: too many connections, and sessions that the server ends because of a limit of time. */
const endings = new Set(["53300", "25P03", "25P04", "57P01", "57P02", "57P03", "57P04", "57P05"])

interface Props {
  readonly cause: unknown
  readonly message: string
  readonly operation: Operation
}

const reasonOf = (props: Props): Sql.SqlErrorReason => {
  const { cause, operation } = props
  // Parameters that cannot be encoded, and answers that cannot be decoded.
  if (cause instanceof TypeError || cause instanceof AnswerUnreadable) return new Sql.UnknownError(props)
  const code = codeOf(cause)
  if (code === undefined || code.startsWith("08") || endings.has(code)) return new Sql.ConnectionError(props)
  if (code.startsWith("28")) return new Sql.AuthenticationError(props)
  if (code === "42501") return new Sql.AuthorizationError(props)
  if (operation === "connect") return new Sql.ConnectionError(props)
  if (code.startsWith("42")) return new Sql.SqlSyntaxError(props)
  if (code === "23505") {
    const constraint = Predicate.hasProperty(cause, "constraint") && typeof cause.constraint === "string" ? cause.constraint : "unknown"
    return new Sql.UniqueViolation({ ...props, constraint })
  }
  if (code.startsWith("23")) return new Sql.ConstraintError(props)
  if (code === "40P01") return new Sql.DeadlockError(props)
  if (code === "40001") return new Sql.SerializationError(props)
  if (code === "55P03") return new Sql.LockTimeoutError(props)
  if (code === "57014") return new Sql.StatementTimeoutError(props)
  return new Sql.UnknownError(props)
}
