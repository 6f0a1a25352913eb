/** Changes a schedule: through the server, or in this process without a server. */
import * as schedules from "@detent/workspace/operations/schedules"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { changed } from "../workspace/Changing.ts"
import type { RunningServer } from "../workspace/Server.ts"

export interface ChangedSchedule {
  readonly name: string
  readonly key?: string | undefined
}

const pathOf = (name: string) => `/api/v1/schedules/${encodeURIComponent(name)}`

export const changeSchedule = (
  server: RunningServer | undefined,
  operation: "pause" | "resume" | "trigger",
  { name, key }: ChangedSchedule,
) => {
  const here = { pause: schedules.pause, resume: schedules.resume, trigger: schedules.trigger }[operation](name)
  const change = { operation: `schedules.${operation}`, params: { name }, path: `${pathOf(name)}/${operation}`, key }
  return Effect.andThen(changed(server, change, here), schedules.get(name))
}

export const defineSchedule = (
  server: RunningServer | undefined,
  { name, key, ...request }: ChangedSchedule & schedules.ScheduleRequest,
) => {
  const json = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined))
  const change = { operation: "schedules.define", params: { name }, path: pathOf(name), json, key }
  return Effect.andThen(changed(server, change, schedules.define(name, request)), schedules.get(name))
}

const Counted = Schema.Struct({ count: Schema.Int })

export const backfillSchedule = (
  server: RunningServer | undefined,
  { name, key, ...json }: ChangedSchedule & { readonly from: number; readonly to: number },
) => {
  const change = { operation: "schedules.backfill", params: { name }, path: `${pathOf(name)}/backfill`, json, key, answer: Counted }
  return changed(server, change, schedules.backfill(name, json))
}

export const removeSchedule = (server: RunningServer | undefined, { name, key }: ChangedSchedule) =>
  changed(server, { operation: "schedules.remove", params: { name }, path: `${pathOf(name)}/remove`, key }, schedules.remove(name))
