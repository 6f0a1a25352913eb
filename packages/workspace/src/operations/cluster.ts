/** The processes that work in a workspace, and the nodes of a cluster. */
import type { ClusterNode } from "@detent/cluster"
import { Engine, Leases } from "@detent/durable"
import { nodeLeasePrefix } from "@detent/durable/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { optional } from "../optional.ts"
import { type Role, Workspace } from "../Workspace.ts"

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

/** Nodes that are alive, by address. None where the workspace is on SQLite, which belongs to one machine. */
export const nodes = Effect.gen(function* () {
  const { database } = yield* Workspace
  if (database === "Sqlite") return [] as ReadonlyArray<ClusterNode>
  const { nodesOf } = yield* loadCluster
  return yield* nodesOf()
})

export interface WorkingProcess {
  /** The name of its node, or of none where it only observes. */
  readonly name: string
  readonly role: Role
  /** Whether it is the process that answers. The facts below are known of that one only. */
  readonly here: boolean
  /** When its lease ends, unless it extends it; absent where it holds none. */
  readonly leaseUntil?: number
  readonly startedAt?: number
  /** Instances in its memory. */
  readonly running?: number
  /** Bytes of memory. */
  readonly rss?: number
}

/** The most processes that are listed. */
const mostProcesses = 1000

/** Processes that work in the workspace, by their leases, and the one that answers. */
export const processes = Effect.gen(function* () {
  const { node, role } = yield* Workspace
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

/** The node id of a lease. An engine that is a node of its own has a name of its own before it. */
const nameOf = (lease: string): string => lease.slice(nodeLeasePrefix.length).replace(/^engine\//, "")

/** Has a node, named by its address or its name, give its shards to other nodes and take no new ones. */
export const drain = (node: string) =>
  Effect.gen(function* () {
    const known = yield* nodes
    const found = known.find((one) => one.address === node || one.node === node)
    if (found === undefined) return yield* new NodeNotFound({ node, known: known.map(({ address }) => address) })
    const { drainNode } = yield* loadCluster
    yield* drainNode(found.node)
    return { ...found, draining: true }
  })
