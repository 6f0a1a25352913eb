/**
 * Locks on instances, for nodes that share a store without a cluster: a lease per instance, with a fencing token that every
 * commit carries. The store refuses the commit of a node whose lock has been acquired by another node since.
 */
import { LockingFailed, type PersistenceFailed } from "@detent/machine"
import type { InstanceKey, LeasesService } from "@detent/store"
import type * as Effect from "effect/Effect"
import { type HeldLease, type LockConfig, leaseAcquirer } from "./HeldLease.ts"

/** An acquired lock on an instance. */
export type HeldLock = HeldLease<LockingFailed>

/** Acquires the lock of one instance. */
export type AcquireLock = (key: InstanceKey) => Effect.Effect<HeldLock, LockingFailed | PersistenceFailed>

export const leaseName = ({ machine, id }: InstanceKey): string => `instance/${machine}/${id}`

export const instanceLocks = (leases: LeasesService, config: LockConfig & { readonly nodeId: string }): AcquireLock => {
  const acquire = leaseAcquirer(leases, config)
  return ({ machine, id }) => acquire(leaseName({ machine, id }), (problem) => new LockingFailed({ machine, id, ...problem }))
}
