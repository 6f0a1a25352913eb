/** The cluster that this workspace is a node of, if any. */
import type { ClusterService } from "@detent/cluster"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Option from "effect/Option"

export interface ClusterSettings {
  /** Host and port at which other nodes reach this one: `10.0.0.7:7700`. Needed here, or from the command line as `--cluster`. */
  readonly address?: string | undefined
  /** Host and port on which this node listens, where they differ from `address`. Default: `address`. */
  readonly listen?: string
  /** The secret that the nodes share. Default: DETENT_CLUSTER_TOKEN. */
  readonly token?: string
  /** How long a node keeps its shards without a heartbeat. Default: 10 seconds. */
  readonly lease?: Duration.Input
  /** How long a request waits for the node that owns its instance before it fails. Default: three leases. */
  readonly patience?: Duration.Input
  /** Bounds of the requests to one node that it has not answered. Default: 100,000 requests and 128,000,000 characters. */
  readonly outgoing?: { readonly requests?: number; readonly characters?: number }
}

export class ClusterMember extends Context.Service<ClusterMember, Option.Option<ClusterService>>()("@detent/workspace/ClusterMember") {}
