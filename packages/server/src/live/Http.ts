/** Handler of the live stream of all changes. */

import { CoreApi } from "@detent/api/CoreApi"
import { type LiveTopic, liveTopics } from "@detent/api/LiveApi"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { liveResponse } from "../serve/live/liveResponse.ts"
import { LiveFeed } from "./LiveFeed.ts"

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
