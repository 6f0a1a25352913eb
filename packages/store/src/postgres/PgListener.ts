/**
 * Listens to PostgreSQL's NOTIFY: one connection per client for all channels, opened with the first subscriber and reopened after a
 * failure. A message that is sent while the listener is not connected is lost: `connected` tells the subscriber when to check for missed
 * messages.
 */

import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { driverOf, type ListenerConnection, type PostgresDriver } from "../driver/PostgresDriver.ts"
import { forkLoop } from "../runtime/BackgroundLoop.ts"
import { Wakeup } from "../runtime/Wakeup.ts"

/** PostgreSQL allows less than 8,000 bytes per payload. */
export const payloadLimit = 7000

/** A connection can be lost without an error: it is checked by a message to itself. */
export interface Heartbeat {
  readonly every: Duration.Input
  readonly patience: Duration.Input
}

export interface Subscriber {
  readonly heard: (payload: string) => void
  /** Called whenever the listener begins to listen. */
  readonly connected: () => void
}

/** Calls the subscriber with the messages of a channel until the returned function is called. */
export type Subscribe = (channel: string, subscriber: Subscriber) => () => void

export interface PgListenerService {
  /** The client whose database it listens to. */
  readonly client: SqlClient
  /** Undefined if the client cannot listen. */
  readonly subscribe: Subscribe | undefined
}

export class PgListener extends Context.Service<PgListener, PgListenerService>()("@detent/durable/postgres/PgListener") {}

/** The listener of a client: the one in the context if it is of this client, otherwise a new one. */
export const listenerOf = (client: SqlClient): Effect.Effect<PgListenerService, never, Scope.Scope> =>
  Effect.gen(function* () {
    const known = Option.getOrUndefined(yield* Effect.serviceOption(PgListener))
    if (known?.client === client) return known
    const driver = driverOf(client)
    return { client, subscribe: driver === undefined ? undefined : yield* makeListener(driver) }
  })

/** The store and the domain events provide this same layer: layers are built once, so both get the same listener. */
export const layerListener: Layer.Layer<PgListener, never, SqlClient> = Layer.effect(PgListener, Effect.flatMap(SqlClient, listenerOf))

/** The longest wait for a session to close: a lost connection does not answer that either. */
const longestClose = Duration.seconds(1)

/** The longest backoff in milliseconds: readers that wait for a message are delayed by no more than this after an outage. */
const longestBackoff = 1000

/** The heartbeat's default: every 15 seconds, answered within 5. */
export const makeListener = (
  driver: Pick<PostgresDriver, keyof ListenerConnection | "openListener">,
  heartbeat: Heartbeat = { every: "15 seconds", patience: "5 seconds" },
): Effect.Effect<Subscribe, never, Scope.Scope> =>
  Effect.gen(function* () {
    /** A channel without subscribers stays here: its messages are dropped. */
    const channels = new Map<string, Set<Subscriber>>()
    const listened = new Set<string>()
    const added = new Wakeup()
    const beats = `detent_beat_${(yield* Random.nextInt) >>> 0}`
    const subscribersOf = (channel: string): ReadonlyArray<Subscriber> => [...(channels.get(channel) ?? [])]

    // A connection of the pool would be missing there, and a pool of one would be left without any.
    const open: Effect.Effect<ListenerConnection, SqlError, Scope.Scope> = driver.openListener ?? Effect.succeed(driver)

    /** Fails when the connection does. */
    const receive = (notifications: Queue.Dequeue<{ readonly payload: string }, SqlError>, heard: (payload: string) => void) =>
      Effect.forever(Effect.map(Queue.take(notifications), ({ payload }) => heard(payload)))

    const turn = (works: Effect.Effect<void>) =>
      Effect.gen(function* () {
        if (channels.size === 0) yield* added.wait(Number.POSITIVE_INFINITY)
        const connection = yield* open
        const ended = yield* Deferred.make<never, SqlError>()
        const receiveScoped = (notifications: Queue.Dequeue<{ readonly payload: string }, SqlError>, heard: (payload: string) => void) =>
          Effect.forkScoped(Effect.onExit(receive(notifications, heard), (exit) => Deferred.done(ended, exit)))

        let beat: Deferred.Deferred<void, SqlError> | undefined
        yield* receiveScoped(yield* connection.listen(beats), () => beat !== undefined && Deferred.doneUnsafe(beat, Effect.void))
        const beating = Effect.gen(function* () {
          yield* Effect.sleep(heartbeat.every)
          const answered = Deferred.makeUnsafe<void, SqlError>()
          beat = answered
          // Forked, so that the timeout does not interrupt it: the interruption would wait for an answer of the connection.
          const asking = connection.notify(beats, "")
          yield* Effect.forkScoped(Effect.tapError(asking, (error) => Deferred.fail(answered, error)))
          yield* Effect.timeout(Deferred.await(answered), heartbeat.patience)
        })

        const listening = Effect.gen(function* () {
          for (const channel of channels.keys()) {
            if (listened.has(channel)) continue
            const notifications = yield* connection.listen(channel)
            listened.add(channel)
            yield* receiveScoped(notifications, (payload) => {
              for (const { heard } of subscribersOf(channel)) heard(payload)
            })
            for (const { connected } of subscribersOf(channel)) connected()
          }
          yield* works
          yield* added.wait(Number.POSITIVE_INFINITY)
        })
        return yield* Effect.raceAllFirst([Deferred.await(ended), Effect.forever(listening), Effect.forever(beating)])
      }).pipe(
        withoutWaiting,
        Effect.ensuring(Effect.sync(() => listened.clear())),
        // The server answers in real time, also under a test clock.
        Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()),
      )
    yield* forkLoop("the listener of PostgreSQL", turn, longestBackoff)

    return (channel, subscriber) => {
      const subscribers = channels.get(channel) ?? new Set()
      channels.set(channel, subscribers.add(subscriber))
      if (listened.has(channel)) subscriber.connected()
      else added.wake()
      return () => {
        subscribers.delete(subscriber)
      }
    }
  })

/** Like `Effect.scoped`, but does not wait for a finalizer that hangs. */
const withoutWaiting = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, E> =>
  Effect.acquireUseRelease(
    Scope.make(),
    (scope) => Effect.provideService(effect, Scope.Scope, scope),
    (scope, exit) =>
      Effect.flatMap(Effect.forkDetach(Scope.close(scope, exit)), (closing) =>
        Effect.interruptible(Effect.timeoutOption(Fiber.await(closing), longestClose)),
      ),
  )

/** The texts of a payload; none if it is not a JSON array, because another client sent it. */
export const textsOf = (payload: string): ReadonlyArray<string> => {
  try {
    const parsed: unknown = JSON.parse(payload)
    return Array.isArray(parsed) ? parsed.map(String) : []
  } catch {
    return []
  }
}
