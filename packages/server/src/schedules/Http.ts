/** Handlers of the API of schedules. */
import { CoreApi } from "@detent/api/CoreApi"
import { pageSize } from "@detent/api/Paging"
import { BackfillSchedule, DefineSchedule } from "@detent/api/ScheduleApi"
import * as schedules from "@detent/workspace/operations/schedules"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { makeChanging, makeOperating, refuseUnknownKeys } from "../serve/Operating.ts"

export const scheduleHandlers = HttpApiBuilder.group(
  CoreApi,
  "schedules",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating()
    const changing = yield* makeChanging()
    const defineKeys = refuseUnknownKeys(DefineSchedule)
    const backfillKeys = refuseUnknownKeys(BackfillSchedule)
    return handlers
      .handle("list", ({ query: { limit = pageSize, after } }) => operating(schedules.list({ limit, after })))
      .handle("get", ({ params: { name } }) => operating(schedules.get(name)))
      .handle("define", (input) => {
        const {
          params: { name },
          payload,
        } = input
        return Effect.andThen(defineKeys(input.request), changing(input, schedules.define(name, payload)))
      })
      .handle("pause", (input) => {
        const {
          params: { name },
        } = input
        return changing(input, schedules.pause(name))
      })
      .handle("resume", (input) => {
        const {
          params: { name },
        } = input
        return changing(input, schedules.resume(name))
      })
      .handle("trigger", (input) => {
        const {
          params: { name },
        } = input
        return changing(input, schedules.trigger(name))
      })
      .handle("backfill", (input) => {
        const {
          params: { name },
          payload,
        } = input
        return Effect.andThen(backfillKeys(input.request), changing(input, schedules.backfill(name, payload)))
      })
      .handle("remove", (input) => {
        const {
          params: { name },
        } = input
        return changing(input, schedules.remove(name))
      })
  }),
)
