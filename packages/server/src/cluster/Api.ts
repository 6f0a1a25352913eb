/** The nodes of a cluster: who is alive, what each has, and how one is taken out of service. */
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/unstable/httpapi/HttpApiEndpoint"
import * as HttpApiGroup from "effect/unstable/httpapi/HttpApiGroup"
import * as OpenApi from "effect/unstable/httpapi/OpenApi"
import { Millis } from "../api/Paging.ts"
import { problems } from "../api/Problem.ts"

export const ClusterNode = Schema.Struct({
  address: Schema.String,
  /** Its name in this life. */
  node: Schema.String,
  startedAt: Millis,
  /** How many of the 300 shards it has. */
  shards: Schema.Int,
  /** Running instances and executions whose work it has. */
  working: Schema.Int,
  /** Milliseconds until its lease ends, unless it extends it. */
  leaseMillis: Schema.Int,
  /** It gives up what it has and takes nothing more. */
  draining: Schema.Boolean,
}).annotate({ identifier: "ClusterNode" })

const error = problems

export class ClusterApi extends HttpApiGroup.make("cluster")
  .add(
    HttpApiEndpoint.get("nodes", "/api/v1/nodes", { success: Schema.Struct({ nodes: Schema.Array(ClusterNode) }), error })
      .annotate(OpenApi.Summary, "List nodes")
      .annotate(OpenApi.Description, "Nodes of the cluster that are alive, by address. None where no process is a node of one."),
    HttpApiEndpoint.post("drain", "/api/v1/nodes/:node/drain", {
      params: { node: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(300)) },
      success: ClusterNode,
      error,
    })
      .annotate(OpenApi.Summary, "Drain a node")
      .annotate(OpenApi.Description, "The node, named by its address, gives its instances to the others and takes nothing more."),
  )
  .annotate(OpenApi.Description, "Nodes of a cluster") {}
