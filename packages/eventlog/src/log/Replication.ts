/**
 * Exchanges events with a remote journal while it is registered: stores the events that the remote sends, and sends those that it lacks.
 */

import { forkLoop } from "@detent/store"
import { backgroundLoop } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import type { Entry, EventJournal, RemoteEntry, RemoteId } from "effect/eventlog/EventJournal"
import type { Identity } from "effect/eventlog/EventLog"
import type { StoreId } from "effect/eventlog/EventLogMessage"
import type { EventLogRemote } from "effect/eventlog/EventLogRemote"
import * as Queue from "effect/Queue"
import type { Compaction } from "../journal/Compaction.ts"
import { failed } from "../journal/errors.ts"
import type { OpenJournal } from "../journal/OpenJournal.ts"
import { entriesById, withUncommitted, writeFromRemote, writeRemoteAcks } from "../journal/RemoteEntries.ts"
import type { EventHandlers } from "./EventHandlers.ts"
import type { Replay } from "./Replay.ts"

export interface Replication {
  readonly open: OpenJournal["Service"]
  readonly handlers: EventHandlers
  readonly replay: Replay | undefined
  readonly compaction: Compaction
  readonly identity: Identity["Service"] | undefined
  readonly storeId: StoreId
}

export const replicate =
  ({ open, handlers, replay, compaction, identity, storeId }: Replication) =>
  (remote: EventLogRemote["Service"]): Effect.Effect<void> =>
    Effect.scoped(
      Effect.gen(function* () {
        if (identity === undefined)
          return yield* Effect.logError(`journal ${open.store.journal} exchanges nothing with a remote: provide EventLog.Identity`)
        const { store, tail, follower } = open

        /** Without a replay, the handlers run while the event is stored. With one, the replay runs them. */
        const handle = ({ entry, conflicts }: { readonly entry: Entry; readonly conflicts: ReadonlyArray<Entry> }) =>
          replay !== undefined || !handlers.has(entry.event)
            ? Effect.void
            : Effect.mapError(
                Effect.flatMap(handlers.decode(entry), (payload) => handlers.handle({ entry, payload, conflicts })),
                failed("writeFromRemote"),
              )

        const effect: FromRemote["effect"] = (entries) => Effect.forEach(entries, handle, { discard: true })

        const take = (remoteId: RemoteId, entries: ReadonlyArray<RemoteEntry>) =>
          Effect.gen(function* () {
            const { stored } = yield* writeFromRemote(open, { remoteId, entries, effect })
            if (yield* store.transaction(Effect.andThen(store.lock, compaction.compact(stored)))) tail.forget()
            if (replay !== undefined) yield* replay.catchUp
          })

        // The remote sends events that could not be stored again with the next connection: until they are stored, the loop does not count
        // as working.
        let isRefusing = false
        const receive = (works: Effect.Effect<void>) =>
          Effect.scoped(
            Effect.gen(function* () {
              const { sequence } = yield* store.remote(remote.id)
              const arriving = yield* remote.changes({ identity, storeId, startSequence: sequence, knownEntries: entriesById(store) })
              if (!isRefusing) yield* works
              for (;;) {
                const entries = yield* Queue.takeAll(arriving)
                isRefusing = true
                yield* take(remote.id, entries)
                isRefusing = false
                yield* works
              }
            }),
          )

        /** A remote that acknowledges events does not send them back. */
        const sendMissing = withUncommitted(store, remote.id, (entries) =>
          Effect.flatMap(remote.write({ identity, storeId, entries }), (acks) =>
            acks === undefined ? Effect.void : writeRemoteAcks(store, { remoteId: remote.id, acks, firstSequence: remote.firstSequence }),
          ),
        )

        const send = (works: Effect.Effect<void>) =>
          Effect.gen(function* () {
            const position = tail.position
            yield* sendMissing
            yield* works
            yield* follower.passed(position)
          })

        const name = `journal ${store.journal} with remote ${Hex.encode(remote.id).slice(0, 8)}`
        // The last events are sent before the scope ends, if the remote answers within a second.
        yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(sendMissing, "1 second")))
        yield* forkLoop(`receiving of ${name}`, receive)
        return yield* backgroundLoop(`sending of ${name}`, send)
      }),
    )

type FromRemote = Parameters<EventJournal["Service"]["writeFromRemote"]>[0]
