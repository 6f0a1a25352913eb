/**
 * A write transaction on SQLite. `withTransaction` of Effect SQL begins without the write lock and asks for it at the first
 * write, which SQLite refuses at once, without waiting, when another process wrote in between. BEGIN IMMEDIATE waits.
 */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { Connection } from "effect/unstable/sql/SqlConnection"
import type { SqlError } from "effect/unstable/sql/SqlError"
import type { Row } from "../sql/Row.ts"

/** Runs one statement inside the transaction. */
export type Run = (statement: string, parameters: ReadonlyArray<string | number | null>) => Effect.Effect<ReadonlyArray<Row>, SqlError>

export const transaction = <A>(sql: SqlClient, use: (run: Run) => Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
  Effect.flatMap(Effect.serviceOption(sql.transactionService), (current) => {
    // Inside a transaction of the user's this becomes a part of it.
    if (current._tag === "Some") return sql.withTransaction(Effect.suspend(() => use(runOn(current.value[0]))))
    return Effect.scoped(Effect.flatMap(sql.reserve, (connection) => Effect.uninterruptible(wrapped(runOn(connection), use))))
  })

const runOn =
  (connection: Connection): Run =>
  (statement, parameters) =>
    connection.execute(statement, parameters, undefined)

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
