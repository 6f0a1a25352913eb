/**
 * Divides instances between nodes: each is placed on one node at a time and is in memory only there, and other nodes send their
 * requests to that node. Without a routing in the `Placement`, every process may have every instance in memory, and an event that
 * gets a sequence conflict is decided again.
 *
 * A routing need not be up to date to be safe. If a node commits to an instance that it has lost, the store refuses the commit by
 * the fence of its lease or by the sequence.
 */
import { hash } from "node:crypto"
import type { Overloaded, PersistenceFailed } from "@detent/machine"
import type { InstanceKey } from "@detent/store"
import type { Json, ShardFilter } from "@detent/store/internal"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** How many computed shards are cached. When there are more, the cache is emptied. */
const keptLimit = 10_000

/**
 * The shard of an instance: the first 16 bits of an MD5 of its name. PostgreSQL computes the same, see `inShards` in PostgresStore.ts.
 * It is needed several times for every event, so the shards of instances are cached.
 */
export const makeShardOf = (count: number): ((key: InstanceKey) => number) => {
  let kept = new Map<string, Map<string, number>>()
  let size = 0
  return ({ machine, id }) => {
    let ofMachine = kept.get(machine)
    const known = ofMachine?.get(id)
    if (known !== undefined) return known
    if (size++ >= keptLimit) {
      kept = new Map()
      ofMachine = undefined
      size = 1
    }
    if (ofMachine === undefined) {
      ofMachine = new Map()
      kept.set(machine, ofMachine)
    }
    const shard = Number.parseInt(hash("md5", `${machine}/${id}`).slice(0, 4), 16) % count
    ofMachine.set(id, shard)
    return shard
  }
}

/** A request to the node that has an instance. */
export type RemoteRequest =
  /**
   * An event as its machine's codec encodes it. The same id again is the same event. `silent`: without the decision in the answer.
   * `first`: the node made the id for this event, and has not sent it before.
   */
  | { readonly _tag: "Send"; readonly event: Json; readonly id: string; readonly silent?: boolean; readonly first?: boolean }
  /** Starts the instance in this state, as its codec encodes it. The same `at` again is the same start. `by`: who starts it. */
  | { readonly _tag: "Start"; readonly state: Json; readonly version: number; readonly at: number; readonly by?: string }
  /** Opens the instance, because it may have work to do. */
  | { readonly _tag: "Wake" }

export type RemoteAnswer =
  /** Of an event: the decision as JSON, unless it was sent silently. Of a start: nothing. */
  | { readonly _tag: "Done"; readonly taken?: Json }
  /** The error as JSON. */
  | { readonly _tag: "Refused"; readonly error: Json }
  /** The node does not have the instance, or cannot serve it now: the request is sent again, to the node that has it by then. */
  | { readonly _tag: "Elsewhere"; readonly reason: string }

/** The part of a node that has instances: an engine, or a workflow engine. */
export interface Receiver {
  /** Whether it knows the machine. */
  readonly serves: (machine: string) => boolean
  /**
   * Takes requests for one instance in their order. Each is answered once, by its position. Returns undefined if the instance has
   * received all of them, otherwise an Effect that ends when it has. Nothing else may be received for the instance until then.
   */
  readonly receive: (key: InstanceKey, requests: ReadonlyArray<RemoteRequest>, answer: Answering) => Effect.Effect<void> | undefined
  /** This node has gained shards: instances with work to do are opened. */
  readonly gained: () => void
  /**
   * Instances leave this node; `isLeaving` says which. `leaving`: ends when their accepted events are stored and their work has ended.
   * `lost`: another node may have them already, and nothing more is decided here.
   */
  readonly leave: (isLeaving: (key: InstanceKey) => boolean, departure: "leaving" | "lost") => Effect.Effect<void>
  /** The leaving instances that are still here: no other node may have them until their work has ended and their events are stored. */
  readonly remaining: (isLeaving: (key: InstanceKey) => boolean) => ReadonlyArray<InstanceKey>
}

/** The operation of a `PersistenceFailed` when no node has answered a request in time. */
export const reachOperation = "reach the node that has it"

export type Answering = (position: number, answer: RemoteAnswer) => void

export interface Routing {
  /** Whether the instance is placed on this node. */
  readonly isLocal: (key: InstanceKey) => boolean
  /**
   * Whether a caller must use `request` although the instance is local: earlier requests for it are still in flight, and the new
   * one must not overtake them.
   */
  readonly isAwaited: (key: InstanceKey) => boolean
  /**
   * Sends a request to the node that has the instance, again until a node answers it. Requests for one instance arrive in the
   * order of the calls. Fails when no node has answered in time: the request may have been carried out. Fails with `Overloaded` when
   * too many requests wait for that node already. A caller that is interrupted withdraws a request that was not sent.
   */
  readonly request: (
    key: InstanceKey,
    request: RemoteRequest,
  ) => Effect.Effect<Exclude<RemoteAnswer, { _tag: "Elsewhere" }>, PersistenceFailed | Overloaded>
  /** The most characters of an event or a state in a request, and of a decision in an answer. */
  readonly requestCharacters: number
  /** The shards of this node, for statements that choose by shard. */
  readonly shards: () => ShardFilter
  /**
   * Registers a part that answers requests of other nodes, until the scope closes. Then the node gives up its shards, so that
   * other nodes have them before this part ends.
   */
  readonly serve: (receiver: Receiver) => Effect.Effect<void, never, Scope.Scope>
}
