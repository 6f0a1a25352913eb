/** Handlers of the execution API. */
import * as executions from "@detent/workspace/operations/executions"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import { CoreApi } from "../api/CoreApi.ts"
import { pageSize } from "../api/Paging.ts"
import { makeChanging, makeOperating, refuseUnknownKeys } from "../serve/Operating.ts"
import { SendToExecution, StartExecution } from "./Api.ts"

export const executionHandlers = HttpApiBuilder.group(
  CoreApi,
  "executions",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating()
    const changing = yield* makeChanging()
    const startKeys = refuseUnknownKeys(StartExecution)
    const sendKeys = refuseUnknownKeys(SendToExecution)
    return handlers
      .handle("start", (input) => {
        const { params, payload } = input
        return Effect.andThen(startKeys(input.request), changing(input, executions.start({ ...params, ...payload })))
      })
      .handle("list", ({ query: { limit = pageSize, ...query } }) => operating(executions.list({ ...query, limit })))
      .handle("get", ({ params: { workflow, id } }) => operating(executions.get(workflow, id)))
      .handle("history", ({ params: { workflow, id }, query }) => operating(executions.history(workflow, id, query)))
      .handle("send", (input) => {
        const { params, payload } = input
        return Effect.andThen(sendKeys(input.request), changing(input, executions.send({ ...params, ...payload })))
      })
      .handle("resume", (input) => {
        const {
          params: { workflow, id },
        } = input
        return changing(input, executions.resume(workflow, id))
      })
      .handle("interrupt", (input) => {
        const {
          params: { workflow, id },
        } = input
        return changing(input, executions.interrupt(workflow, id))
      })
  }),
)
