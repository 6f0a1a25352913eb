/** Runs one activity of a batch when a queue calls it. */
import { ActivityName } from "@detent/knowledge/schemas"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { accessOf } from "../contract/Access.ts"
import { problems } from "../contract/Problem.ts"

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
      .annotateMerge(accessOf("queue"))
      .annotate(OpenApi.Summary, "Run an activity")
      .annotate(
        OpenApi.Description,
        "Called by Cloud Tasks, with an OIDC token of the service account that `knowledge.tasks` names; an operator may call it too. The body is " +
          "the input of the activity. `attempt` in the input is the attempt of the batch that the call belongs to. Default: the current " +
          "attempt. 200: the activity is done, late (its batch has ended or does not wait for it), or a dead letter. 400: the body is not " +
          "JSON, or no activity has this name. 422: the input is wrong; the batch is not yet at this stage; or the activity failed " +
          "permanently, was reported to its batch, and is a dead letter. 503: call it again.",
      ),
  )
  .annotate(OpenApi.Description, "Activities of batches, for queues that call them over HTTP.") {}
