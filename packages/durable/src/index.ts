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
  type GroupLimits,
  type GroupRecord,
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
export * as DeadLetters from "./DeadLetters.ts"
export * as DurableWorkflow from "./DurableWorkflow.ts"
export {
  Engine,
  type EngineOptions,
  type EngineService,
  type Indexed,
  type KnownMachine,
  type ListOptions,
  type RegisterOptions,
} from "./Engine.ts"
export type { SweeperOptions } from "./engine/EngineConfig.ts"
export { InstanceExists, InstanceNotFound, NewerVersion, PreviewRefused, RepairRefused, SequenceNotReached } from "./errors.ts"
export type { HistoryEntry, Instance, InstanceSnapshot, ReadError, SendOptions, WaitingEvent } from "./Instance.ts"
export type { StartError } from "./live/InstanceTable.ts"
export { type Actor, actorText, CurrentActor } from "./machine/Actor.ts"
export type { ReplacedEvent } from "./machine/Codec.ts"
export type { Upcaster, Upcasters } from "./machine/Upcasters.ts"
export type { HeldLock } from "./nodes/HeldLease.ts"
export {
  defaultLock,
  fastLock,
  type HeldLease,
  holdLease,
  LeaseNotHeld,
  type LockConfig,
  longRunningLock,
} from "./nodes/HeldLease.ts"
export { type LeasePlacementOptions, Placement, type PlacementService } from "./nodes/Placement.ts"
export type { ForkOptions } from "./operate/Fork.ts"
export type { HeldReport } from "./operate/HeldCheck.ts"
export type { IndexProgress } from "./operate/IndexFilling.ts"
export { type InstanceList, type Labels, type ListedInstance, listedInstance, type UntypedListOptions } from "./operate/ListInstances.ts"
export type { RepairOptions } from "./operate/Repair.ts"
export type { PurgeOptions } from "./operate/Retention.ts"
export { LabelsRefused, SearchRefused } from "./operate/Search.ts"
export type { StartEntry, Started } from "./operate/StartMany.ts"
export type { CheckReport } from "./oracle/checkAll.ts"
export type { Finding, Findings, Flow, Reason } from "./oracle/Findings.ts"
export type { Change, DecisionChange, Verdict as OracleVerdict } from "./oracle/Verdict.ts"
export * as CommandQueue from "./outbox/CommandQueue.ts"
export { type Enqueued, type EnqueueError, InvalidCommand } from "./outbox/CommandQueue.ts"
export * as CommandWorker from "./outbox/CommandWorker.ts"
export * as Queues from "./outbox/Queues.ts"
export * as Retention from "./outbox/Retention.ts"
export { type CommandReportOptions, commandReport, reported } from "./outbox/StoredCommandReport.ts"
export type { WorkerOptions } from "./outbox/WorkerConfig.ts"
export {
  type RunInfo,
  type RunRecord,
  type RunTarget,
  type Schedule,
  type ScheduledTime,
  type ScheduleInfo,
  ScheduleNotFound,
  type SchedulePage,
  ScheduleRefused,
  Schedules,
  type SchedulesService,
  type ScheduleTarget,
  schedule,
  scheduleTarget,
} from "./Schedules.ts"
export { type SendStatementOptions, type SqlStatement, type StartStatementOptions, sendStatement, startStatement } from "./SqlStatements.ts"
export type { Sweep } from "./timers/TimerSweep.ts"
