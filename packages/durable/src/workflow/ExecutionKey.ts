/** An execution of an Effect workflow is an instance of the machine `workflow/NAME`, under its execution id. */

import type { InstanceKey } from "@detent/store"
import type * as Workflow from "effect/workflow/Workflow"

/** The machine under which the executions of a workflow are listed. */
export const machineOf = (workflowName: string): string => `workflow/${workflowName}`

export const keyOf = (workflow: Workflow.Any, executionId: string): InstanceKey => ({ machine: machineOf(workflow._tag), id: executionId })
