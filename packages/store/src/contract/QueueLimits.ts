/**
 * How many commands of a queue its settings allow to claim now, for the memory store and SQLite. PostgreSQL computes the same in SQL.
 *
 * The rate limit holds in every interval, whenever it begins. Starts that are close together count at the time of the later one, so that
 * the list of starts stays short and no interval holds more than the limit.
 */
import type { QueueSettings, Rate } from "./Commands.ts"

/** The pause before a queue at its concurrency limit is asked again. The worker that ends one of its commands asks immediately. */
export const busyPauseMillis = 500

export const unlimited: QueueSettings = { paused: false, concurrency: undefined, rate: undefined, perGroup: undefined }

export interface Room {
  readonly limit: number
  /** Milliseconds until more than that may be claimed; undefined if no limit applies. */
  readonly nextMillis: number | undefined
  /** Whether the concurrency limit applies. */
  readonly isBusy: boolean
}

export const roomIn = (
  { paused, concurrency, rate }: Omit<QueueSettings, "perGroup">,
  wanted: number,
  processing: () => number,
  starts: ReadonlyArray<Start>,
  now: number,
): Room => {
  if (paused) return { limit: 0, nextMillis: undefined, isBusy: false }
  const free = concurrency === undefined ? wanted : Math.min(wanted, Math.max(0, concurrency - processing()))
  const allowed = rate === undefined ? free : Math.min(free, allowance(starts, rate, now))
  const isBusy = free < wanted
  if (allowed === wanted) return { limit: wanted, nextMillis: undefined, isBusy }
  return { limit: allowed, nextMillis: rate !== undefined && allowed < free ? opensIn(starts, rate, now) : busyPauseMillis, isBusy }
}

/** How many commands began at a time. */
export type Start = readonly [at: number, count: number]

/** The interval is divided into this many parts; the list has at most one entry for each, and one more. */
const grain = 64

/** How many commands may begin now. */
export const allowance = (starts: ReadonlyArray<Start>, rate: Rate, now: number): number =>
  Math.max(0, rate.limit - counted(within(starts, rate, now)))

/** The list after more commands have begun. */
export const begun = (starts: ReadonlyArray<Start>, rate: Rate, now: number, count: number): ReadonlyArray<Start> => {
  const kept = within(starts, rate, now)
  if (count === 0) return kept
  const last = kept.at(-1)
  if (last === undefined || partOf(last[0], rate) !== partOf(now, rate)) return [...kept, [now, count]]
  return [...kept.slice(0, -1), [Math.max(last[0], now), last[1] + count]]
}

/** Milliseconds until the oldest start leaves the interval. */
export const opensIn = (starts: ReadonlyArray<Start>, rate: Rate, now: number): number => {
  const first = within(starts, rate, now)[0]
  return first === undefined ? 0 : Math.max(0, first[0] + rate.intervalMillis - now)
}

const within = (starts: ReadonlyArray<Start>, { intervalMillis }: Rate, now: number): ReadonlyArray<Start> =>
  starts.filter(([at]) => at > now - intervalMillis)

const counted = (starts: ReadonlyArray<Start>): number => starts.reduce((sum, [, count]) => sum + count, 0)

const partOf = (at: number, { intervalMillis }: Rate): number => Math.floor((at * grain) / intervalMillis)
