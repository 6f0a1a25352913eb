/** One activity of a batch, as a queue calls it. */
import { ActivityName } from "@detent/knowledge/schemas"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/unstable/httpapi/HttpApiEndpoint"
import * as HttpApiGroup from "effect/unstable/httpapi/HttpApiGroup"
import * as OpenApi from "effect/unstable/httpapi/OpenApi"
import { problems } from "../api/Problem.ts"

export const ActivityAnswer = Schema.Union([
  Schema.Struct({ outcome: Schema.Literal("done"), result: Schema.Unknown }),
  Schema.Struct({ outcome: Schema.Literal("late"), reason: Schema.String }),
  Schema.Struct({ outcome: Schema.Literal("dead"), problem: Schema.String }),
]).annotate({ identifier: "ActivityAnswer" })

export class ActivityApi extends HttpApiGroup.make("activities")
  .add(
    HttpApiEndpoint.post("run", "/activities/:name", {
      params: { name: ActivityName },
      payload: Schema.Unknown,
      success: ActivityAnswer,
      error: problems,
    })
      .annotate(OpenApi.Summary, "Run an activity")
      .annotate(
        OpenApi.Description,
        "What Cloud Tasks calls, with an OIDC token of the service account that `knowledge.tasks` names; an operator may call it too. The body is " +
          "the input of the activity. 200: it is done, it is late (its batch does not wait for it), or it is a dead letter. 503: call " +
          "it again. 422: the input is wrong; or it failed for good, its batch knows, and it is a dead letter.",
      ),
  )
  .annotate(OpenApi.Description, "Activities of batches, as a queue calls them.") {}
