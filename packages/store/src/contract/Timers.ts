/**
 * Durable deadlines: set and cleared in commits, claimed here when they are due. The store's clock decides which are due and how long
 * a claim lasts, so that a node whose clock is wrong neither fires early nor takes over the claim of a live node.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Fence, InstanceKey, ShardFilter, TimerRecord } from "./Commit.ts"
import type { InstanceLife } from "./Journal.ts"

/** A timer that a node has claimed to fire. */
export interface ClaimedTimer extends InstanceKey, TimerRecord {
  /** How often it has been claimed, this time included. */
  readonly attempts: number
}

/** A timer that failed to fire too often and was given up. */
export interface DeadTimer extends InstanceKey, TimerRecord {
  readonly attempts: number
  readonly problem: string
}

/** The newest version that is known of each machine. */
export type MachineVersions = { readonly [machine: string]: number }

export interface ClaimRequest {
  /** Only timers of these machines: a node fires only timers of machines that are registered there. */
  readonly machines: ReadonlyArray<string>
  /** No timers of instances that a newer version of their machine wrote. */
  readonly versions?: MachineVersions
  /** Only timers that have been due for this long. Default: 0. */
  readonly graceMillis?: number
  readonly limit: number
  readonly owner: string
  /** How long a claim lasts: until then no other node gets the timer. */
  readonly claimMillis: number
  /** Only timers of instances in these shards. Stores that only one process uses ignore it. */
  readonly shards?: ShardFilter | undefined
  /** The lease of the claiming node. Once it has ended or changed hands, the claim has ended as well. */
  readonly fence?: Fence | undefined
}

export interface TimersService {
  /**
   * Claims due timers that are not claimed, oldest first. Each timer goes to one node. Timers of one instance are claimed in the
   * order of their deadlines: none is returned while an earlier one of the same instance is claimed by another node.
   */
  readonly claim: (request: ClaimRequest) => Effect.Effect<ReadonlyArray<ClaimedTimer>, PersistenceFailed>
  /** Milliseconds until the next timer that can be claimed is due; negative where it is overdue. */
  readonly nextDue: (
    machines: ReadonlyArray<string>,
    versions?: MachineVersions,
    shards?: ShardFilter,
  ) => Effect.Effect<Option.Option<number>, PersistenceFailed>
  /** Machines other than these that have timers which have been due for this long. */
  readonly unserved: (machines: ReadonlyArray<string>, overdueMillis: number) => Effect.Effect<ReadonlyArray<string>, PersistenceFailed>
  /** Removes a timer if it still has this entry. False where a newer one, or one of a later instance, has replaced it. */
  readonly complete: (timer: InstanceLife & TimerRecord) => Effect.Effect<boolean, PersistenceFailed>
  /** Releases a claim: the timer can be claimed after this delay. False where the owner does not hold it. */
  readonly release: (timer: InstanceKey & TimerRecord, owner: string, delayMillis: number) => Effect.Effect<boolean, PersistenceFailed>
  /** Gives up a timer: it is listed as dead and no longer claimed. */
  readonly bury: (timer: InstanceKey & TimerRecord, problem: string) => Effect.Effect<boolean, PersistenceFailed>
  readonly dead: (limit: number) => Effect.Effect<ReadonlyArray<DeadTimer>, PersistenceFailed>
  /** Makes a timer due now, if it still has this entry and is not dead. False otherwise. */
  readonly fireNow: (timer: InstanceKey & TimerRecord) => Effect.Effect<boolean, PersistenceFailed>
  /** Makes a dead timer claimable again. */
  readonly revive: (timer: InstanceKey & TimerRecord) => Effect.Effect<boolean, PersistenceFailed>
}

export class Timers extends Context.Service<Timers, TimersService>()("@detent/durable/Timers") {}
