/**
 * The execution a step belongs to, noted on the instance that Effect hands to its steps. A copy of an instance, as
 * `DurableDeferred.into` makes them, has it too; and a body that runs on although its execution was taken away finds the one it
 * had, which no longer runs, and not the one that has come into memory since.
 */
import type { WorkflowInstance } from "effect/unstable/workflow/WorkflowEngine"
import type { Execution } from "./Execution.ts"

const execution = Symbol("execution")

export const noteExecution = (instance: WorkflowInstance["Service"], of: Execution) => {
  Object.assign(instance, { [execution]: of })
}

export const executionOf = (instance: WorkflowInstance["Service"]): Execution | undefined =>
  (instance as { readonly [execution]?: Execution })[execution]
