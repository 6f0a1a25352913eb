/**
 * Placement decides which node runs an instance: its state work, and the runs of an Effect workflow. A node is one life of one
 * process. The commit that enters a state with work writes the node as owner into the instance's row, and only the owner runs
 * the work.
 *
 * `Placement.leases` is the default: a node proves that it is alive by a lease with a heartbeat. When the lease ends, other nodes
 * take over what it owned by compare-and-set, and the fencing token refuses what it still tries to commit.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Fence } from "../store/Commit.ts"

export interface PlacementService {
  /** The name of this node in its current life: what commits write as owner. A node that lost its lease continues under another name. */
  readonly node: () => string
  /** Proof for commits that this life of the node still holds its lease. Undefined while it holds none: nothing may be committed as owner. */
  readonly fence: () => Fence | undefined
  /** Whether the owner is a node that is alive. What the store said is believed for 500 milliseconds. */
  readonly isAlive: (owner: string) => Effect.Effect<boolean>
  /**
   * Makes sure that a node whose lease has ended cannot commit any more, before its instances are taken over. False where it is
   * alive after all.
   */
  readonly bury: (owner: string) => Effect.Effect<boolean>
  /** Called when this node has lost its lease, before anything else happens: the work it runs must stop. Returns how to unsubscribe. */
  readonly onLost: (listener: () => void) => () => void
  /** Called when this node has a lease again, under a new name. */
  readonly onRegained: (listener: () => void) => () => void
}

export class Placement extends Context.Service<Placement, PlacementService>()("@detent/durable/Placement") {}
