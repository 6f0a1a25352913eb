/** Timeouts: the event that a machine gets when one is due, journaled like any other, and the durations they may have. */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import { describe } from "../MachineError.ts"
import type { TimerRequest } from "./Decision.ts"

export interface TimeoutEvent {
  readonly _tag: "@timeout"
  /** The name given with `.timeout(..., { name })`. */
  readonly name: string
}

export const TimeoutEvent: Schema.Codec<TimeoutEvent, TimeoutEvent> = Schema.Struct({ _tag: Schema.tag("@timeout"), name: Schema.String })

export const timeoutEvent = (name: string): TimeoutEvent => ({ _tag: "@timeout", name })

export const isTimeoutEvent = (event: { readonly _tag: string }): event is TimeoutEvent => event._tag === "@timeout"

/** Events with names in parentheses are the machine's own: timeouts, and those its work sends. Users are not offered them. */
export const isOwnEvent = (tag: string): boolean => tag.startsWith("(")

/** The name of an event in errors, traces and diagrams. */
export const eventLabel = (event: { readonly _tag: string }): string => (isTimeoutEvent(event) ? `(${describe(event.name)})` : event._tag)

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

interface TimedState {
  readonly timeouts: ReadonlyMap<string, { readonly name: string; readonly idle: boolean; readonly millis: (state: never) => number }>
}

/**
 * The timers of a state that is entered at a time. One that is never due is left out. Throws where one would be due after
 * {@link latestDue}.
 */
export const timersOnEnter = <S>(node: TimedState, state: S, at: number): ReadonlyArray<TimerRequest> =>
  timersOf(node, state, at).filter(({ millis }) => millis !== Number.POSITIVE_INFINITY)

/** The idle timers of a state that lasts: they start again. `Infinity` ends the one that runs. */
export const timersOnStay = <S>(node: TimedState, state: S, at: number): ReadonlyArray<TimerRequest> =>
  timersOf({ timeouts: new Map([...node.timeouts].filter(([, { idle }]) => idle)) }, state, at)

const timersOf = (node: TimedState, state: unknown, at: number): ReadonlyArray<TimerRequest> =>
  [...node.timeouts.values()].map(({ name, millis: millisOf }) => {
    // A deadline that has passed is due immediately.
    const millis = Math.max(0, millisOf(state as never))
    if (Number.isFinite(millis) && at + millis > latestDue) {
      throw new RangeError(`timeout ${name} would be due after the year 9999; use Infinity for one that never is`)
    }
    return { name, millis }
  })
