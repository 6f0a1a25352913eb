/** The nodes of a cluster: list the live nodes with their shards, and drain a node. */

import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { Millis } from "../contract/Paging.ts"
import { problems } from "../contract/Problem.ts"

export const ClusterNode = Schema.Struct({
  address: Schema.String,
  /** The id of the node, new with every start. */
  node: Schema.String,
  startedAt: Millis,
  /** How many of the 300 shards the node owns. */
  shards: Schema.Int,
  /** Running instances and executions that the node owns. */
  working: Schema.Int,
  /** Milliseconds until its lease expires unless renewed. */
  leaseMillis: Schema.Int,
  /** How long the oldest overdue timer of its instances has been due. 0: none is late. */
  lagMillis: Schema.Int,
  /** Whether the node is handing its shards to other nodes and takes no new ones. */
  draining: Schema.Boolean,
}).annotate({ identifier: "ClusterNode" })

export const WorkingProcess = Schema.Struct({
  /** The node id of the process. */
  name: Schema.String,
  role: Schema.Literals(["observe", "work"]),
  /** Whether this is the process that answers. Only that process has `startedAt`, `running` and `rss`. */
  here: Schema.Boolean,
  /** When its lease expires unless renewed; absent where it holds none. */
  leaseUntil: Schema.optionalKey(Millis),
  startedAt: Schema.optionalKey(Millis),
  /** Instances in memory. */
  running: Schema.optionalKey(Schema.Int),
  /** Bytes of memory. */
  rss: Schema.optionalKey(Schema.Int),
}).annotate({ identifier: "WorkingProcess" })

const error = problems

export class ClusterApi extends HttpApiGroup.make("cluster")
  .add(
    HttpApiEndpoint.get("nodes", "/api/v1/nodes", {
      success: Schema.Struct({ nodes: Schema.Array(ClusterNode), processes: Schema.Array(WorkingProcess) }),
      error,
    })
      .annotate(OpenApi.Summary, "List nodes")
      .annotate(
        OpenApi.Description,
        "`nodes`: the live nodes of the cluster, sorted by address; empty without a cluster. `processes`: all processes that work in the " +
          "workspace, with their leases. The process that answers is first.",
      ),
    HttpApiEndpoint.post("drain", "/api/v1/nodes/:node/drain", {
      params: { node: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(300)) },
      success: ClusterNode,
      error,
    })
      .annotate(OpenApi.Summary, "Drain a node")
      .annotate(OpenApi.Description, "The node, named by its address, hands its shards to the other nodes and takes no new ones."),
  )
  .annotate(OpenApi.Description, "Nodes of a cluster") {}
