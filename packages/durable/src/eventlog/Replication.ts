/** Exchanges events with a journal elsewhere, for as long as it is registered: takes what it sends, and sends what it lacks. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type { Entry, RemoteEntry, RemoteId } from "effect/unstable/eventlog/EventJournal"
import type { Identity } from "effect/unstable/eventlog/EventLog"
import type { StoreId } from "effect/unstable/eventlog/EventLogMessage"
import type { EventLogRemote } from "effect/unstable/eventlog/EventLogRemote"
import type { Compaction } from "./Compaction.ts"
import { failed } from "./DomainEventError.ts"
import type { EventHandlers } from "./EventHandlers.ts"
import type { OpenJournal } from "./OpenJournal.ts"
import { withUncommitted, writeFromRemote } from "./Remotes.ts"
import type { Replaying } from "./Replaying.ts"

/** From 200 ms to 10 s. */
const patience = Schedule.min([Schedule.exponential("200 millis", 1.5), Schedule.spaced("10 seconds")])

export interface Replication {
  readonly open: OpenJournal["Service"]
  readonly handlers: EventHandlers
  readonly replaying: Replaying | undefined
  readonly compaction: Compaction
  readonly identity: Identity["Service"] | undefined
  readonly storeId: StoreId
}

export const replicate =
  ({ open, handlers, replaying, compaction, identity, storeId }: Replication) =>
  (remote: EventLogRemote["Service"]): Effect.Effect<void> =>
    Effect.scoped(
      Effect.gen(function* () {
        if (identity === undefined)
          return yield* Effect.logError(`journal ${open.store.journal} exchanges nothing with a remote: provide EventLog.Identity`)
        const { store, tail, following } = open

        /** Without a replay the handlers are given what arrives while it is stored. With one they come to it by themselves. */
        const effect = ({ entry, conflicts }: { readonly entry: Entry; readonly conflicts: ReadonlyArray<Entry> }) =>
          replaying !== undefined || !handlers.has(entry.event)
            ? Effect.void
            : Effect.mapError(
                Effect.flatMap(handlers.decode(entry), (payload) => handlers.handle({ entry, payload, conflicts })),
                failed("writeFromRemote"),
              )

        const take = (remoteId: RemoteId, entries: ReadonlyArray<RemoteEntry>) =>
          Effect.gen(function* () {
            const { stored } = yield* writeFromRemote(open, { remoteId, entries, effect })
            if (yield* store.transaction(Effect.andThen(store.lock, compaction.compact(stored)))) tail.forget()
            if (replaying !== undefined) yield* replaying.catchUp
          })

        const receive = Effect.scoped(
          Effect.gen(function* () {
            const { sequence } = yield* store.remote(remote.id)
            const arriving = yield* remote.changes({ identity, storeId, startSequence: sequence })
            return yield* Effect.forever(Effect.flatMap(Queue.takeAll(arriving), (entries) => take(remote.id, entries)))
          }),
        )

        const sendMissing = withUncommitted(store, remote.id, (entries) => remote.write({ identity, storeId, entries }))

        const send = Effect.gen(function* () {
          while (true) {
            const position = tail.position
            yield* sendMissing
            yield* following.passed(position)
          }
        })

        const persistently = <A, E>(what: string, effect: Effect.Effect<A, E>) =>
          effect.pipe(
            Effect.tapCause((cause) => Effect.logWarning(`journal ${store.journal} tries again to ${what} a remote`, cause)),
            Effect.retry(patience),
            Effect.orDie,
          )

        // What was written last is sent before it ends, if that is possible at once.
        yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(sendMissing, "1 second")))
        yield* Effect.forkScoped(persistently("receive from", receive))
        return yield* persistently("send to", send)
      }),
    )
