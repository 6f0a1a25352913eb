/** Resumes or interrupts an execution: through the server that works in the workspace, or here where none does. */
import * as executions from "@detent/workspace/operations/executions"
import * as Effect from "effect/Effect"
import type { RunningServer } from "../workspace/Server.ts"

export const changeExecution = (server: RunningServer | undefined, operation: "resume" | "interrupt", workflow: string, id: string) =>
  Effect.gen(function* () {
    if (server === undefined) return yield* operation === "resume" ? executions.resume(workflow, id) : executions.interrupt(workflow, id)
    yield* server.post(`/api/v1/executions/${encodeURIComponent(workflow)}/${encodeURIComponent(id)}/${operation}`)
    return yield* executions.get(workflow, id)
  })
