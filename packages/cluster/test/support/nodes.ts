/** Nodes of a cluster in one process, each with its own connections and its own engine. */
import { createServer } from "node:net"
import { Engine } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ClusterOptions } from "../../src/index.ts"
import { Cluster } from "../../src/index.ts"

export const token = "a secret of the tests that is long enough"

export const freePort: Effect.Effect<number> = Effect.callback((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** A node of its own: services of one node are not those of another. */
export const layerNode = (url: string, address: string, options: Partial<ClusterOptions> = {}) =>
  Layer.fresh(
    Engine.layer({ sweeper: { interval: "200 millis", backoffOnEmpty: "100 millis" } }).pipe(
      Layer.provideMerge(Cluster.layer({ address, token, lease: "3 seconds", ...options })),
      Layer.provideMerge(PostgresStore.layer({ url, maxConnections: 6 })),
    ),
  )
