/** Addresses of the pages of instances and executions. */
import { hrefOf } from "./Router.tsx"

/** The list of machines names Effect workflows with a prefix. */
export const workflowName = (machine: string): string => machine.replace(/^workflow\//, "")

/** The machine of the executions of a workflow. */
export const machineOfWorkflow = (workflow: string): string => `workflow/${workflow}`

/** An execution of a workflow is listed as an instance, and has a page of its own. */
export const instanceHref = (machine: string, id: string): string =>
  machine.startsWith("workflow/") ? hrefOf(["workflows", workflowName(machine), id]) : hrefOf(["instances", machine, id])
