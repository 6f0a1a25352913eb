/**
 * Used by other packages of Detent. Not for users: it changes without notice.
 */

export type { ActorPort } from "./actor/ActorPort.ts"
export {
  actionFailed,
  inspect,
  notAQuestion,
  overloaded,
  refusal,
  report,
  reportRefusal,
  stale,
  waitsForItself,
} from "./actor/ActorReport.ts"
export { ActorState, stopped } from "./actor/ActorState.ts"
export { execute } from "./actor/CommandRun.ts"
export { Environment, Host } from "./actor/Host.ts"
export { listening } from "./actor/Listening.ts"
export {
  asDecision,
  asVoid,
  type Chain,
  chainLimit,
  extendChain,
  isMessage,
  Mailbox,
  type Message,
  mailboxLimit,
  outcome,
  type Result,
} from "./actor/Mailbox.ts"
export { isQuery, queryAtEnd } from "./actor/Query.ts"
export { startActor } from "./actor/StartActor.ts"
export { type HookError, hasWork, hasWorkIn, isHandling, keptGroups, type RuntimeOwner, StateRuntime } from "./actor/StateRuntime.ts"
export type { StateScope } from "./actor/StateScope.ts"
export { CurrentEngine } from "./contract/HandlerEngine.ts"
export { begin, decide, redecide, replay } from "./decide/Decide.ts"
export { TakenDecision } from "./decision/Decision.ts"
export { type GroupMemory, memoryOf, withMemory } from "./decision/GroupMemory.ts"
export { timersOnEnter } from "./decision/Timeout.ts"
export { type Compiled, type GroupNode, isTimerOf, type Node, type Timeout } from "./define/Compile.ts"
export { type AlwaysDeclaration, type Declarations, pairKey, type Tagged, type TransitionDeclaration } from "./define/Declarations.ts"
export {
  type CommandOutcome,
  callSlot,
  commandKey,
  eventOf,
  failedBecause,
  isDeclaredFailure,
  outcomeOf,
  retryDelay,
} from "./effects/Command.ts"
export { callHandler } from "./effects/HandlerCall.ts"
export { type DeclaredEffect, isEffectSlot, unbuilt } from "./effects/Slot.ts"
export { describe, explain, explainWithFrames, framesOf, identified, idProblem, innermostReason, tagOf } from "./error/MachineError.ts"
export { releasing } from "./error/releasing.ts"
export { compiledOf, eventProblem, finalOutcome, firstState, firstTag, fromDeclarations, initialState } from "./Machine.ts"
export { asFields, asSchema, schemaOfVariant, setVariantSchema } from "./schema/EffectSchema.ts"
export { issueText, joinLines } from "./schema/IssueText.ts"
export { issuesOf, type SchemaFailure, safeIssues, schemaProblem } from "./schema/SchemaProblem.ts"
export { hidden, isSensitive, redactor } from "./schema/Sensitive.ts"
export type { UntypedUnion } from "./schema/Union.ts"
export { isPlain, isPlainField } from "./schema/ValueCheck.ts"
export type { UntypedVariant } from "./schema/Variant.ts"
export { checkSchema } from "./schema/Variant.ts"
export { compareText } from "./textOrder.ts"
