/** Live streams of uploads: the status of an upload, whenever it changes. One watcher serves all readers of an upload. */
import { Uploads } from "@detent/uploads"
import { statusOf } from "@detent/workspace/operations/uploads"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { type Channel, frameOf } from "../serve/live/Channel.ts"
import { makeChannels } from "../serve/live/Channels.ts"
import type { LiveReader } from "../serve/live/LiveReader.ts"

export interface UploadFeedService {
  /** Reads the given status, then each new status. Ends when no work is in progress. */
  readonly reader: (batchId: string, status: unknown) => LiveReader
}

export class UploadFeed extends Context.Service<UploadFeed, UploadFeedService>()("@detent/server/UploadFeed") {
  static readonly layer = Layer.effect(
    UploadFeed,
    Effect.gen(function* () {
      const uploads = yield* Uploads
      const channels = yield* makeChannels
      const run = yield* FiberMap.makeRuntime<never, string>()

      /** Adds each status to the channel while it has readers, and closes it when no work is in progress. */
      const follow = (batchId: string, channel: Channel) => {
        const isOpen = () => channels.get(batchId) === channel
        return Stream.runForEach(Stream.takeWhile(uploads.watch(batchId), isOpen), (status) =>
          Effect.sync(() => channel.add([frameOf(channel.last + 1, "status", statusOf(status))])),
        ).pipe(
          Effect.catch((error) => Effect.logWarning(`the upload ${batchId} cannot be followed: ${error.message}`)),
          // A client whose stream ends reconnects and gets the current status. A newer channel of the upload stays open.
          Effect.ensuring(Effect.sync(() => isOpen() && channels.close(batchId))),
        )
      }

      return {
        reader: (batchId, status) => {
          const isNew = channels.get(batchId) === undefined
          // Each status replaces the previous one: a reader that is behind loads none, and gets the next.
          const channel: Channel = channels.open(batchId, 0, async () => ({ frames: [], through: channel.last }))
          const reader = channels.reader(batchId, channel, channel.last, frameOf(channel.last, "status", status))
          if (isNew) run(batchId, follow(batchId, channel))
          return reader
        },
      }
    }),
  )
}
