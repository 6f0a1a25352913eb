/**
 * A SQLite client that waits for the write lock of another process without blocking the event loop. SQLite's own busy_timeout
 * sleeps on the thread that serves everything else: with it, a lock that another process held for 19 seconds froze this one for as
 * long. Here each try is short, and between tries the fiber sleeps.
 */

import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Reactivity from "effect/reactivity/Reactivity"
import type * as Scope from "effect/Scope"
import * as Client from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import * as SqliteClient from "../driver/SqliteClient.ts"
import { monotonicMillis } from "../runtime/monotonicMillis.ts"
import { CurrentFileGuard, FileGuard } from "./FileGuard.ts"
import { hasFolder, isLockedElsewhere } from "./opening.ts"

/** How long SQLite itself waits, in milliseconds: long enough for the short write of another process. */
export const busyTimeout = 2

/** The total time that a statement waits for the lock of another process. */
const patienceMillis = 5_000

const longestPauseMillis = 25

/** Another process holds its lock in real time, also under a test clock. */
const clock = Clock.Clock.defaultValue()

const nowMillis = (): number => monotonicMillis(clock)

/** Tries again while another process holds the write lock. SQLite has then executed nothing. */
export const retryWhileLocked = <A, E, R>(effect: Effect.Effect<A, E | SqlError, R>): Effect.Effect<A, E | SqlError, R> =>
  Effect.catch(effect, (error) =>
    isSqlError(error) && isLockedElsewhere(error) ? waitAndRetry(effect, error, nowMillis() + patienceMillis, 1) : Effect.fail(error),
  )

const waitAndRetry = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError, R>,
  error: SqlError,
  deadline: number,
  pauseMillis: number,
): Effect.Effect<A, E | SqlError, R> =>
  Effect.flatMap(Random.next, (random) => {
    if (nowMillis() >= deadline) return Effect.fail(error)
    const pause = Effect.provideService(Effect.sleep(pauseMillis * (0.5 + random)), Clock.Clock, clock)
    const again = Effect.catch(effect, (next) =>
      isSqlError(next) && isLockedElsewhere(next)
        ? waitAndRetry(effect, next, deadline, Math.min(pauseMillis * 2, longestPauseMillis))
        : Effect.fail(next),
    )
    return Effect.andThen(pause, again)
  })

/** A commit succeeds only if it is in the file, and after that has been replaced, no statement does: reads must not confirm lost writes. */
const guardedConnection = (plain: Connection, guard: FileGuard): Connection => {
  const guarded = <A>(execute: () => Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
    guard.problem === undefined ? execute() : Effect.die(guard.problem)
  return {
    execute: (sql, parameters, transformRows) => {
      const executed = guarded(() => plain.execute(sql, parameters, transformRows))
      return sql === "COMMIT" ? Effect.tap(executed, () => Effect.sync(() => guard.check())) : executed
    },
    executeRaw: (sql, parameters) => guarded(() => plain.executeRaw(sql, parameters)),
    executeValues: (sql, parameters) => guarded(() => plain.executeValues(sql, parameters)),
    executeValuesUnprepared: (sql, parameters) => guarded(() => plain.executeValuesUnprepared(sql, parameters)),
    executeUnprepared: (sql, parameters, transformRows) => guarded(() => plain.executeUnprepared(sql, parameters, transformRows)),
    executeStream: (sql, parameters, transformRows) => plain.executeStream(sql, parameters, transformRows),
  }
}

/**
 * A transaction begins with the write lock. SQLite would take it at the first write otherwise, and refuse it immediately, without waiting, when
 * another process has written since the transaction began to read. One that only reads can be begun by `BeginTransaction` with BEGIN.
 *
 * The client would switch to WAL before there is a busy_timeout, and fail when another process is starting too.
 */
const make = (
  filename: string,
  guard: FileGuard | undefined,
): Effect.Effect<SqliteClient.SqliteClient, SqlError, Scope.Scope | Reactivity.Reactivity> =>
  Effect.gen(function* () {
    const config = { filename, disableWAL: true }
    const plain = yield* SqliteClient.open(config)
    const connection = guard === undefined ? plain : guardedConnection(plain, guard)
    return yield* SqliteClient.over(connection, plain, config, { begin: "BEGIN IMMEDIATE", waiting: retryWhileLocked })
  })

/** Opens the file. Also provides its guard, unless the database has no file. */
export const layer = (filename: string): Layer.Layer<SqliteClient.SqliteClient | Client.SqlClient, SqlError> =>
  Layer.effectContext(
    Effect.suspend(() => {
      const guard = hasFolder(filename) ? new FileGuard(filename) : undefined
      return Effect.map(make(filename, guard), (client) =>
        Context.make(SqliteClient.SqliteClient, client).pipe(
          Context.add(Client.SqlClient, client),
          Context.add(CurrentFileGuard, Option.fromUndefinedOr(guard)),
        ),
      )
    }),
  ).pipe(Layer.provide(Reactivity.layer))
