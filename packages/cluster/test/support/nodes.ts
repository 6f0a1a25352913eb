/** Nodes of a cluster in one process, each with its own connections and its own engine. */
import { Engine } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as Layer from "effect/Layer"
import type { ClusterOptions } from "../../src/index.ts"
import { Cluster } from "../../src/index.ts"

export const token = "a secret of the tests that is long enough"

/** A node of its own: services of one node are not those of another. Its lease and its patience outlast the pauses of a busy machine. */
export const layerNode = (url: string, address: string, options: Partial<ClusterOptions> = {}) =>
  Layer.fresh(
    Engine.layer({ sweeper: { interval: "200 millis" } }).pipe(
      Layer.provideMerge(Cluster.layer({ address, token, lease: "10 seconds", patience: "50 seconds", ...options })),
      Layer.provideMerge(PostgresStore.layer({ url, maxConnections: 6 })),
    ),
  )
