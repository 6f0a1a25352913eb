/** Schedules for async code: the same as {@link Schedules}, with Promises. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import type { Engine } from "../Engine.ts"
import {
  type ChangeOptions,
  type NewSchedule,
  type ScheduleInfo,
  type SchedulePage,
  type ScheduleSettings,
  Schedules,
  type SchedulesOptions,
  type SchedulesService,
} from "../Schedules.ts"
import type { Stores } from "./Database.ts"
import type { RunPromise } from "./promised.ts"

export interface AsyncSchedules {
  /** Schedules by name, each with its latest run. */
  list(options?: { readonly limit?: number; readonly after?: string }): Promise<SchedulePage>
  /** One schedule with its latest runs and next times. */
  get(name: string): Promise<ScheduleInfo>
  /** Creates or changes a schedule that starts a declared target. */
  define(name: string, settings: ScheduleSettings & NewSchedule, options?: ChangeOptions): Promise<void>
  /** Starts nothing until `resume`. Times in between are not made up for. */
  pause(name: string, options?: ChangeOptions): Promise<void>
  resume(name: string, options?: ChangeOptions): Promise<void>
  /** Starts a run now, also while the schedule is paused. */
  trigger(name: string, options?: ChangeOptions): Promise<void>
  /** Starts the nominal times of a range in the past, except those that were started. Resolves with how many there are. */
  backfill(name: string, range: { readonly from: number; readonly through: number }, options?: ChangeOptions): Promise<number>
  remove(name: string, options?: ChangeOptions): Promise<void>
}

/** Registers the schedules; nothing without any. */
export const openSchedules = (
  { schedules = [], targets = [] }: SchedulesOptions,
  services: Context.Context<Engine | Stores>,
  workflows: WorkflowEngine["Service"] | undefined,
) =>
  Effect.gen(function* () {
    if (schedules.length === 0 && targets.length === 0) return undefined
    const context = workflows === undefined ? services : Context.add(services, WorkflowEngine, workflows)
    const built = yield* Effect.provideContext(Layer.build(Schedules.layer({ schedules, targets })), context)
    return Context.get(built, Schedules)
  })

export const asyncSchedules = (schedules: SchedulesService | undefined, run: RunPromise<never>): AsyncSchedules => {
  const use = <A, E>(call: (service: SchedulesService) => Effect.Effect<A, E>): Promise<A> =>
    schedules === undefined ? Promise.reject(new TypeError(noSchedules)) : run(call(schedules))
  return {
    list: (options) => use((service) => service.list(options)),
    get: (name) => use((service) => service.get(name)),
    define: (name, settings, options) => use((service) => service.define(name, settings, options)),
    pause: (name, options) => use((service) => service.pause(name, options)),
    resume: (name, options) => use((service) => service.resume(name, options)),
    trigger: (name, options) => use((service) => service.trigger(name, options)),
    backfill: (name, range, options) => use((service) => service.backfill(name, range, options)),
    remove: (name, options) => use((service) => service.remove(name, options)),
  }
}

const noSchedules = "this engine has no schedules; pass openEngine({ schedules: [...] }), or scheduleTargets"
