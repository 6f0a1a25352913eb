/**
 * Used by other packages of Detent. Not for users: it changes without notice.
 */

export type { DirectHandoff } from "./contract/CommandSignal.ts"
export type { CommandFailure } from "./contract/Commands.ts"
export type { Json, ShardFilter } from "./contract/Commit.ts"
export {
  boundedNameProblem,
  deliveryPrefix,
  groupProblem,
  idBytes,
  instanceName,
  isDeliveryId,
  isRaisedId,
  lengthProblem,
  nameProblem,
  raisedPrefix,
  reservedPrefix,
} from "./contract/CommitCheck.ts"
export { type DatabaseId, idempotencyKey, storedKey } from "./contract/DatabaseId.ts"
export { commandsEnqueued } from "./contract/Enqueuer.ts"
export { inboxOf, machineOfInbox } from "./contract/Inbox.ts"
export type { InstanceLife, TakenOver } from "./contract/Journal.ts"
export {
  type Division,
  type EndedBetween,
  type IdRange,
  type JournalPage,
  JournalReader,
  type JournalReaderService,
  type JournalSelection,
  type ReadJournal,
} from "./contract/JournalReader.ts"
export { allowance, begun, opensIn, type Start } from "./contract/QueueLimits.ts"
export {
  afterPrefix,
  type FieldCondition,
  type FieldOrdering,
  fieldsIn,
  labelsProblem,
  mostLabels,
  textBytes,
  textProblem,
} from "./contract/Search.ts"
export { lossCheck, storableEncoder, unstorableField } from "./contract/Storable.ts"

export { memoryJournal } from "./memory/MemoryJournal.ts"
export { memoryLeases } from "./memory/MemoryLeases.ts"
export { emptyState, findInstance, type MemoryState } from "./memory/MemoryState.ts"
export { memoryTimers } from "./memory/MemoryTimers.ts"
export { memoryCommit } from "./memory/memoryCommit.ts"
export { DatabaseClock, processTime } from "./postgres/DatabaseClock.ts"
export { migrateTables as migratePostgresTables } from "./postgres/migrate.ts"
export { notices } from "./postgres/notices.ts"
export { layerListener, listenerOf, makeListener, type Subscribe } from "./postgres/PgListener.ts"
export { backgroundLoop } from "./runtime/BackgroundLoop.ts"
export { Batcher, makeBatcher } from "./runtime/Batcher.ts"
export { monotonicMillis } from "./runtime/monotonicMillis.ts"
export { makePrivateFile, privateFile, privateFolder } from "./runtime/PrivateFiles.ts"
export { faultOf, faultsOf, problemOf } from "./runtime/problemOf.ts"
export { ReadSize } from "./runtime/ReadSize.ts"
export { retryFailed } from "./runtime/retryFailed.ts"
export { Turns } from "./runtime/Turns.ts"
export { Wakeup } from "./runtime/Wakeup.ts"
export { flagOf, optionalTextOf, type Row, textOf, wholeOf } from "./sql/Row.ts"
export { rangesBetween } from "./sql/SqlJournalReader.ts"
export { defectsAsFailures, isContentProblem, RowProblem, wasUndone } from "./sql/StoreFailure.ts"
export { migrateTables as migrateSqliteTables } from "./sqlite/migrate.ts"
