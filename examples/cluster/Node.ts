/** An engine as a node of a cluster: the one layer that a program changes. */
import { Cluster } from "@detent/cluster"
import { Engine } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as Layer from "effect/Layer"

export const layerNode = (options: { readonly url: string; readonly address: string; readonly token: string }) =>
  Engine.layer().pipe(
    Layer.provideMerge(Cluster.layer({ address: options.address, token: options.token })),
    Layer.provide(PostgresStore.layer({ url: options.url })),
  )
