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
import { CurrentFileGuard, FileGuard } from "./FileGuard.ts"
import { hasFolder, isLockedElsewhere } from "./opening.ts"

/** How long SQLite itself waits, in milliseconds: long enough for the short write of another process. */
export const busyTimeout = 2

/** The total time that a statement waits for the lock of another process. */
const patienceMillis = 5_000

const longestPauseMillis = 25

/** Another process holds its lock in real time, also under a test clock. */
const clock = Clock.Clock.defaultValue()

const nowMillis = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

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

/** The waiting connections, and the plain connection behind each. */
const plainConnections = new WeakMap<Connection, Connection>()

/** The connection without the waiting: for statements inside a transaction that holds the write lock already. */
export const plainConnection = (connection: Connection): Connection => plainConnections.get(connection) ?? connection

/** Runs statements that end in a commit, and succeeds only if the commit is in the file. */
export const guarded = <A>(guard: FileGuard, effect: Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
  Effect.suspend(() => {
    if (guard.problem !== undefined) return Effect.die(guard.problem)
    return Effect.tap(effect, () => Effect.sync(() => guard.check()))
  })

/** In a transaction, the connection waits itself. For a single statement it must not: see `SqliteClient.over`. */
const guardedConnection = (
  plain: SqliteClient.SqliteConnection,
  guard: FileGuard | undefined,
  wait: <A>(effect: Effect.Effect<A, SqlError>) => Effect.Effect<A, SqlError>,
): Connection => {
  /** Reads from a replaced file must not confirm writes to the original one. */
  const waitingFor = <A>(effect: Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
    Effect.suspend(() => (guard?.problem === undefined ? wait(effect) : Effect.die(guard.problem)))
  const waiting: Connection = {
    execute: (sql, parameters, transformRows) => waitingFor(plain.execute(sql, parameters, transformRows)),
    executeRaw: (sql, parameters) => waitingFor(plain.executeRaw(sql, parameters)),
    executeValues: (sql, parameters) => waitingFor(plain.executeValues(sql, parameters)),
    executeValuesUnprepared: (sql, parameters) => waitingFor(plain.executeValuesUnprepared(sql, parameters)),
    executeUnprepared: (sql, parameters, transformRows) => {
      const executed = waitingFor(plain.executeUnprepared(sql, parameters, transformRows))
      // SQLite has rolled back by itself, as it does when the disk is full: the failure that caused it is the one to report.
      if (sql === "ROLLBACK") return Effect.catch(executed, (error) => (plain.isTransaction ? Effect.fail(error) : Effect.succeed([])))
      // The application's own transactions end with this statement.
      return guard !== undefined && sql === "COMMIT" ? guarded(guard, executed) : executed
    },
    executeStream: (sql, parameters, transformRows) => plain.executeStream(sql, parameters, transformRows),
  }
  plainConnections.set(waiting, plain)
  return waiting
}

/** The client would switch to WAL before there is a busy_timeout, and fail when another process is starting too. */
const make = (
  filename: string,
  guard: FileGuard | undefined,
): Effect.Effect<SqliteClient.SqliteClient, SqlError, Scope.Scope | Reactivity.Reactivity> =>
  Effect.gen(function* () {
    const config = { filename, disableWAL: true }
    const plain = yield* SqliteClient.open(config)
    const waiting = guardedConnection(plain, guard, retryWhileLocked)
    const once = guardedConnection(plain, guard, (effect) => effect)
    return yield* SqliteClient.over(waiting, plain, config, (lend) => (f) => retryWhileLocked(lend(() => f(once))))
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
