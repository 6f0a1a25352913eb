/** Live streams of batch events. One loop follows the log for all readers of all batches. */

import type { BatchStatus } from "@detent/api/BatchStatus"
import { Commands, forkLoop } from "@detent/durable"
import { BatchEventLog, Batches, BatchId, BatchMachine, type CanonicalGraph, isTerminal, type Reviews } from "@detent/knowledge"
import { statusWithReview } from "@detent/workspace/operations/batches"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { type Frame, frameOf } from "../serve/live/Channel.ts"
import { makeChannels } from "../serve/live/Channels.ts"
import type { LiveReader } from "../serve/live/LiveReader.ts"

type Events = Stream.Success<ReturnType<(typeof BatchEventLog.Service)["events"]>>

type EndError = Effect.Error<ReturnType<Effect.Success<typeof makeBatchEnd>>>

type LogError = Effect.Error<ReturnType<(typeof BatchEventLog.Service)["page"]>>

/** Returns the final status once all events of the batch are in the log. None before that, and after the batch was resumed. */
const makeBatchEnd = Effect.gen(function* () {
  const batches = yield* Batches
  const commands = yield* Commands
  const services = yield* Effect.context<Reviews | CanonicalGraph.CanonicalGraph>()
  return (batch: BatchId) =>
    Effect.gen(function* () {
      const state = yield* batches.state(batch)
      if (!isTerminal(state)) return Option.none<BatchStatus>()
      // Commands of this or an earlier state emit the events: an event is in the log once its command is done.
      const open = yield* Effect.forEach(["pending", "processing"] as const, (status) =>
        commands.list({ machine: BatchMachine.name, id: batch, status }, 1),
      )
      const areLogged = open.every((page) => page.commands.length === 0)
      return areLogged ? Option.some<BatchStatus>(yield* Effect.provide(statusWithReview(state), services)) : Option.none<BatchStatus>()
    })
})

/** The last event of a batch is one of these. A batch may be resumed after `BatchFailed`. */
const isLast = ({ _tag }: Events): boolean => _tag === "BatchCompleted" || _tag === "BatchFailed"

const frameOfEvent = ({ position, _tag, payload }: Events): Frame => frameOf(position, _tag, payload)

/**
 * The last event is in the log just before its command is done, so the first checks follow quickly. Checks are repeated while the
 * channel has readers: for a batch whose last event is a dead letter, no event shows that it has ended.
 */
const lookingAgain = Schedule.min([Schedule.exponential("20 millis"), Schedule.spaced("2 seconds")])

export interface BatchFeedService {
  /** The position of the last event of all batches. */
  readonly position: (typeof BatchEventLog.Service)["position"]
  /** Reads all events of a batch after a position, then each new event, with `first` before them. Ends when the batch ends. */
  readonly reader: (batch: BatchId, after: number, first?: Frame) => LiveReader
  /** Whether the batch has ended and has no events after a position. */
  readonly isOver: (batch: BatchId, after: number) => Effect.Effect<boolean, LogError | EndError>
}

export class BatchFeed extends Context.Service<BatchFeed, BatchFeedService>()("@detent/server/BatchFeed") {
  static readonly layer = Layer.effect(
    BatchFeed,
    Effect.gen(function* () {
      const log = yield* BatchEventLog
      const channels = yield* makeChannels
      const endOf = yield* makeBatchEnd
      const run = yield* FiberMap.makeRuntime<never, BatchId>()
      const context = yield* Effect.context<never>()
      // Events after this position are added to the channels.
      let followed = yield* log.position

      /** Sends the final status to the readers of a batch that has ended, and closes its channel. */
      const endIfOver = (batch: BatchId) =>
        Effect.gen(function* () {
          const end = yield* endOf(batch)
          if (Option.isNone(end)) return false
          const position = yield* log.position
          while (followed < position) yield* Effect.sleep("20 millis")
          channels.close(batch, frameOf(position, "status", end.value).bytes)
          return true
        })

      /** Replaces a running check, whose answer may be older than the latest event. */
      const endWhenOver = (batch: BatchId) =>
        run(
          batch,
          endIfOver(batch).pipe(
            Effect.tapError((error) => Effect.logWarning("the state of a batch cannot be read at the moment", error.message)),
            Effect.retry(Schedule.spaced("1 second")),
            Effect.repeat({ until: (isOver) => isOver || channels.get(batch) === undefined, schedule: lookingAgain }),
          ),
        )

      /** Events that arrive together are added together, so that a reader gets them in one write. */
      const give = (events: ReadonlyArray<Events>) =>
        Effect.sync(() => {
          for (const [batch, some] of Map.groupBy(events, ({ primaryKey }) => primaryKey)) {
            const channel = channels.get(batch)
            channel?.add(some.map(frameOfEvent))
            if (channel !== undefined && some.some(isLast)) endWhenOver(BatchId.make(batch))
          }
          followed = events.at(-1)?.position ?? followed
        })

      yield* forkLoop("the live stream of batches", (works) =>
        Effect.andThen(
          // A successful read of the log, before following it, shows that an outage has ended.
          Effect.tap(log.position, works),
          Stream.runForEachArray(
            Stream.suspend(() => log.events(followed)),
            give,
          ),
        ),
      )

      const page = (batch: BatchId, after: number) =>
        Effect.map(log.page(after), ({ events, through }) => ({
          frames: events.filter(({ primaryKey }) => primaryKey === batch).map(frameOfEvent),
          through,
        }))

      const load = (batch: BatchId) => (after: number) => Effect.runPromiseWith(context)(page(batch, after))

      /** Whether a batch has no events after a position. Reads none for the latest one, with which readers reconnect when a batch ends. */
      const hasNoEvents = (batch: BatchId, after: number): Effect.Effect<boolean, LogError> =>
        Effect.gen(function* () {
          if (after >= (yield* log.position)) return true
          const { frames, through } = yield* page(batch, after)
          return frames.length === 0 && (yield* hasNoEvents(batch, through))
        })

      return {
        position: log.position,
        reader: (batch, after, first) => {
          const isNew = channels.get(batch) === undefined
          const reader = channels.reader(batch, channels.open(batch, followed, load(batch)), after, first)
          // The batch may have ended before its first reader connected.
          if (isNew) endWhenOver(batch)
          return reader
        },
        isOver: (batch, after) =>
          Effect.flatMap(endOf(batch), (end) => (Option.isNone(end) ? Effect.succeed(false) : hasNoEvents(batch, after))),
      }
    }),
  )
}
