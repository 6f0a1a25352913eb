/** Live streams of the events of instances: commits of this process immediately, commits of other processes within a second. */

import { Engine, type EventRecord, forkLoop, type InstanceKey, type InstanceStanding, Journal } from "@detent/durable"
import type { PersistenceFailed } from "@detent/machine"
import { explain } from "@detent/machine/internal"
import { hasEnded } from "@detent/workspace/operations/instances"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Frame, frameOf } from "../serve/live/Channel.ts"
import { makeChannels } from "../serve/live/Channels.ts"
import type { LiveReader } from "../serve/live/LiveReader.ts"

/** A frame with the name of the event. Clients read its content from the history. */
const frameOfEvent = ({ sequence, at, tag, dedupeId }: EventRecord): Frame =>
  frameOf(sequence, "event", { sequence, at, event: tag, ...(dedupeId === undefined ? {} : { dedupeId }) })

const pageSize = 500

const nameOf = ({ machine, id }: InstanceKey): string => JSON.stringify([machine, id])

const keyOf = (name: string): InstanceKey => {
  const [machine = "", id = ""] = JSON.parse(name) as ReadonlyArray<string>
  return { machine, id }
}

export interface InstanceFeedService {
  /** Reads all events of an instance after a sequence number, then each new event. Ends when the instance ends. */
  readonly reader: (key: InstanceKey, after: number) => LiveReader
}

export class InstanceFeed extends Context.Service<InstanceFeed, InstanceFeedService>()("@detent/server/InstanceFeed") {
  static readonly layer = Layer.effect(
    InstanceFeed,
    Effect.gen(function* () {
      const engine = yield* Engine
      const journal = yield* Journal
      const channels = yield* makeChannels
      const context = yield* Effect.context<never>()

      const load = (key: InstanceKey) => (after: number) =>
        Effect.runPromiseWith(context)(
          Effect.map(journal.events(key, after, pageSize), (events) => ({
            frames: events.map(frameOfEvent),
            // After pruning, sequence numbers have gaps.
            through: events.at(-1)?.sequence ?? Math.max(after, channels.get(nameOf(key))?.last ?? after),
          })),
        )

      /** Adds events that the channel does not have yet. */
      const refresh = (name: string): Effect.Effect<void, PersistenceFailed> =>
        Effect.suspend(() => {
          const channel = channels.get(name)
          if (channel === undefined) return Effect.void
          return Effect.flatMap(journal.events(keyOf(name), channel.last, pageSize), (events) => {
            channel.add(events.map(frameOfEvent))
            return events.length === pageSize ? refresh(name) : Effect.void
          })
        })

      /** Closes the channel of an instance that has ended. */
      const closeEnded = (name: string, standing: InstanceStanding | undefined) =>
        Effect.sync(() => {
          if (standing !== undefined && hasEnded(standing.status)) channels.close(name)
        })

      const refreshing = (names: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          if (names.length === 0) return
          const standings = yield* journal.standings(names.map(keyOf))
          for (const [index, name] of names.entries()) {
            const standing = standings[index]
            if ((standing?.sequence ?? 0) > (channels.get(name)?.last ?? 0)) yield* refresh(name)
            yield* closeEnded(name, standing)
          }
        })

      const unsubscribe = engine.inspectUnsafe((inspection) => {
        if (inspection._tag !== "Decided") return
        const name = nameOf(inspection)
        if (channels.get(name) === undefined) return
        // After a failure, the loop below reads the instance within a second, and reports a store that does not answer.
        Effect.runForkWith(context)(
          Effect.catchCause(refreshing([name]), (cause) => Effect.logDebug(`an instance is read later: ${explain(Cause.squash(cause))}`)),
        )
      })
      yield* Effect.addFinalizer(() => Effect.sync(unsubscribe))

      yield* forkLoop(
        "the live stream of instances",
        Effect.andThen(
          Effect.sleep("1 second"),
          Effect.suspend(() => refreshing(channels.names)),
        ),
      )

      return {
        reader: (key, after) => channels.reader(nameOf(key), channels.open(nameOf(key), after, load(key)), after),
      }
    }),
  )
}
