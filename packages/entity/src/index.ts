/** Entity workflows: processes given as data, compiled to machines. */

export { nearest, unknownKeyText } from "@detent/machine/Nearest"
export type { EntityError } from "./EntityError.ts"
export type { TransitionInput, TriggerEvent, UpdateEvent } from "./EntityEvent.ts"
export type { EntityState, Pending } from "./EntityState.ts"
export * as EntityWorkflow from "./EntityWorkflow.ts"
export { EntityWorkflowError, type WorkflowProblem } from "./EntityWorkflowError.ts"
export * as Processor from "./Processor.ts"
export * as Registry from "./Registry.ts"
export type { RetryPolicy, TransitionDefinition, WorkflowDefinition } from "./WorkflowDefinition.ts"
