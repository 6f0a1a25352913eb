/** Operations on schedules. */
import { type RunInfo, type ScheduleInfo, type ScheduleSettings, Schedules } from "@detent/durable/Schedules"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { optional } from "../optional.ts"
import { CurrentAttempt } from "../RequestKeys.ts"

/** A schedule as it is written, before it is checked. */
export interface ScheduleRequest {
  readonly target: string
  readonly input?: Schema.Json | undefined
  readonly cron?: string | undefined
  readonly timezone?: string | undefined
  readonly every?: string | undefined
  readonly overlap?: ScheduleSettings["overlap"] | undefined
  readonly catchUp?: ScheduleSettings["catchUp"] | undefined
  readonly jitter?: string | undefined
}

const runView = ({ status, ...run }: RunInfo) => ({
  ...run,
  ...(status === undefined || status._tag === "Unknown" ? {} : { status: { running: status._tag === "Running", text: status.text } }),
})

const viewOf = ({ definition, isDeclared, current, runs, ...info }: ScheduleInfo) => ({
  ...info,
  ...definition,
  declared: isDeclared,
  ...optional({ current }),
  runs: runs.map(runView),
})

/** Schedules by name, each with its latest run, and the targets that new ones may start. */
export const list = Effect.fn("schedules.list")(function* (options: { readonly limit: number; readonly after?: string | undefined }) {
  const schedules = yield* Schedules
  const page = yield* schedules.list({ limit: Math.min(1000, Math.max(1, options.limit)), ...optional({ after: options.after }) })
  return { schedules: page.schedules.map(viewOf), targets: schedules.targets, ...optional({ next: page.next }) }
})

/** A schedule with its latest runs and its next times. */
export const get = (name: string) =>
  Effect.map(
    Effect.flatMap(Schedules, (schedules) => schedules.get(name)),
    viewOf,
  )

/** Makes a change once for each request: a repeated request has the id of the first one. */
const changing = <E>(
  name: string,
  change: (schedules: Schedules["Service"], options: { readonly id?: string }) => Effect.Effect<unknown, E>,
) =>
  Effect.gen(function* () {
    const { eventId } = yield* CurrentAttempt
    yield* change(yield* Schedules, optional({ id: eventId }))
    return yield* get(name)
  })

/** Creates or changes a schedule that starts a declared target. */
export const define = (name: string, { target, input, ...settings }: ScheduleRequest) =>
  changing(name, (schedules, options) =>
    schedules.define(name, { target, ...optional({ input }), ...(optional(settings) as ScheduleSettings) }, options),
  )

export const pause = (name: string) => changing(name, (schedules, options) => schedules.pause(name, options))

export const resume = (name: string) => changing(name, (schedules, options) => schedules.resume(name, options))

export const trigger = (name: string) => changing(name, (schedules, options) => schedules.trigger(name, options))

/** Starts the nominal times of a range in the past. Returns how many there are. */
export const backfill = Effect.fn("schedules.backfill")(function* (
  name: string,
  { from, to }: { readonly from: number; readonly to: number },
) {
  const { eventId } = yield* CurrentAttempt
  const count = yield* (yield* Schedules).backfill(name, { from, through: to }, optional({ id: eventId }))
  return { count }
})

/** Removes a schedule. A repeated request finds it removed already. */
export const remove = Effect.fn("schedules.remove")(function* (name: string) {
  const { isRepeated, eventId } = yield* CurrentAttempt
  const removing = Effect.flatMap(Schedules, (schedules) => schedules.remove(name, optional({ id: eventId })))
  yield* isRepeated ? Effect.catchTag(removing, "ScheduleNotFound", () => Effect.void) : removing
})
