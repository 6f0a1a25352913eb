/** Handler of the live stream of all changes. */
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { CoreApi } from "../api/CoreApi.ts"
import { liveResponse } from "../serve/live/liveResponse.ts"
import { LiveFeed, type LiveTopic, liveTopics } from "./LiveFeed.ts"

const isTopic = (name: string): name is LiveTopic => liveTopics.some((topic) => topic === name)

export const liveHandlers = HttpApiBuilder.group(
  CoreApi,
  "live",
  Effect.fnUntraced(function* (handlers) {
    const feed = yield* LiveFeed
    return handlers.handleRaw("follow", ({ query: { topics } }) =>
      Effect.sync(() => liveResponse(feed.reader(topics === undefined ? liveTopics : topics.split(",").filter(isTopic)))),
    )
  }),
)
