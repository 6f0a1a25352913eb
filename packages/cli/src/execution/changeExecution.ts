/** Starts, resumes or interrupts an execution, or sends it an event: through the server, or in this process without a server. */
import * as executions from "@detent/workspace/operations/executions"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Fields } from "../instance/Sending.ts"
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

export interface StartedExecution {
  readonly workflow: string
  /** Default: the workflow derives it from its payload. */
  readonly id?: string | undefined
  readonly payload: Fields
  readonly key?: string | undefined
}

/** The part of the server's answer that identifies the execution. */
const Started = Schema.Struct({ workflow: Schema.String, id: Schema.String })

export const startExecution = (server: RunningServer | undefined, { workflow, id, payload, key }: StartedExecution) =>
  Effect.gen(function* () {
    const json = { ...(id === undefined ? {} : { id }), payload }
    const path = `/api/v1/executions/${encodeURIComponent(workflow)}`
    const change = { operation: "executions.start", params: { workflow }, path, json, key, answer: Started }
    const started = yield* changed(server, change, executions.start({ workflow, id, payload }))
    return yield* executions.get(started.workflow, started.id)
  })

export interface SentToExecution extends ChangedExecution {
  readonly event: string
  readonly value?: Schema.Json | undefined
  readonly beforeStart: boolean
}

export const sendToExecution = (server: RunningServer | undefined, { workflow, id, event, value, beforeStart, key }: SentToExecution) => {
  const json = { event, ...(value === undefined ? {} : { value }), ...(beforeStart ? { beforeStart } : {}) }
  const path = `/api/v1/executions/${encodeURIComponent(workflow)}/${encodeURIComponent(id)}/events`
  return Effect.andThen(
    changed(
      server,
      { operation: "executions.send", params: { workflow, id }, path, json, key },
      executions.send({ workflow, id, ...json }),
    ),
    executions.get(workflow, id),
  )
}
