/** Handlers of the execution API. */

import { CoreApi } from "@detent/api/CoreApi"
import { SendToExecution, StartExecution } from "@detent/api/ExecutionApi"
import { pageSize } from "@detent/api/Paging"
import { DurableWorkflow } from "@detent/durable"
import { spans } from "@detent/workspace/operations/executionSpans"
import * as executions from "@detent/workspace/operations/executions"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { InstanceFeed } from "../instances/InstanceFeed.ts"
import { liveResponse } from "../serve/live/liveResponse.ts"
import { makeChanging, makeOperating, refuseUnknownKeys } from "../serve/Operating.ts"

export const executionHandlers = HttpApiBuilder.group(
  CoreApi,
  "executions",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating()
    const changing = yield* makeChanging()
    const feed = yield* InstanceFeed
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
      .handle("spans", ({ params: { workflow, id }, query }) => operating(spans(workflow, id, query)))
      .handleRaw("events", ({ params: { workflow, id }, headers }) =>
        operating(
          Effect.map(executions.get(workflow, id), ({ events: last, ended }) => {
            const after = Math.min(last, Number(headers["last-event-id"] ?? last))
            // 204 tells an EventSource not to reconnect.
            if (ended && after === last) return HttpServerResponse.empty({ status: 204 })
            return liveResponse(feed.reader({ machine: DurableWorkflow.machineOf(workflow), id }, after))
          }),
        ),
      )
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
