/** How many commands of a queue may be claimed now, by its settings. What PostgreSQL does in SQL is done here for the others. */
import type { QueueSettings } from "../store/Commands.ts"
import { allowance, opensIn, type Start } from "./RateWindow.ts"

/** How soon a queue whose limit on concurrency is reached is worth asking again; whoever finishes one asks at once. */
export const busyPauseMillis = 500

export const unlimited: QueueSettings = { paused: false, concurrency: undefined, rate: undefined }

export interface Room {
  readonly limit: number
  /** When it is worth asking for more than that, where a limit stands in the way. */
  readonly nextMillis: number | undefined
  /** The limit on concurrency is what stands in the way. */
  readonly isBusy: boolean
}

export const roomIn = (
  { paused, concurrency, rate }: QueueSettings,
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
