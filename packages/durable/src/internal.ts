/**
 * Used by other packages of Detent. Not for users: it changes without notice.
 */

export { nodeLeasePrefix } from "./engine/Placement.ts"
export {
  type Answering,
  makeShardOf,
  type Receiver,
  type RemoteAnswer,
  type RemoteRequest,
  type Routing,
  reachOperation,
} from "./engine/Routing.ts"
export { delayNameOf } from "./instance/DelayedEvents.ts"
export { isOwedTimer } from "./instance/SelfSentEvents.ts"
export { DatabaseClock, processTime } from "./postgres/DatabaseClock.ts"
export { migrateTables } from "./postgres/migrate.ts"
export { listenerOf } from "./postgres/PgListener.ts"
export { forkLoop } from "./runtime/BackgroundLoop.ts"
export { Batcher } from "./runtime/Batcher.ts"
export { makePrivateFile, privateFile, privateFolder } from "./runtime/PrivateFiles.ts"
export { hasEnded, processName } from "./runtime/ProcessName.ts"
export { SharedResults } from "./runtime/SharedResults.ts"
export { Turns } from "./runtime/Turns.ts"
export type { InstanceKey, Json, ShardFilter } from "./store/Commit.ts"
export { instanceName, nameProblem } from "./store/CommitCheck.ts"
export { defectsAsFailures } from "./store/StoreFailure.ts"
export { readEvent as readExecutionEvent } from "./workflow/ExecutionEvent.ts"
