/** The processes that work in a workspace, and the nodes of a cluster. */
import type { ClusterNode } from "@detent/cluster"
import { Engine, Leases } from "@detent/durable"
import { nodeLeasePrefix } from "@detent/durable/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { CurrentWorkspace, type Role } from "../CurrentWorkspace.ts"
import { optional } from "../optional.ts"

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

/** Nodes that are alive, sorted by address. Empty on SQLite: its file belongs to one machine. */
export const nodes = Effect.gen(function* () {
  const { database } = yield* CurrentWorkspace
  if (database === "Sqlite") return [] as ReadonlyArray<ClusterNode>
  const { nodesOf } = yield* loadCluster
  return yield* nodesOf()
})

export interface WorkingProcess {
  /** The node id of the process, or `observer-PID` where it only observes. */
  readonly name: string
  readonly role: Role
  /** Whether this is the process that answers. `startedAt`, `running` and `rss` are known of that process only. */
  readonly here: boolean
  /** When its lease expires unless renewed; absent where it holds none. */
  readonly leaseUntil?: number
  readonly startedAt?: number
  /** Instances in memory. */
  readonly running?: number
  /** Bytes of memory. */
  readonly rss?: number
}

/** The most processes that are listed. */
const mostProcesses = 1000

/** The process that answers, and the other processes that hold a lease in the workspace. */
export const processes = Effect.gen(function* () {
  const { node, role } = yield* CurrentWorkspace
  const leases = yield* Effect.flatMap(Leases, (service) => service.held(nodeLeasePrefix, mostProcesses))
  const running = yield* Effect.flatMap(Engine, (engine) => engine.live)
  const facts = { startedAt: Math.floor(performance.timeOrigin), running, rss: process.memoryUsage.rss() }
  const held = leases.map(({ name, expiresAt: leaseUntil }) => ({ name: nameOf(name), leaseUntil }))
  const own = held.find(({ name }) => name === node)
  const others = held.filter((one) => one !== own).map((one): WorkingProcess => ({ ...one, role: "work", here: false }))
  const here: WorkingProcess = {
    name: node ?? `observer-${process.pid}`,
    role,
    here: true,
    ...optional({ leaseUntil: own?.leaseUntil }),
    ...facts,
  }
  return [here, ...others]
})

/** The node id of a lease. The lease of an engine that is its own node has a prefix. */
const nameOf = (lease: string): string => lease.slice(nodeLeasePrefix.length).replace(/^engine\//, "")

/** Drains a node, named by its address or its id: it hands its shards to other nodes and takes no new ones. */
export const drain = Effect.fn("cluster.drain")(function* (node: string) {
  const known = yield* nodes
  const found = known.find((one) => one.address === node || one.node === node)
  if (found === undefined) return yield* new NodeNotFound({ node, known: known.map(({ address }) => address) })
  const { drainNode } = yield* loadCluster
  yield* drainNode(found.node)
  return { ...found, draining: true }
})
