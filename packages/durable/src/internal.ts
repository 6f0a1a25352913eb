/**
 * Used by other packages of Detent. Not for users: it changes without notice.
 */

export { actorOfRecord, actorOfText, boundedActor, storedActor } from "./machine/Actor.ts"
export { delayNameOf } from "./machine/DelayedEvents.ts"
export { type ForkOrigin, forkOriginOf, starterOf } from "./machine/Replay.ts"
export { isOwedTimer } from "./machine/SelfSentEvents.ts"
export { defaultLease, nodeLeasePrefix } from "./nodes/Placement.ts"
export { hasEnded, processName } from "./nodes/ProcessName.ts"
export {
  type Answering,
  makeShardOf,
  type Receiver,
  type RemoteAnswer,
  type RemoteRequest,
  type Routing,
  reachOperation,
} from "./nodes/Routing.ts"
export { failingOf, sideOf } from "./oracle/checkAll.ts"
export { judgeExecutions } from "./oracle/ExecutionOracle.ts"
export { FindingsOf } from "./oracle/Findings.ts"
export { type BeginJudging, judgeInstances, judgeRange } from "./oracle/judgeRange.ts"
export { Probes } from "./oracle/Probes.ts"
export { readerOf } from "./oracle/readerOf.ts"
export { executionsOf } from "./promise/AsyncWorkflows.ts"
export { type EngineOfHandlers, engineOfHandlers } from "./promise/EngineOfHandlers.ts"
export { SharedResults } from "./runtime/SharedResults.ts"

export { carryOutStart, type StartFailure } from "./schedule/Starter.ts"
export { readEvent as readExecutionEvent } from "./workflow/ExecutionEvent.ts"
export { registrationsOf } from "./workflow/Registrations.ts"
export type { RegisteredWorkflow } from "./workflow/Run.ts"
