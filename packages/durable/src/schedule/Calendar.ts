/**
 * The nominal times of a schedule: of a cron expression in a time zone, or of an interval.
 *
 * Daylight saving: a local time that does not exist runs at the jump, once, however many of its times do not exist. A local time that
 * exists twice runs at its first occurrence. A cron expression for every hour follows the hours as they pass instead: it neither skips
 * the repeated hour nor runs twice at the jump.
 */
import * as Cron from "effect/Cron"
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Result from "effect/Result"

/** When a schedule starts something, as it is stored. */
export type Timing =
  | { readonly _tag: "Cron"; readonly cron: string; readonly timezone: string }
  | { readonly _tag: "Every"; readonly millis: number }

export interface Calendar {
  /** The first nominal time after an instant, in milliseconds since 1970; undefined if there is none. */
  readonly next: (after: number) => number | undefined
  /** The local date of an instant, such as `2026-11-19`. */
  readonly day: (at: number) => string
}

export interface TimingProblem {
  readonly problem: string
  readonly nextStep: string
}

/** The calendar of a timing, or why it has none. */
export const calendarOf = (timing: Timing): Result.Result<Calendar, TimingProblem> =>
  timing._tag === "Every" ? Result.succeed(intervalCalendar(timing.millis)) : cronCalendar(timing.cron, timing.timezone)

/** Multiples of the interval since 1970, so that neither a restart nor another definition shifts them. */
const intervalCalendar = (millis: number): Calendar => ({
  next: (after) => (Math.floor(after / millis) + 1) * millis,
  day: dayText,
})

/** The date of an instant in UTC. */
export const dayText = (millis: number): string => DateTime.formatIsoDateUtc(DateTime.makeUnsafe(millis))

const cronCalendar = (expression: string, timezone: string): Result.Result<Calendar, TimingProblem> => {
  if (expression.length > 1000) return Result.fail({ problem: "its cron expression has more than 1,000 characters", nextStep: cronStep })
  const zone = zoneNamed(timezone)
  if (zone === undefined) {
    return Result.fail({
      problem: `${JSON.stringify(timezone.slice(0, 100))} is no known time zone`,
      nextStep: 'write a name of the IANA database, such as "Europe/Berlin", or "UTC"',
    })
  }
  // Local times are computed as if they were in UTC: that is ten times as fast as in the zone, and leaves both changes of the clock to this file.
  const parsed = Cron.parse(expression, DateTime.zoneMakeOffset(0))
  if (Result.isFailure(parsed)) {
    return Result.fail({ problem: `${JSON.stringify(expression)} is no cron expression: ${parsed.failure.message}`, nextStep: cronStep })
  }
  const cron = parsed.success
  const local = (after: number) => firstAfter(cron, after)
  if (local(Date.UTC(2000, 0)) === undefined) {
    return Result.fail({ problem: `${JSON.stringify(expression)} names a date that never comes`, nextStep: "correct its day or its month" })
  }
  const offsets = new ZoneOffsets(zone)
  const isHourly = cron.hours.size === 0 || cron.hours.size === 24
  return Result.succeed({
    next: (after) => (isHourly ? nextElapsed(local, offsets, after) : nextLocal(local, offsets, after)),
    day: (at) => dayText(at + offsets.at(at)),
  })
}

const cronStep = 'write five fields, such as "0 2 * * *" for two in the morning: minute, hour, day of month, month, day of week'

type NextLocal = (after: number) => number | undefined

const firstAfter = (cron: Cron.Cron, after: number): number | undefined => {
  try {
    return Cron.next(cron, DateTime.makeUnsafe(after)).getTime()
  } catch {
    // Cron throws where no date within its range fits.
    return undefined
  }
}

const nextLocal = (local: NextLocal, offsets: ZoneOffsets, after: number): number | undefined => {
  let wall = after + offsets.at(after)
  // Before the jump, times that do not exist are still ahead; after the change back, times of the first pass come again and are skipped.
  for (;;) {
    const found = local(wall)
    if (found === undefined) return undefined
    const instant = offsets.firstInstant(found)
    if (instant > after) return instant
    wall = found
  }
}

