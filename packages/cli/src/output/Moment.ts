/** Times and durations as text, and from text. */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { WrongUsage } from "../Failure.ts"

/** The time in UTC, to the second: the same on every machine. */
export const momentText = (millis: number): string => {
  const time = DateTime.make(millis)
  return time._tag === "None"
    ? "?"
    : DateTime.formatIso(time.value)
        .replace("T", " ")
        .replace(/\.\d+Z$/, "Z")
}

/** A duration, rounded to its smallest shown unit. */
export const durationText = (millis: number): string => {
  if (Math.round(millis) < 1000) return `${Math.round(millis)} ms`
  const tenths = Math.round(millis / 100)
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`
  const seconds = Math.round(millis / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.round(millis / 60_000)
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** The time of an option, in milliseconds since 1970; undefined where the option is not given. */
export const momentOf = (option: string, text: string | undefined): Effect.Effect<number | undefined, WrongUsage> => {
  if (text === undefined) return Effect.undefined
  const time = Option.map(DateTime.make(text), DateTime.toEpochMillis)
  return Option.isSome(time) && time.value >= 0
    ? Effect.succeed(time.value)
    : Effect.fail(
        new WrongUsage({ problem: `--${option} ${text} is not a time`, nextStep: "write it like 2026-11-16 or 2026-11-16T09:30:00Z" }),
      )
}

/** A whole number and a unit, such as `30days` or `1 minute`. */
export const durationIn = (text: string | undefined): Option.Option<Duration.Duration> => {
  const [, amount, unit] = /^(\d{1,15})\s*([a-z]{1,7})$/.exec(text ?? "") ?? []
  return Option.flatMap(Option.fromUndefinedOr(amount), () => Duration.fromInput(`${amount} ${unit}` as Duration.Input))
}
