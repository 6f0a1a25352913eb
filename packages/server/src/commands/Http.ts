/** Handlers of the API of commands, queues and timers. */
import * as commands from "@detent/workspace/operations/commands"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import { Api } from "../api/Api.ts"
import { pageSize } from "../api/Paging.ts"
import { makeOperating } from "../serve/Operating.ts"

export const commandHandlers = HttpApiBuilder.group(
  Api,
  "commands",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating
    return handlers
      .handle("list", ({ query: { limit = pageSize, after, ...filter } }) => operating(commands.list(filter, limit, after)))
      .handle("retryAll", ({ payload: { dryRun = false, ...filter } }) => operating(commands.retryAll(filter, { dryRun })))
      .handle("retry", ({ params: { key } }) => operating(commands.retry(key)))
      .handle("skip", ({ params: { key }, payload: { reason } }) => operating(commands.skip(key, reason)))
      .handle("get", ({ params: { key } }) => operating(commands.get(key)))
      .handle("queues", () => operating(Effect.map(commands.queues, (queues) => ({ queues }))))
      .handle("pause", ({ params: { queue } }) => operating(commands.pauseQueue(queue)))
      .handle("resume", ({ params: { queue } }) => operating(commands.resumeQueue(queue)))
      .handle("deadTimers", ({ query: { limit = pageSize } }) =>
        operating(Effect.map(commands.deadTimers(limit), (timers) => ({ timers }))),
      )
      .handle("reviveTimer", ({ payload }) => operating(commands.reviveTimer(payload)))
  }),
)
