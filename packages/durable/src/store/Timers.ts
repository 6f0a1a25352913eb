/** Deadlines that survive: set and cleared in commits, claimed here when they are due. */
import type { PersistenceFailed } from "@detent/machine"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { InstanceKey, TimerRecord } from "./Commit.ts"

/** A timer that one node has taken upon itself to fire. */
export interface ClaimedTimer extends InstanceKey, TimerRecord {
  /** How often it has been claimed, this time included. */
  readonly attempts: number
}

/** A timer that could not be fired so often that it was given up. */
export interface DeadTimer extends InstanceKey, TimerRecord {
  readonly attempts: number
  readonly problem: string
}

/** The newest version that is known of each machine. */
export type MachineVersions = { readonly [machine: string]: number }

export interface ClaimRequest {
  /** Only timers of these machines: a node fires what it can decide. */
  readonly machines: ReadonlyArray<string>
  /** No timers of instances that a newer version of their machine wrote. */
  readonly versions?: MachineVersions
  readonly now: number
  readonly limit: number
  readonly owner: string
  /** Until when nobody else may claim them. */
  readonly until: number
}

export interface TimersService {
  /** Takes due timers, oldest first, that nobody holds a claim on. Of many claimers each timer goes to one. */
  readonly claim: (request: ClaimRequest) => Effect.Effect<ReadonlyArray<ClaimedTimer>, PersistenceFailed>
  /** When the next timer that is not claimed comes due. */
  readonly nextDue: (
    machines: ReadonlyArray<string>,
    now: number,
    versions?: MachineVersions,
  ) => Effect.Effect<Option.Option<number>, PersistenceFailed>
  /** Machines but these that have timers which came due before a time; found among the oldest 1,000 of those. */
  readonly unserved: (machines: ReadonlyArray<string>, before: number) => Effect.Effect<ReadonlyArray<string>, PersistenceFailed>
  /** Removes a timer if it is still the one of that entry. A newer one of the same name stays: then false. */
  readonly complete: (timer: InstanceKey & TimerRecord) => Effect.Effect<boolean, PersistenceFailed>
  /** Gives a claim back. Only its owner can: otherwise false. */
  readonly release: (timer: InstanceKey & TimerRecord, owner: string) => Effect.Effect<boolean, PersistenceFailed>
  /** Gives a timer up: it is listed as dead and no longer claimed. */
  readonly bury: (timer: InstanceKey & TimerRecord, problem: string) => Effect.Effect<boolean, PersistenceFailed>
  readonly dead: (limit: number) => Effect.Effect<ReadonlyArray<DeadTimer>, PersistenceFailed>
  /** Lets a dead timer be claimed again. */
  readonly revive: (timer: InstanceKey & TimerRecord) => Effect.Effect<boolean, PersistenceFailed>
}

export class Timers extends Context.Service<Timers, TimersService>()("@detent/durable/Timers") {}
