/** The nodes of a cluster. */
import type { ClusterNode } from "@detent/cluster"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Workspace } from "../Workspace.ts"

/** No node of the cluster has this address or name. */
export class NodeNotFound extends Schema.TaggedError<NodeNotFound>()("NodeNotFound", {
  node: Schema.String,
  known: Schema.Array(Schema.String),
}) {
  override get message() {
    return this.known.length === 0
      ? `there is no node ${this.node}: no process works here as a node of a cluster`
      : `there is no node ${this.node}; there are ${this.known.join(", ")}`
  }
}

const loadCluster = Effect.promise(() => import("@detent/cluster"))

/** Nodes that are alive, by address. None where the workspace is on SQLite, which one machine has. */
export const nodes = Effect.gen(function* () {
  const { database } = yield* Workspace
  if (database === "Sqlite") return [] as ReadonlyArray<ClusterNode>
  const { nodesOf } = yield* loadCluster
  return yield* nodesOf()
})

/** Has a node, named by its address or its name, give its instances to the others and take nothing more. */
export const drain = (node: string) =>
  Effect.gen(function* () {
    const known = yield* nodes
    const found = known.find((one) => one.address === node || one.node === node)
    if (found === undefined) return yield* new NodeNotFound({ node, known: known.map(({ address }) => address) })
    const { drainNode } = yield* loadCluster
    yield* drainNode(found.node)
    return { ...found, draining: true }
  })
