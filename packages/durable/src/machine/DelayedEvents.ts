/**
 * Delayed events of an instance: set by name in a decision, and independent of its state. The deadline is a timer row like that of
 * a timeout. The event itself is journaled with the decision that set it, and kept in snapshots, so that a past state and a fork
 * have the delayed events of their time.
 */
import type { Beginning, Taken } from "@detent/machine"
import type { Tagged } from "@detent/machine/internal"
import type { TimerRecord } from "@detent/store"
import { isOwedTimer } from "./SelfSentEvents.ts"

/** A timer of a live instance: a timeout of its state, or a delayed event. */
export interface InstanceTimer extends TimerRecord {
  /** Undefined for a timeout. */
  readonly event?: Tagged | undefined
}

/** A delayed event that was set; or cancelled, where `event` is undefined. */
export interface DelayedChange {
  readonly name: string
  /** Milliseconds since 1970. */
  readonly due: number | undefined
  readonly event: Tagged | undefined
}

/** A delayed event that waits for its deadline. */
export interface DelayedEvent {
  readonly name: string
  /** The sequence at which it was set. */
  readonly entry: number
  readonly due: number
  readonly event: Tagged
}

const prefix = "@after/"

/** The name of the timer row of a delayed event. The prefix keeps it distinct from the names of timeouts. */
export const delayTimer = (name: string): string => `${prefix}${name}`

export const isDelayTimer = ({ name }: TimerRecord): boolean => name.startsWith(prefix)

/** The name of the delayed event that a timer fires; undefined for a timeout. */
export const delayNameOf = (timer: TimerRecord | undefined): string | undefined =>
  timer !== undefined && isDelayTimer(timer) ? timer.name.slice(prefix.length) : undefined

const none: ReadonlyArray<never> = []

/** The delayed events that a decision sets and cancels, with deadlines instead of delays. */
export const delayedChanges = (delays: Taken<Tagged, Tagged>["delays"], at: number): ReadonlyArray<DelayedChange> =>
  delays.length === 0
    ? none
    : delays.map(({ name, millis, event }) => ({ name, event, due: event === undefined ? undefined : at + Math.ceil(millis) }))

/** The delayed events that wait after a journaled event. */
export const delayedAfter = (
  before: ReadonlyArray<DelayedEvent>,
  { delays, fired }: { readonly delays?: ReadonlyArray<DelayedChange> | undefined; readonly fired?: string | undefined },
  entry: number,
): ReadonlyArray<DelayedEvent> => {
  if (fired === undefined && delays === undefined) return before
  let after = before.filter(({ name }) => name !== fired)
  for (const { name, due, event } of delays ?? none) {
    after = after.filter((one) => one.name !== name)
    if (event !== undefined && due !== undefined) after = [...after, { name, entry, due, event }]
  }
  return after
}

/** The delayed events of an instance that has just begun. */
export const delayedAtStart = ({ delays }: Pick<Beginning<Tagged, Tagged>, "delays">, at: number): ReadonlyArray<DelayedEvent> =>
  delays.length === 0 ? none : delayedAfter(none, { delays: delayedChanges(delays, at) }, 0)

/** The timer row of a delayed event. */
export const delayTimerOf = ({ name, entry, due }: DelayedEvent): TimerRecord => ({ name: delayTimer(name), entry, due })

/** The delayed events among the timers of an instance. */
export const delayedOf = (timers: Iterable<InstanceTimer>): ReadonlyArray<DelayedEvent> => {
  let found: ReadonlyArray<DelayedEvent> = none
  for (const timer of timers) {
    const name = delayNameOf(timer)
    const { entry, due, event } = timer
    if (name !== undefined && event !== undefined) found = [...found, { name, entry, due, event }]
  }
  return found
}

/** Timers that fire, by name. The timers of delayed events get their events from the replay. */
export const timersByName = (
  timers: ReadonlyArray<TimerRecord>,
  delayed: ReadonlyArray<DelayedEvent>,
): ReadonlyMap<string, InstanceTimer> => {
  if (timers.length === 0) return noTimers
  const byName = new Map<string, InstanceTimer>()
  for (const timer of timers) {
    if (isOwedTimer(timer)) continue
    const name = delayNameOf(timer)
    const event = name === undefined ? undefined : delayed.find((one) => one.name === name && one.entry === timer.entry)?.event
    byName.set(timer.name, event === undefined ? timer : { ...timer, event })
  }
  return byName.size === 0 ? noTimers : byName
}

export const noTimers: ReadonlyMap<string, InstanceTimer> = new Map()
