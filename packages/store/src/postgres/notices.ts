/**
 * Notifies other processes of new commands, and receives their notices, by LISTEN and NOTIFY. A notice is never part of the statement that
 * stores commands: a NOTIFY per row reduces throughput to a third. It is sent immediately when idle, and at most every few milliseconds
 * under load. A process that misses a notice finds the command at its next poll.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { CommandSignal } from "../contract/CommandSignal.ts"
import { forkLoop } from "../runtime/BackgroundLoop.ts"
import { payloadLimit, type Subscribe, textsOf } from "./PgListener.ts"

type Queues = ReadonlySet<string> | undefined

const gap = Duration.millis(20)

/** The delay before other processes are notified, so that a worker of this process, which already is, claims first. */
const headStart = Duration.millis(3)

/** Returns the function that notifies other processes from inside a transaction: PostgreSQL delivers the notice at its commit. */
export const notices = (
  sql: SqlClient,
  subscribe: Subscribe | undefined,
  channel: string,
  signal: CommandSignal,
): Effect.Effect<(queues: Queues) => Effect.Effect<unknown, SqlError>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const self = `${yield* Random.nextInt}`
    const notify = (payload: string) => sql`select pg_notify(${channel}, ${payload})::text`
    yield* tellOthers(channel, signal, (queues) => notify(payloadOf(self, queues)))
    let unsubscribe: (() => void) | undefined
    yield* Effect.addFinalizer(() => Effect.sync(() => unsubscribe?.()))
    signal.whenListened(() => {
      unsubscribe ??= subscribe?.(channel, {
        heard: (payload) => hear(payload, self, signal),
        connected: () => signal.hear(undefined),
      })
    })
    // The sender is left out: a process that stores in a transaction is notified only this way.
    return (queues) => notify(payloadOf("", queues))
  })

const tellOthers = (channel: string, signal: CommandSignal, tell: (queues: Queues) => Effect.Effect<unknown, SqlError>) =>
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
      const notified = waiting
      waiting = new Set()
      // The next notice stands for any queue, because it must include the queues of the notice that failed.
      return Effect.onError(tell(notified), () =>
        Effect.sync(() => {
          waiting = undefined
          awaited.openUnsafe()
        }),
      )
    })
    const localWorkersFirst = Effect.suspend(() => (signal.isListened ? Effect.sleep(headStart) : Effect.void))
    yield* forkLoop(
      `the sender of ${channel}`,
      Effect.all([awaited.await, localWorkersFirst, tellOnce, Effect.sleep(gap)], { discard: true }),
    )
  })

const payloadOf = (self: string, queues: Queues): string => {
  const payload = JSON.stringify([self, ...(queues ?? [])])
  return queues === undefined || Buffer.byteLength(payload) > payloadLimit ? JSON.stringify([self]) : payload
}

/** A payload that cannot be read stands for any queue. */
const hear = (payload: string, self: string, signal: CommandSignal) => {
  const [sender, ...queues] = textsOf(payload)
  if (sender !== self) signal.hear(queues.length === 0 ? undefined : new Set(queues))
}
