/** Timeouts: the event that a machine gets when one is due, journaled like any other, and the durations they may have. */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import { describe } from "../error/MachineError.ts"
import type { TimerRequest } from "./Decision.ts"

export interface TimeoutEvent {
  readonly _tag: "@timeout"
  /** The name given with `.timeout(..., { name })`; of a group's timeout `Group/name`. */
  readonly name: string
}

export const TimeoutEvent: Schema.Codec<TimeoutEvent, TimeoutEvent> = Schema.Struct({ _tag: Schema.tag("@timeout"), name: Schema.String })

export const timeoutEvent = (name: string): TimeoutEvent => ({ _tag: "@timeout", name })

export const isTimeoutEvent = (event: { readonly _tag: string }): event is TimeoutEvent => event._tag === "@timeout"

/** Events with names in parentheses are the machine's own: timeouts, and those its work sends. Users are not offered them. */
export const isOwnEvent = (tag: string): boolean => tag.startsWith("(")

/** The name of an event in errors, traces and diagrams. */
export const eventLabel = (event: { readonly _tag: string }): string => (isTimeoutEvent(event) ? `(${describe(event.name)})` : event._tag)

/** What histories and diagrams call an event of the machine's own; undefined for timeouts and events of users. */
export const ownLabel = (event: { readonly _tag: string }): string | undefined =>
  isOwnEvent(event._tag) && "label" in event && typeof event.label === "string" ? event.label : undefined

/** The last millisecond of the year 9999: every store and every date format can hold it. No timer is due later. */
export const latestDue = 253_402_300_799_999

/**
 * A duration in milliseconds; `Infinity` for one that never passes. Throws where it is not a number, or lasts beyond
 * {@link latestDue}. Negative ones are returned as they are.
 */
export const durationMillis = (duration: Duration.Input): number => {
  // Duration reads NaN as zero, also inside of { hours: NaN } and [seconds, nanos].
  const parts = typeof duration === "object" && duration !== null && !Duration.isDuration(duration) ? Object.values(duration) : [duration]
  if (parts.some((part) => Number.isNaN(part))) throw new RangeError("a duration of NaN; give a number of milliseconds")
  const millis = Duration.toMillis(Duration.fromInputUnsafe(duration))
  if (millis === Number.NEGATIVE_INFINITY) throw new RangeError("a duration of -Infinity; Infinity means that it never passes")
  if (Number.isFinite(millis) && millis > latestDue) {
    throw new RangeError(`a duration of ${millis} ms ends after the year 9999; use Infinity for one that never passes`)
  }
  return millis
}

/**
 * When a timeout ends: after a time, or at a date. Of a date, `until` returns milliseconds since 1970, a `Date`, a `DateTime` of Effect or
 * an ISO 8601 text with its zone; `Infinity` never comes. The deadline follows the date when an event changes it.
 */
export type TimeoutEnd<S> =
  | Duration.Input
  | ((state: S, at: number) => Duration.Input)
  | { readonly until: (state: S) => number | string | Date | { readonly epochMilliseconds: number } }

export const endsAtDate = <S>(end: TimeoutEnd<S>): end is Extract<TimeoutEnd<S>, { readonly until: unknown }> =>
  typeof end === "object" && end !== null && "until" in end

const zoned = /(?:Z|[+-][0-9]{2}:?[0-9]{2})$/

/** A date in milliseconds since 1970; `Infinity` for one that never comes. Throws where it is none. */
export const dateMillis = (date: number | string | Date | { readonly epochMilliseconds: number }): number => {
  if (typeof date === "string" && !zoned.test(date)) {
    throw new RangeError(`a date of ${JSON.stringify(date)} has no zone; write it as in 2027-01-31T09:00:00Z`)
  }
  // A Date cannot hold Infinity.
  if (typeof date === "number" && !Number.isNaN(date)) return date
  // The date is a value of the state: no clock is read.
  // @effect-diagnostics-next-line globalDate:off
  const millis = typeof date === "object" && date !== null && "epochMilliseconds" in date ? date.epochMilliseconds : Number(new Date(date))
  if (!Number.isFinite(millis)) throw new RangeError(`no date: ${String(date)}; return milliseconds since 1970, a Date or an ISO 8601 text`)
  return millis
}

interface Timer {
  readonly name: string
  readonly idle: boolean
  readonly millis: (state: never, at: number) => number
  /** The date it ends at, of a timer that ends at a date. */
  readonly until: ((state: never) => number) | undefined
}

interface Timed {
  readonly timers: ReadonlyMap<string, Timer>
}

/** A state with the groups around it, the outermost first. */
interface TimedState extends Timed {
  readonly groups: ReadonlyArray<Timed>
}

/**
 * The timers to set when a state is entered: all timers of the state and of the groups entered with it, and of the `kept` outermost
 * groups, which last, those that restart: idle ones, and those whose date is another than in the state before. A timer that would start
 * and is never due is left out. Throws where a timer would be due after {@link latestDue}.
 */
export const timersOnEnter = <S>(
  { timers, groups }: TimedState,
  state: S,
  at: number,
  kept = 0,
  before: S = state,
): ReadonlyArray<TimerRequest> => {
  const entered =
    groups.length === 0 ? [...timers.values()] : [...groups.slice(kept), { timers }].flatMap((one) => [...one.timers.values()])
  const begun = timersOf(entered, state, at).filter(({ millis }) => millis !== Number.POSITIVE_INFINITY)
  return kept === 0 ? begun : [...timersOf(restarting(groups.slice(0, kept), before, state), state, at), ...begun]
}

/**
 * The timers that restart when an event was handled in a state that lasts, with those of the groups around it: idle ones, and those
 * whose date has changed. `Infinity` cancels the running one.
 */
export const timersOnStay = <S>(node: TimedState, before: S, state: S, at: number): ReadonlyArray<TimerRequest> =>
  timersOf(restarting([...node.groups, node], before, state), state, at)

const restarting = (timed: ReadonlyArray<Timed>, before: unknown, state: unknown) =>
  timed.flatMap(({ timers }) =>
    [...timers.values()].filter(({ idle, until }) => idle || (until !== undefined && until(before as never) !== until(state as never))),
  )

const timersOf = (timers: ReadonlyArray<Timer>, state: unknown, at: number): ReadonlyArray<TimerRequest> =>
  timers.map(({ name, millis: millisOf }) => {
    // A deadline that has passed is due immediately.
    const millis = Math.max(0, millisOf(state as never, at))
    if (Number.isFinite(millis) && at + millis > latestDue) {
      throw new RangeError(`timeout ${name} would be due after the year 9999; use Infinity for one that never is`)
    }
    return { name, millis }
  })
