/** The workspace as a node of a cluster, where it is one. */
import type { ClusterService } from "@detent/cluster"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Option from "effect/Option"

export interface ClusterSettings {
  /** Host and port at which other nodes reach this one: `10.0.0.7:7700`. */
  readonly address: string
  /** Host and port on which it listens, where they differ. Default: `address`. */
  readonly listen?: string
  /** The secret that the nodes share. Default: DETENT_CLUSTER_TOKEN. */
  readonly token?: string
  /** How long a node keeps its shards without a heartbeat. Default: 10 seconds. */
  readonly lease?: Duration.Input
  /** How long a request waits for a node that has its instance before it fails. Default: three leases. */
  readonly patience?: Duration.Input
}

export class ClusterMember extends Context.Service<ClusterMember, Option.Option<ClusterService>>()("@detent/workspace/ClusterMember") {}
