/**
 * The declaration of a schedule: when it starts something, and what.
 *
 * ```ts
 * const closeOverdue = schedule("close-overdue", {
 *   cron: "0 2 * * *",
 *   timezone: "Europe/Berlin",
 *   start: ({ at, day }) => startInstance(CloseOverdue, `close-${at}`, { day }),
 * })
 * ```
 */
import { DefinitionError, type Fields, type FieldsType } from "@detent/machine"
import { asFields, describe, schemaProblem } from "@detent/machine/internal"
import { lengthProblem, nameProblem } from "@detent/store/internal"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { calendarOf, type Timing } from "./Calendar.ts"
import type { StartRequest } from "./StartRequest.ts"

export const Overlap = Schema.Literals(["skip", "queue", "cancelPrevious", "allow"])
export type Overlap = typeof Overlap.Type

export const CatchUp = Schema.Literals(["none", "latest", "all"])
export type CatchUp = typeof CatchUp.Type

/** A schedule as it is stored. A schedule that code declares has no target: it starts what the code of its name says. */
export const ScheduleDefinition = Schema.Struct({
  cron: Schema.optionalKey(Schema.String),
  timezone: Schema.optionalKey(Schema.String),
  everyMillis: Schema.optionalKey(Schema.Int),
  overlap: Overlap,
  catchUp: CatchUp,
  jitterMillis: Schema.Int,
  target: Schema.optionalKey(Schema.Struct({ name: Schema.String, input: Schema.Json })),
})
export type ScheduleDefinition = typeof ScheduleDefinition.Type

/** One nominal time. */
export interface ScheduledTime {
  /** In UTC, such as `2026-11-19T01:00:00Z`. */
  readonly at: string
  /** In milliseconds since 1970. */
  readonly millis: number
  /** The local date in the time zone of the schedule, such as `2026-11-19`. */
  readonly day: string
  /** `name@at`: the same for every attempt to start this time, and different for every other time. */
  readonly id: string
}

interface Policies {
  /** What happens while the run before has not ended. Default: `skip`. */
  readonly overlap?: Overlap
  /** Which of the times that passed while no process ran are started: none, the latest, or all, at most the latest 100. Default: `latest`. */
  readonly catchUp?: CatchUp
  /** Starts each run later by up to this, by an amount that follows from its id. Default: 0. */
  readonly jitter?: Duration.Input
}

/** A cron expression in a time zone (default: UTC), or an interval. */
export type TimingOptions =
  | { readonly cron: string; readonly timezone?: string; readonly every?: never }
  | { readonly every: Duration.Input; readonly cron?: never; readonly timezone?: never }

export type ScheduleSettings = TimingOptions & Policies

/** A schedule that code declares; made by {@link schedule}. */
export interface Schedule {
  readonly name: string
  readonly definition: ScheduleDefinition
  readonly start: (time: ScheduledTime) => StartRequest
}

/** Declares a schedule. Throws a `DefinitionError` for a time that never comes. `start` should do nothing but describe the start. */
export const schedule = (name: string, { start, ...settings }: ScheduleSettings & Pick<Schedule, "start">): Schedule => {
  const definition = Result.flatMap(nameOf(name), () => definitionOf(settings))
  if (Result.isFailure(definition)) throw refusedDefinition(`schedule ${name}`, definition.failure)
  return { name, definition: definition.success, start }
}

/** What schedules that are created while the program runs may start; made by {@link scheduleTarget}. */
export interface ScheduleTarget {
  readonly name: string
  /** Why the input does not fit; undefined if it does. */
  readonly problemOf: (input: unknown) => string | undefined
  /** Called with an input that fits. */
  readonly start: (time: ScheduledTime, input: unknown) => StartRequest
}

