/**
 * Tells other processes that there are commands, and hears of theirs, by LISTEN and NOTIFY. Never in the statement that
 * stores: a NOTIFY per row takes throughput to a third. Told at once where it is quiet, and not more often than every few
 * milliseconds where it is not. Whoever misses one finds the command by looking, only later.
 */
import type * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import type { CommandSignal } from "../command/CommandSignal.ts"

type Queues = ReadonlySet<string> | undefined

const gap = Duration.millis(20)

/** Where a worker of this process is told already, its claim goes first. */
const courtesy = Duration.millis(3)

/** A payload has room for 8,000 bytes. Beyond that everybody looks everywhere. */
const payloadLimit = 7000

/** A connection can be gone without anybody saying so: it is asked to carry a message to itself. */
export interface Heartbeat {
  readonly every: Duration.Input
  readonly patience: Duration.Input
}

const usual: Heartbeat = { every: "15 seconds", patience: "5 seconds" }

/** A connection that is gone does not say goodbye either. */
const goodbye = Duration.seconds(1)

/** Milliseconds between attempts to listen again, where the server is away. */
const longestPause = 5_000

/** Returns how to tell others from inside a transaction, heard when that is committed. */
export const notices = (
  sql: SqlClient,
  client: PgClient.PgClient | undefined,
  channel: string,
  signal: CommandSignal,
  heartbeat = usual,
): Effect.Effect<(queues: Queues) => Effect.Effect<unknown, SqlError>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const self = `${yield* Random.nextInt}`
    const notify = (payload: string) => sql`select pg_notify(${channel}, ${payload})::text`
    yield* tellOthers(signal, (queues) => notify(payloadOf(self, queues)))
    if (client !== undefined) yield* hearOthers(client, channel, self, signal, notify, heartbeat)
    // Who is in a transaction does not hear of itself otherwise: the sender is left out.
    return (queues) => notify(payloadOf("", queues))
  })

const tellOthers = (signal: CommandSignal, tell: (queues: Queues) => Effect.Effect<unknown, SqlError>) =>
  Effect.gen(function* () {
    const awaited = Latch.makeUnsafe(false)
    let waiting: Set<string> | undefined = new Set()
    signal.tellOthers((queues) => {
      if (queues === undefined) waiting = undefined
      else for (const queue of queues) waiting?.add(queue)
      awaited.openUnsafe()
    })
    const tellOnce = Effect.suspend(() => {
      awaited.closeUnsafe()
      const told = waiting
      waiting = new Set()
      // What is not told now is found by looking.
      return Effect.ignore(tell(told))
    })
    const polite = Effect.suspend(() => (signal.isListened ? Effect.sleep(courtesy) : Effect.void))
    yield* Effect.forkScoped(Effect.forever(Effect.all([awaited.await, polite, tellOnce, Effect.sleep(gap)], { discard: true })))
  })

const hearOthers = (
  client: PgClient.PgClient,
  channel: string,
  self: string,
  signal: CommandSignal,
  notify: (payload: string) => Effect.Effect<unknown, SqlError>,
  heartbeat: Heartbeat,
) => {
  let failures = 0
  const listening = Effect.gen(function* () {
    // A connection of its own: one of the pool would be missing there, and a pool of one would have none.
    const connection = yield* PgConnection.make(client.config)
    const heard = yield* connection.listen(channel)
    let beat: Deferred.Deferred<void> | undefined
    const receive = Effect.forever(
      Effect.map(Queue.take(heard), ({ payload }) => {
        if (payload === beatOf(self)) {
          if (beat !== undefined) Deferred.doneUnsafe(beat, Effect.void)
        } else hear(payload, self, signal)
      }),
    )
    const beating = Effect.gen(function* () {
      yield* Effect.sleep(heartbeat.every)
      beat = Deferred.makeUnsafe<void>()
      yield* notify(beatOf(self))
      yield* Effect.timeout(Deferred.await(beat), heartbeat.patience)
    })
    failures = 0
    // Something may have been told while nobody listened.
    signal.hear(undefined)
    return yield* Effect.raceFirst(receive, Effect.forever(beating))
  })
  return Effect.gen(function* () {
    const wanted = Latch.makeUnsafe(false)
    signal.whenListened(() => wanted.openUnsafe())
    const again = Effect.catch(withoutWaiting(listening), (error) => {
      failures++
      const told = failures > 1 ? Effect.void : Effect.logWarning("listening for commands was interrupted", error.message)
      return Effect.andThen(told, Effect.sleep(Math.min(100 * 2 ** (failures - 1), longestPause)))
    })
    yield* Effect.forkScoped(Effect.andThen(wanted.await, Effect.forever(again)))
  })
}

/** Like `Effect.scoped`, but an end that does not come is not waited for. */
const withoutWaiting = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, E> =>
  Effect.acquireUseRelease(
    Scope.make(),
    (scope) => Effect.provideService(effect, Scope.Scope, scope),
    (scope, exit) =>
      Effect.flatMap(Effect.forkDetach(Scope.close(scope, exit)), (closing) =>
        Effect.interruptible(Effect.timeoutOption(Fiber.await(closing), goodbye)),
      ),
  )

const beatOf = (self: string) => `beat ${self}`

const payloadOf = (self: string, queues: Queues): string => {
  const payload = JSON.stringify([self, ...(queues ?? [])])
  return queues === undefined || Buffer.byteLength(payload) > payloadLimit ? JSON.stringify([self]) : payload
}

/** What cannot be read may mean anything. */
const hear = (payload: string, self: string, signal: CommandSignal) => {
  if (payload.startsWith("beat ")) return
  const [sender, ...queues] = parse(payload)
  if (sender !== self) signal.hear(queues.length === 0 ? undefined : new Set(queues))
}

const parse = (payload: string): ReadonlyArray<string> => {
  try {
    const parsed: unknown = JSON.parse(payload)
    return Array.isArray(parsed) ? parsed.map(String) : []
  } catch {
    return []
  }
}
