/** Resumes or interrupts an execution: through the server that works in the workspace, or here where none does. */
import * as executions from "@detent/workspace/operations/executions"
import * as Effect from "effect/Effect"
import { changed } from "../workspace/Changing.ts"
import type { RunningServer } from "../workspace/Server.ts"

export interface ChangedExecution {
  readonly workflow: string
  readonly id: string
  readonly key?: string | undefined
}

export const changeExecution = (
  server: RunningServer | undefined,
  operation: "resume" | "interrupt",
  { workflow, id, key }: ChangedExecution,
) => {
  const path = `/api/v1/executions/${encodeURIComponent(workflow)}/${encodeURIComponent(id)}/${operation}`
  const here = operation === "resume" ? executions.resume(workflow, id) : executions.interrupt(workflow, id)
  return Effect.andThen(
    changed(server, { operation: `executions.${operation}`, params: { workflow, id }, path, key }, here),
    executions.get(workflow, id),
  )
}