/** Declares something that schedules may start which are created over the API. Their input is decoded by `input` at each start. */
export const scheduleTarget = <const F extends Fields = Record<never, never>>(
  name: string,
  { input, start }: { readonly input?: F; readonly start: (time: ScheduledTime & { readonly input: FieldsType<F> }) => StartRequest },
): ScheduleTarget => {
  const named = nameOf(name)
  if (Result.isFailure(named)) throw refusedDefinition(`schedule target ${name}`, named.failure)
  const schema = Schema.Struct(asFields(input ?? {})) as unknown as Schema.Codec<FieldsType<F>, unknown>
  const decode = Schema.decodeUnknownResult(Schema.toCodecJson(schema))
  return {
    name,
    problemOf: (given) => {
      const decoded = decode(given)
      return Result.isFailure(decoded) ? schemaProblem(schema, decoded.failure) : undefined
    },
    start: (time, given) => start({ ...time, input: Result.getOrThrow(decode(given)) }),
  }
}

const refusedDefinition = (what: string, { problem, nextStep }: SettingsProblem) =>
  new DefinitionError({ problem: `${what}: ${problem}`, nextStep })

export interface SettingsProblem {
  readonly problem: string
  readonly nextStep: string
}

/** Whether a schedule can have this name. */
export const nameOf = (name: string): Result.Result<string, SettingsProblem> => {
  const problem =
    typeof name !== "string" || name === "" ? "it has no name" : (nameProblem("name", name) ?? lengthProblem("name", name, 200))
  return problem === undefined ? Result.succeed(name) : Result.fail({ problem, nextStep: "name it in at most 200 characters" })
}

/** A schedule as it is stored, or why these settings make none. */
export const definitionOf = (settings: ScheduleSettings): Result.Result<ScheduleDefinition, SettingsProblem> => {
  const { overlap = "skip", catchUp = "latest", jitter = 0 } = settings
  if (!Schema.is(Overlap)(overlap)) return unknownPolicy("overlap", overlap, Overlap.literals)
  if (!Schema.is(CatchUp)(catchUp)) return unknownPolicy("catchUp", catchUp, CatchUp.literals)
  const jitterMillis = millisOf(jitter)
  if (!(jitterMillis >= 0 && jitterMillis <= longestMillis)) {
    return Result.fail({ problem: `its jitter is ${describe(jitter)}`, nextStep: 'write a time of at most a year, such as "5 minutes"' })
  }
  const timing = timingIn(settings)
  if (Result.isFailure(timing)) return Result.fail(timing.failure)
  const calendar = calendarOf(timing.success)
  if (Result.isFailure(calendar)) return Result.fail(calendar.failure)
  const times =
    timing.success._tag === "Every"
      ? { everyMillis: timing.success.millis }
      : { cron: timing.success.cron, timezone: timing.success.timezone }
  return Result.succeed({ ...times, overlap, catchUp, jitterMillis: Math.floor(jitterMillis) })
}

const unknownPolicy = (name: string, value: unknown, known: ReadonlyArray<string>) =>
  Result.fail({ problem: `its ${name} is ${describe(value)}`, nextStep: `choose one of ${known.join(", ")}` })

const timingIn = ({ cron, timezone = "UTC", every }: ScheduleSettings): Result.Result<Timing, SettingsProblem> => {
  if ((cron === undefined) === (every === undefined)) {
    const problem = cron === undefined ? "it has no times" : "it has a cron expression and an interval"
    return Result.fail({ problem, nextStep: 'give it either cron, such as "0 2 * * *", or every, such as "15 minutes"' })
  }
  if (cron !== undefined) return Result.succeed({ _tag: "Cron", cron, timezone })
  const millis = millisOf(every)
  return millis >= 1000 && millis <= longestMillis
    ? Result.succeed({ _tag: "Every", millis: Math.floor(millis) })
    : Result.fail({
        problem: `its interval is ${describe(every)}`,
        nextStep: 'write a time between 1 second and a year, such as "15 minutes"',
      })
}

const longestMillis = 366 * 86_400_000

const millisOf = (duration: Duration.Input | undefined): number => {
  try {
    return duration === undefined ? Number.NaN : Duration.toMillis(Duration.fromInputUnsafe(duration))
  } catch {
    // A text that is no duration: the caller names it.
    return Number.NaN
  }
}

export const timingOf = ({ cron, timezone = "UTC", everyMillis = 0 }: ScheduleDefinition): Timing =>
  cron === undefined ? { _tag: "Every", millis: everyMillis } : { _tag: "Cron", cron, timezone }

/** An instant in UTC, without milliseconds where there are none. */
export const instantText = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis)).replace(".000Z", "Z")
