import { Cluster } from "@detent/cluster"
import { openEngine } from "@detent/durable/promise"
import { Order } from "./Order.ts"

/** Run by hand: it needs a PostgreSQL. */
export const openNode = async (host: string, token: string) => {
  const BuiltOrder = Order.build({ charge: async ({ total }) => `receipt for ${total}` })
  // #region node
  const engine = await openEngine({
    database: "postgres://detent@db.internal/orders",
    cluster: Cluster.layer({ address: `${host}:7700`, token }),
    machines: [BuiltOrder],
  })
  // #endregion node
  return engine
}
