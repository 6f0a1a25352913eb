/**
 * How many commands of a queue may begin: never more than the limit within any interval, whenever it begins. Starts that are
 * close together are counted at the later one's time, so that the list stays short and no interval holds too many.
 */

export interface Rate {
  readonly limit: number
  readonly intervalMillis: number
}

/** So many commands began at a time. */
export type Start = readonly [at: number, count: number]

/** The list is no longer than this and one more, however many commands begin. */
const grain = 64

export const allowance = (starts: ReadonlyArray<Start>, rate: Rate, now: number): number =>
  Math.max(0, rate.limit - counted(within(starts, rate, now)))

/** The list once some more have begun. */
export const begun = (starts: ReadonlyArray<Start>, rate: Rate, now: number, count: number): ReadonlyArray<Start> => {
  const kept = within(starts, rate, now)
  if (count === 0) return kept
  const last = kept.at(-1)
  if (last === undefined || partOf(last[0], rate) !== partOf(now, rate)) return [...kept, [now, count]]
  return [...kept.slice(0, -1), [Math.max(last[0], now), last[1] + count]]
}

/** Milliseconds until more may begin than now. */
export const opensIn = (starts: ReadonlyArray<Start>, rate: Rate, now: number): number => {
  const first = within(starts, rate, now)[0]
  return first === undefined ? 0 : Math.max(0, first[0] + rate.intervalMillis - now)
}

const within = (starts: ReadonlyArray<Start>, { intervalMillis }: Rate, now: number): ReadonlyArray<Start> =>
  starts.filter(([at]) => at > now - intervalMillis)

const counted = (starts: ReadonlyArray<Start>): number => starts.reduce((sum, [, count]) => sum + count, 0)

const partOf = (at: number, { intervalMillis }: Rate): number => Math.floor((at * grain) / intervalMillis)
