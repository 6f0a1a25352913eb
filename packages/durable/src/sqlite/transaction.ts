/**
 * A write transaction on SQLite. `withTransaction` of Effect SQL begins without the write lock and asks for it at the first
 * write, which SQLite refuses at once, without waiting, when another process wrote in between. BEGIN IMMEDIATE waits.
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { Connection } from "effect/unstable/sql/SqlConnection"
import type { SqlError } from "effect/unstable/sql/SqlError"
import type { Row } from "../sql/Row.ts"
import { RowProblem } from "../store/StoreFailure.ts"

type Parameters = ReadonlyArray<string | number | null>

/** Runs one statement inside the transaction. */
export interface Run {
  (statement: string, parameters: Parameters): Effect.Effect<ReadonlyArray<Row>, SqlError>
  /** Of a statement that gives no rows: how many it changed. Asking for one row back takes 3 µs. */
  readonly changes: (statement: string, parameters: Parameters) => Effect.Effect<number, SqlError>
}

export const transaction = <A>(sql: SqlClient, use: (run: Run) => Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
  Effect.flatMap(Effect.serviceOption(sql.transactionService), (current) => {
    // Inside a transaction of the user's this becomes a part of it.
    if (current._tag === "Some") return sql.withTransaction(Effect.suspend(() => use(runOn(current.value[0]))))
    return Effect.scoped(Effect.flatMap(sql.reserve, (connection) => Effect.uninterruptible(wrapped(runOn(connection), use))))
  })

const runOn = (connection: Connection): Run =>
  Object.assign((statement: string, parameters: Parameters) => connection.execute(statement, parameters, undefined), {
    changes: (statement: string, parameters: Parameters) => Effect.map(connection.executeRaw(statement, parameters), changesOf),
  })

const changesOf = (result: unknown): number => {
  const changes = Predicate.hasProperty(result, "changes") ? Number(result.changes) : Number.NaN
  if (Number.isNaN(changes)) throw new RowProblem("the client of SQLite no longer says how many rows a statement changed")
  return changes
}

/** Whether the client says how many rows a statement changed: that of Bun, for one, does not. */
export const tellsChanges = (sql: SqlClient): Effect.Effect<boolean, SqlError> =>
  Effect.scoped(
    Effect.flatMap(sql.reserve, (connection) =>
      Effect.map(
        connection.executeRaw("update detent_instances set resident = 0 where instance is null", []),
        (result) => Predicate.hasProperty(result, "changes") && Number(result.changes) === 0,
      ),
    ),
  )

const wrapped = <A>(run: Run, use: (run: Run) => Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
  Effect.andThen(
    run("begin immediate", []),
    Effect.onError(
      Effect.tap(
        Effect.suspend(() => use(run)),
        run("commit", []),
      ),
      // What failed before is what matters; a rollback can only fail because there is nothing left to roll back.
      () => Effect.ignore(run("rollback", [])),
    ),
  )
