/**
 * Listens to a channel of PostgreSQL's NOTIFY on a connection of its own, and listens again after the connection fails. A message
 * that is sent while it does not listen is lost: `connected` says when to look for what may have been missed.
 */
import type * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import type { SqlError } from "effect/unstable/sql/SqlError"
import { forkLoop } from "../runtime/BackgroundLoop.ts"

/** A payload holds 8,000 bytes. */
export const payloadLimit = 7000

/** A connection can be gone without an error: it is asked to carry a message to itself. */
export interface Heartbeat {
  readonly every: Duration.Input
  readonly patience: Duration.Input
}

export interface ListenerOptions {
  readonly client: PgClient.PgClient
  readonly channel: string
  /** The name of this process among those on the channel. */
  readonly self: string
  readonly notify: (payload: string) => Effect.Effect<unknown, SqlError>
  readonly heard: (payload: string) => void
  /** Called whenever it begins to listen. */
  readonly connected: () => void
  /** It takes no connection before this is open. */
  readonly wanted: Latch.Latch
  /** Default: every 15 seconds, answered within 5. */
  readonly heartbeat?: Heartbeat | undefined
}

/** A connection that is gone does not answer the end of its session either. */
const longestClose = Duration.seconds(1)

export const forkListener = ({
  client,
  channel,
  self,
  notify,
  heard,
  connected,
  wanted,
  heartbeat = { every: "15 seconds", patience: "5 seconds" },
}: ListenerOptions): Effect.Effect<void, never, Scope.Scope> => {
  const beatPayload = `beat ${self}`
  const listening = Effect.gen(function* () {
    // A connection of its own: one of the pool would be missing there, and a pool of one would have none.
    const connection = yield* PgConnection.make(client.config)
    const notifications = yield* connection.listen(channel)
    let beat: Deferred.Deferred<void> | undefined
    const receive = Effect.forever(
      Effect.map(Queue.take(notifications), ({ payload }) => {
        if (!payload.startsWith("beat ")) heard(payload)
        else if (payload === beatPayload && beat !== undefined) Deferred.doneUnsafe(beat, Effect.void)
      }),
    )
    const beating = Effect.gen(function* () {
      yield* Effect.sleep(heartbeat.every)
      beat = Deferred.makeUnsafe<void>()
      yield* notify(beatPayload)
      yield* Effect.timeout(Deferred.await(beat), heartbeat.patience)
    })
    connected()
    return yield* Effect.raceFirst(receive, Effect.forever(beating))
  })
  // The server answers in real time, also where a test clock rules.
  const turn = Effect.provideService(withoutWaiting(listening), Clock.Clock, Clock.Clock.defaultValue())
  return forkLoop(`the listener of ${channel}`, Effect.andThen(wanted.await, turn))
}

/** Like `Effect.scoped`, but does not wait for an end that does not come. */
const withoutWaiting = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, E> =>
  Effect.acquireUseRelease(
    Scope.make(),
    (scope) => Effect.provideService(effect, Scope.Scope, scope),
    (scope, exit) =>
      Effect.flatMap(Effect.forkDetach(Scope.close(scope, exit)), (closing) =>
        Effect.interruptible(Effect.timeoutOption(Fiber.await(closing), longestClose)),
      ),
  )

/** The texts of a payload; none where another client has sent something else. */
export const textsOf = (payload: string): ReadonlyArray<string> => {
  try {
    const parsed: unknown = JSON.parse(payload)
    return Array.isArray(parsed) ? parsed.map(String) : []
  } catch {
    return []
  }
}
