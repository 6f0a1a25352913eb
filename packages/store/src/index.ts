/** The contract of a store, and the store in memory. */

export { CommandSignal } from "./contract/CommandSignal.ts"
export {
  type AttemptError,
  type Claim,
  type ClaimedCommand,
  type CommandCount,
  type CommandFilter,
  type CommandPage,
  type CommandStatus,
  Commands,
  type CommandsService,
  type EnqueueOutcome,
  type Exchange,
  type ExchangeRequest,
  type Finished,
  type GroupLimits,
  type GroupRecord,
  mostCounted,
  type NewCommand,
  type QueueRecord,
  type QueueSettings,
  type Rate,
  type StoredCommand,
  type Verdict,
  type Want,
} from "./contract/Commands.ts"
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
} from "./contract/Commit.ts"
export {
  type InstanceCursor,
  type InstanceFilter,
  type InstancePage,
  type InstanceRecord,
  type InstanceStanding,
  Journal,
  type JournalService,
  type KeyFilter,
  type LocalJournal,
  type OpenedInstance,
} from "./contract/Journal.ts"
export { type Lease, type LeaseResult, Leases, type LeasesService } from "./contract/Leases.ts"
export type { FieldsWrite, FieldValue, IndexFill, LabelChanges, SearchFilter, SearchPosition, StoredFields } from "./contract/Search.ts"
export { StoreNotOpened, type StoreOpenError } from "./contract/StoreNotOpened.ts"
export {
  type ClaimedTimer,
  type ClaimRequest,
  type DeadTimer,
  type MachineVersions,
  Timers,
  type TimersService,
} from "./contract/Timers.ts"
export * as MemoryStore from "./MemoryStore.ts"
export * as OwnTables from "./OwnTables.ts"
export { forkLoop, LoopHealth, type LoopHealthService, type LoopOutage, type Turn } from "./runtime/BackgroundLoop.ts"
export type { RowProblem } from "./sql/StoreFailure.ts"
