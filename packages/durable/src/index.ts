/** Machine instances that survive crashes, on memory, SQLite and PostgreSQL. */

export type {
  CommandRecord,
  Commit,
  CommitOutcome,
  EventRecord,
  Fence,
  InstanceKey,
  InstanceStatus,
  InstanceSummary,
  RowProblem,
  SnapshotRecord,
  TimerRecord,
} from "@detent/store"
export {
  type AttemptError,
  type Claim,
  type ClaimedCommand,
  type ClaimedTimer,
  type ClaimRequest,
  type CommandCount,
  type CommandFilter,
  type CommandPage,
  CommandSignal,
  type CommandStatus,
  Commands,
  type CommandsService,
  type DeadTimer,
  type EnqueueOutcome,
  type Exchange,
  type ExchangeRequest,
  type Finished,
  forkLoop,
  type InstanceCursor,
  type InstanceFilter,
  type InstancePage,
  type InstanceRecord,
  type InstanceStanding,
  Journal,
  type JournalService,
  type KeyFilter,
  type Lease,
  type LeaseResult,
  Leases,
  type LeasesService,
  type LocalJournal,
  LoopHealth,
  type LoopHealthService,
  type LoopOutage,
  type MachineVersions,
  MemoryStore,
  type NewCommand,
  type OpenedInstance,
  OwnTables,
  type QueueRecord,
  type QueueSettings,
  type StoredCommand,
  StoreNotOpened,
  type StoreOpenError,
  Timers,
  type TimersService,
  type Turn,
  type Verdict,
  type Want,
} from "@detent/store"
export * as CommandQueue from "./command/CommandQueue.ts"
export { type Enqueued, type EnqueueError, InvalidCommand } from "./command/CommandQueue.ts"
export * as CommandWorker from "./command/CommandWorker.ts"
export * as DeadLetters from "./command/DeadLetters.ts"
export * as Queues from "./command/Queues.ts"
export * as Retention from "./command/Retention.ts"
export { type CommandReportOptions, commandReport, reported } from "./command/StoredCommandReport.ts"
export type { WorkerOptions } from "./command/WorkerConfig.ts"
export * as DurableWorkflow from "./DurableWorkflow.ts"
export { Engine, type EngineService, type KnownMachine, type ListOptions, type RegisterOptions } from "./Engine.ts"
export type { CheckReport } from "./engine/DeployCheck.ts"
export type { EngineOptions, SweeperOptions } from "./engine/EngineConfig.ts"
export type { HeldReport } from "./engine/HeldCheck.ts"
export type { StartError } from "./engine/InstanceTable.ts"
export { type LeasePlacementOptions, Placement, type PlacementService } from "./engine/Placement.ts"
export type { PurgeOptions } from "./engine/Retention.ts"
export type { StartEntry, Started } from "./engine/StartMany.ts"
export { InstanceExists, InstanceNotFound, NewerVersion, PreviewRefused, RepairRefused, SequenceNotReached } from "./errors.ts"
export type { HistoryEntry, Instance, InstanceSnapshot, ReadError, SendOptions, WaitingEvent } from "./Instance.ts"
export type { Upcaster, Upcasters } from "./instance/Upcasters.ts"
export {
  defaultLock,
  fastLock,
  type HeldLease,
  holdLease,
  LeaseNotHeld,
  type LockConfig,
  longRunningLock,
} from "./nodes/HeldLease.ts"
export type { HeldLock } from "./nodes/InstanceLock.ts"
export type { Sweep } from "./runtime/TimerSweep.ts"