const nextElapsed = (local: NextLocal, offsets: ZoneOffsets, after: number): number | undefined => {
  const offset = offsets.at(after)
  const found = local(after + offset)
  if (found === undefined) return undefined
  const instant = found - offset
  const change = offsets.changeWithin(after, instant)
  if (change === undefined) return instant
  const later = offsets.at(change)
  // The wall clock shows another time from the change on: the first time that fits, the one at the change included.
  const next = local(change + later - 1)
  return next === undefined ? undefined : next - later
}

/** The difference of a zone to UTC. All zones change it at whole quarters of an hour. */
class ZoneOffsets {
  readonly #zone: DateTime.TimeZone
  readonly #known = new Map<number, number>()

  constructor(zone: DateTime.TimeZone) {
    this.#zone = zone
  }

  at(instant: number): number {
    const quarter = Math.floor(instant / quarterMillis)
    let offset = this.#known.get(quarter)
    if (offset === undefined) {
      offset = DateTime.zonedOffset(DateTime.makeZonedUnsafe(quarter * quarterMillis, { timeZone: this.#zone }))
      if (this.#known.size >= 1000) this.#known.clear()
      this.#known.set(quarter, offset)
    }
    return offset
  }

  /** The first instant that has a local time; for one that does not exist, the jump over it. */
  firstInstant(wall: number): number {
    const [before, after] = [this.at(wall - dayMillis), this.at(wall + dayMillis)]
    const fitting = [wall - before, wall - after].filter((instant) => this.at(instant) === wall - instant)
    if (fitting.length > 0) return Math.min(...fitting)
    return this.changeWithin(wall - dayMillis, wall + dayMillis) ?? wall - after
  }

  /** The first instant after `from` and up to `to` with another offset than `from`, if `to` has another one. */
  changeWithin(from: number, to: number): number | undefined {
    const offset = this.at(from)
    if (this.at(to) === offset) return undefined
    let [low, high] = [Math.floor(from / quarterMillis), Math.floor(to / quarterMillis)]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.at(middle * quarterMillis) === offset) low = middle
      else high = middle
    }
    return high * quarterMillis
  }
}

const quarterMillis = 900_000
const dayMillis = 86_400_000

const zoneNamed = (name: string): DateTime.TimeZone | undefined =>
  name.length > 100 ? undefined : Option.getOrUndefined(DateTime.zoneMakeNamed(name))

/** Calendars by timing: parsing costs more than the next time. */
export class Calendars {
  readonly #known = new Map<string, Result.Result<Calendar, TimingProblem>>()

  of(timing: Timing): Result.Result<Calendar, TimingProblem> {
    const key = timing._tag === "Every" ? String(timing.millis) : `${timing.timezone} ${timing.cron}`
    let calendar = this.#known.get(key)
    if (calendar === undefined) {
      calendar = calendarOf(timing)
      if (this.#known.size >= 10_000) this.#known.clear()
      this.#known.set(key, calendar)
    }
    return calendar
  }
}

export interface DueTimes {
  readonly first: number
  /** The latest of them, ascending. */
  readonly times: ReadonlyArray<number>
  /** How many there are; after a very long time, at least so many. */
  readonly count: number
}

/**
 * The nominal times from `first` on that have come: the latest of them, at most `limit`. After a very long time without a process most are
 * jumped over, so that the cost has a bound.
 */
export const dueTimes = (calendar: Calendar, first: number, hasCome: (at: number) => boolean, now: number, limit: number): DueTimes => {
  let times = [first]
  let count = 1
  for (;;) {
    const last = times.at(-1) as number
    const next = calendar.next(last)
    if (next === undefined || !hasCome(next)) return { first, times: times.slice(-limit), count }
    times.push(next)
    count++
    if (times.length < 4 * limit) continue
    // At the density of these times, the second half of what remains has more than `limit` of them.
    const middle = now - next > next - (times[0] as number) ? calendar.next(next + (now - next) / 2) : undefined
    times = middle !== undefined && hasCome(middle) ? [middle] : times.slice(-limit)
  }
}
