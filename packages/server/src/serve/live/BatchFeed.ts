/** What batches tell, as live streams: the log of batch events is followed once, for all readers of all batches. */
import { BatchEventLog, type BatchId } from "@detent/knowledge"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { type Frame, frameOf } from "./Channel.ts"
import { makeChannels } from "./Channels.ts"
import type { LiveReader } from "./LiveReader.ts"

type Events = Stream.Success<ReturnType<(typeof BatchEventLog.Service)["events"]>>

type LogError = Effect.Error<ReturnType<(typeof BatchEventLog.Service)["page"]>>

const frameOfEvent = ({ position, _tag, payload }: Events): Frame => frameOf(position, _tag, payload)

export interface BatchFeedService {
  /** The position of the last event of all batches. */
  readonly position: (typeof BatchEventLog.Service)["position"]
  /** All events of a batch after a position, then each new one; `first` comes before them. */
  readonly reader: (batch: BatchId, after: number, first?: Frame) => LiveReader
  /** The events of a batch after a position, as far as they are stored: for one to which nothing more happens. */
  readonly past: (batch: BatchId, after: number) => Stream.Stream<Frame, LogError>
  readonly readers: Effect.Effect<number>
  readonly end: Effect.Effect<void>
}

export class BatchFeed extends Context.Service<BatchFeed, BatchFeedService>()("@detent/server/BatchFeed") {
  static readonly layer = Layer.effect(
    BatchFeed,
    Effect.gen(function* () {
      const log = yield* BatchEventLog
      const channels = yield* makeChannels
      const context = yield* Effect.context<never>()
      // Whatever is stored after this is given to the channels.
      let followed = yield* log.position

      /** Those that come together are given together, so that a reader gets them in one piece. */
      const give = (events: ReadonlyArray<Events>) =>
        Effect.sync(() => {
          for (const [batch, some] of Map.groupBy(events, ({ primaryKey }) => primaryKey)) {
            channels.get(batch)?.add(some.map(frameOfEvent))
          }
          followed = events.at(-1)?.position ?? followed
        })

      yield* Stream.runForEachArray(
        Stream.suspend(() => log.events(followed)),
        give,
      ).pipe(
        Effect.tapError((error) => Effect.logWarning("the events of batches cannot be followed at the moment", error)),
        Effect.retry(Schedule.spaced("1 second")),
        Effect.orDie,
        Effect.forkScoped,
      )

      const page = (batch: BatchId, after: number) =>
        Effect.map(log.page(after), ({ events, through }) => ({
          frames: events.filter(({ primaryKey }) => primaryKey === batch).map(frameOfEvent),
          through,
          isLast: events.length === 0,
        }))

      const load = (batch: BatchId) => (after: number) => Effect.runPromiseWith(context)(page(batch, after))

      return {
        position: log.position,
        reader: (batch, after, first) => channels.reader(batch, channels.open(batch, followed, load(batch)), after, first),
        past: (batch, after) =>
          Stream.paginate(after, (position) =>
            Effect.map(
              page(batch, position),
              ({ frames, through, isLast }) => [frames, isLast ? Option.none() : Option.some(through)] as const,
            ),
          ),
        readers: Effect.sync(() => channels.readerCount),
        end: Effect.sync(() => channels.end()),
      }
    }),
  )
}
