/** Machine instances that survive crashes, on memory, SQLite and PostgreSQL. */
export type { CheckReport } from "./Check.ts"
export type {
  CommandRecord,
  Commit,
  CommitOutcome,
  EventRecord,
  Fence,
  InstanceKey,
  InstanceStatus,
  InstanceSummary,
  SnapshotRecord,
  TimerRecord,
} from "./Commit.ts"
export { Engine, type EngineService, type ListOptions, type RegisterOptions } from "./Engine.ts"
export type { EngineOptions, SweeperOptions } from "./EngineConfig.ts"
export type { HistoryEntry, Instance, InstanceSnapshot, ReadError, SendOptions } from "./Instance.ts"
export { defaultLock, fastLock, InstanceLock, type InstanceLockService, type LockConfig, longRunningLock } from "./InstanceLock.ts"
export { InstanceNotFound } from "./InstanceNotFound.ts"
export {
  type InstanceCursor,
  type InstanceFilter,
  type InstancePage,
  type InstanceRecord,
  Journal,
  type JournalService,
  type OpenedInstance,
} from "./Journal.ts"
export { type Leader, type LeaderConfig, makeLeader } from "./Leader.ts"
export { type Lease, type LeaseResult, Leases, type LeasesService } from "./Leases.ts"
export * as MemoryStore from "./MemoryStore.ts"
export type { Sweep } from "./Sweeper.ts"
export { type ClaimedTimer, type ClaimRequest, type DeadTimer, Timers, type TimersService } from "./Timers.ts"
export type { Upcaster, Upcasters } from "./Upcasters.ts"
