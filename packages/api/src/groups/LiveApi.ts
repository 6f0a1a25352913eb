/** The live stream of all changes, for pages that show them. */

import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { problems } from "../contract/Problem.ts"

export const liveTopics = ["counts", "changed", "batch", "upload", "queue", "node"] as const

export type LiveTopic = (typeof liveTopics)[number]

const topicList = new RegExp(`^(?:${liveTopics.join("|")})(?:,(?:${liveTopics.join("|")})){0,10}$`, "u")

/** Separated by commas. */
export const Topics = Schema.String.check(Schema.isPattern(topicList, { expected: `one or more of ${liveTopics.join(",")}` }))

export class LiveApi extends HttpApiGroup.make("live")
  .add(
    HttpApiEndpoint.get("follow", "/api/v1/live", {
      query: { topics: Schema.optionalKey(Topics) },
      success: HttpApiSchema.StreamUint8Array({ contentType: "text/event-stream" }),
      error: problems,
    })
      .annotate(OpenApi.Summary, "Follow all changes")
      .annotate(
        OpenApi.Description,
        "Server-sent events, at most four times a second: `counts` with the counts by state of machines that changed, `changed` with machine, " +
          "id, state, status and sequence of an instance, `many` where more than 200 changed at once, `batch`, `upload`, `queue` and `node`; " +
          "`beat` every two seconds. Events are hints: read the named data again, and all data after a reconnect. Default: all topics.",
      ),
  )
  .annotate(OpenApi.Description, "The live stream of all changes") {}
