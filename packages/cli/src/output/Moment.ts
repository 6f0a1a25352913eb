/** Times and durations as text, and from text. */
import * as Clock from "effect/Clock"
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

/** The time of an option, in milliseconds since 1970; undefined where the option is not given. A duration means: so long ago. */
export const momentOf = (option: string, text: string | undefined): Effect.Effect<number | undefined, WrongUsage> =>
  Effect.gen(function* () {
    if (text === undefined) return undefined
    const ago = Option.map(durationIn(text), Duration.toMillis)
    const time = Option.isSome(ago)
      ? Option.some((yield* Clock.currentTimeMillis) - ago.value)
      : Option.map(DateTime.make(text), DateTime.toEpochMillis)
    return Option.isSome(time) && time.value >= 0
      ? Math.floor(time.value)
      : yield* new WrongUsage({
          problem: `--${option} ${text} is not a time`,
          nextStep: "write it like 1h, 30min, 2days, 2026-11-16 or 2026-11-16T09:30:00Z",
        })
  })

/** The range of time that `--since` and `--until` name. */
export const rangeOf = ({ since, until }: { readonly since: string | undefined; readonly until: string | undefined }) =>
  Effect.gen(function* () {
    return { since: yield* momentOf("since", since), until: yield* momentOf("until", until) }
  })

const units: Readonly<Record<string, string>> = { s: "seconds", m: "minutes", min: "minutes", h: "hours", d: "days", w: "weeks" }

/** A whole number and a unit, such as `30days`, `1 minute`, `1h`. */
export const durationIn = (text: string | undefined): Option.Option<Duration.Duration> => {
  const [, amount, unit = ""] = /^(\d{1,15})\s*([a-z]{1,7})$/.exec(text ?? "") ?? []
  return Option.flatMap(Option.fromUndefinedOr(amount), () => Duration.fromInput(`${amount} ${units[unit] ?? unit}` as Duration.Input))
}
