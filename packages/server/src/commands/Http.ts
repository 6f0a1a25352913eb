/** Handlers of the API of commands, queues and timers. */

import { LimitGroup, LimitQueue, RetryCommands, ReviveTimer, SkipCommand, SkipCommands } from "@detent/api/CommandApi"
import { CoreApi } from "@detent/api/CoreApi"
import { pageSize } from "@detent/api/Paging"
import * as commands from "@detent/workspace/operations/commands"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { makeChanging, makeOperating, refuseUnknownKeys } from "../serve/Operating.ts"

export const commandHandlers = HttpApiBuilder.group(
  CoreApi,
  "commands",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating()
    const changing = yield* makeChanging()
    const retryKeys = refuseUnknownKeys(RetryCommands)
    const limitKeys = refuseUnknownKeys(LimitQueue)
    const groupKeys = refuseUnknownKeys(LimitGroup)
    const skipAllKeys = refuseUnknownKeys(SkipCommands)
    const skipKeys = refuseUnknownKeys(SkipCommand)
    const reviveKeys = refuseUnknownKeys(ReviveTimer)
    return handlers
      .handle("list", ({ query: { limit = pageSize, after, ...filter } }) => operating(commands.list(filter, limit, after)))
      .handle("groups", ({ query }) => operating(commands.groups(query)))
      .handle("skipAll", (input) => {
        const { payload } = input
        const skipping = commands.skipAll(payload)
        return Effect.andThen(skipAllKeys(input.request), payload.dryRun === true ? operating(skipping) : changing(input, skipping))
      })
      .handle("limit", (input) => {
        const {
          params: { queue },
          payload,
        } = input
        return Effect.andThen(limitKeys(input.request), changing(input, commands.limitQueue(queue, payload)))
      })
      .handle("retryAll", (input) => {
        const {
          payload: { dryRun = false, force = false, ...filter },
        } = input
        const retrying = commands.retryAll(filter, { dryRun, force })
        return Effect.andThen(retryKeys(input.request), dryRun ? operating(retrying) : changing(input, retrying))
      })
      .handle("retry", (input) => {
        const {
          params: { key },
        } = input
        return changing(input, commands.retry(key))
      })
      .handle("checkRetry", ({ params: { key } }) => operating(commands.retry(key, { dryRun: true })))
      .handle("forceRetry", (input) => {
        const {
          params: { key },
        } = input
        return changing(input, commands.retry(key, { force: true }))
      })
      .handle("skip", (input) => {
        const {
          params: { key },
          payload: { reason },
        } = input
        return Effect.andThen(skipKeys(input.request), changing(input, commands.skip(key, reason)))
      })
      .handle("get", ({ params: { key } }) => operating(commands.get(key)))
      .handle("queues", () => operating(Effect.map(commands.queues, (queues) => ({ queues }))))
      .handle("queueGroups", ({ params: { queue }, query: { limit = pageSize, after } }) =>
        operating(commands.queueGroups(queue, limit, after)),
      )
      .handle("limitGroup", (input) => {
        const {
          params: { queue, group },
          payload,
        } = input
        return Effect.andThen(groupKeys(input.request), changing(input, commands.limitGroup(queue, group, payload)))
      })
      .handle("pause", (input) => {
        const {
          params: { queue },
        } = input
        return changing(input, commands.pauseQueue(queue))
      })
      .handle("resume", (input) => {
        const {
          params: { queue },
        } = input
        return changing(input, commands.resumeQueue(queue))
      })
      .handle("deadTimers", ({ query: { limit = pageSize } }) =>
        operating(Effect.map(commands.deadTimers(limit), (timers) => ({ timers }))),
      )
      .handle("reviveTimer", (input) => {
        const { payload } = input
        return Effect.andThen(reviveKeys(input.request), changing(input, commands.reviveTimer(payload)))
      })
  }),
)
