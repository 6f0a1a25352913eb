/** Typed state machines that decide, run, are tested and drawn. */

export { ActorSystem, type ActorSystemService, spawn } from "./actor/ActorSystem.ts"
export type { Inspection } from "./actor/Inspection.ts"
export * from "./actor/Trace.ts"
export type { Actor, ActorEnd, AnswerOf, Snapshot } from "./contract/Actor.ts"
export type { Blueprint } from "./contract/Blueprint.ts"
export type { HandlerEngine, HandlerInstance, HandlerWorkflows, WorkflowType } from "./contract/HandlerEngine.ts"
export type {
  Condition,
  FieldOrder,
  FieldsOfAll,
  IndexBlueprint,
  IndexKind,
  IndexTypes,
  IndexValue,
  Where,
  WhereLabels,
} from "./contract/Search.ts"
export type { Self, SpawnError } from "./contract/Self.ts"
export type { Beginning, Decision, NotBegun, Postponed, Refused, Request, Taken } from "./decision/Decision.ts"
export { type History, type HistoryTarget, history, refuse, reply, stay, stop } from "./decision/Outcome.ts"
export { eventLabel, type TimeoutEnd, TimeoutEvent, timeoutEvent } from "./decision/Timeout.ts"
export type { Persistence, SnapshotPolicy } from "./define/Declarations.ts"
export type { CommandContext, CommandSettings, SlotSettings } from "./effects/Command.ts"
export * as CommandResult from "./effects/CommandResult.ts"
export type { AsyncContext } from "./effects/HandlerCall.ts"
export * as RetryPolicy from "./effects/RetryPolicy.ts"
export { type EffectContext, type EffectSlot, type Effects, type GuardContext, type Guards, Slot } from "./effects/Slot.ts"
export * from "./error/MachineError.ts"
export * as Machine from "./Machine.ts"
export { DefinitionError } from "./schema/DefinitionError.ts"
export { schemaOf } from "./schema/EffectSchema.ts"
export { Event } from "./schema/Event.ts"
export type { FieldSchema, Fields, FieldsType, TypeOf } from "./schema/FieldSchema.ts"
export { State } from "./schema/State.ts"
// Parts of inferred types: a declaration file that exports a machine names them.
export type { Answered, GroupDefinition, Members, ReplyDefinition, Union, UnionOf } from "./schema/Union.ts"
export type { Group, Value, Variant } from "./schema/Variant.ts"
