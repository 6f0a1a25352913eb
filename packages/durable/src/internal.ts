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
export { hasEnded, processName } from "./runtime/ProcessName.ts"
export { SharedResults } from "./runtime/SharedResults.ts"

export { readEvent as readExecutionEvent } from "./workflow/ExecutionEvent.ts"
