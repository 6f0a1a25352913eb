/**
 * Notifies other processes of instances that this one has changed, by LISTEN and NOTIFY: one message for the changes of a few milliseconds,
 * off the commit path. A process that misses a message finds the changes at its next poll.
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import type { SqlClient } from "effect/sql/SqlClient"
import type { InstanceKey } from "../contract/Commit.ts"
import { instanceName } from "../contract/CommitCheck.ts"
import type { ChangeNotifications } from "../contract/Journal.ts"
import { forkLoop } from "../runtime/BackgroundLoop.ts"
import { payloadLimit, type Subscribe, textsOf } from "./PgListener.ts"

const gapMillis = 5

/** More instances never fit into a payload: each takes at least eight bytes of it. While the store is away, no more are remembered. */
const mostNamed = Math.ceil(payloadLimit / 8)

type Listener = (keys: ReadonlyArray<InstanceKey>) => void

export const changeNotifications = (
  sql: SqlClient,
  subscribe: Subscribe,
  channel: string,
): Effect.Effect<ChangeNotifications, never, Scope.Scope> =>
  Effect.gen(function* () {
    const self = `${yield* Random.nextInt}`
    const listeners = new Set<Listener>()
    const waiting = new Map<string, InstanceKey>()
    const changed = Latch.makeUnsafe(false)
    const hear = (keys: ReadonlyArray<InstanceKey>) => {
      for (const listener of listeners) listener(keys)
    }
    let isFailed = false
    const send = Effect.gen(function* () {
      changed.closeUnsafe()
      const payload = isFailed ? anyOf(self) : payloadOf(self, [...waiting.values()])
      waiting.clear()
      isFailed = true
      yield* Effect.onError(sql`select pg_notify(${channel}, ${payload})::text`, () => Effect.sync(() => changed.openUnsafe()))
      isFailed = false
    })
    yield* forkLoop(`the sender of ${channel}`, Effect.andThen(changed.await, Effect.andThen(send, Effect.sleep(gapMillis))))
    let unsubscribe: (() => void) | undefined
    yield* Effect.addFinalizer(() => Effect.sync(() => unsubscribe?.()))
    const subscriber = {
      heard: (payload: string) => {
        const [sender, ...texts] = textsOf(payload)
        if (sender !== self) hear(keysOf(texts))
      },
      connected: () => hear([]),
    }
    return {
      notify: (keys) => {
        for (const key of keys) {
          if (waiting.size > mostNamed) break
          waiting.set(instanceName(key), { machine: key.machine, id: key.id })
        }
        changed.openUnsafe()
      },
      listen: (listener) => {
        listeners.add(listener)
        unsubscribe ??= subscribe(channel, subscriber)
        return () => listeners.delete(listener)
      },
    }
  })

/**
 * The payload has the sender, then machine and id of each instance. If they do not fit, it has the sender alone: any instance may have
 * changed.
 */
const anyOf = (self: string): string => JSON.stringify([self])

const payloadOf = (self: string, keys: ReadonlyArray<InstanceKey>): string => {
  const payload = JSON.stringify([self, ...keys.flatMap(({ machine, id }) => [machine, id])])
  return Buffer.byteLength(payload) > payloadLimit ? anyOf(self) : payload
}

const keysOf = (texts: ReadonlyArray<string>): ReadonlyArray<InstanceKey> =>
  texts.flatMap((machine, index) => (index % 2 === 0 ? [{ machine, id: texts[index + 1] ?? "" }] : []))
