/**
 * How many commands a worker holds of a queue. Quick ones are claimed by the hundred, so that one commit serves all; of slow
 * ones it holds no more than it executes, so that others can have the rest.
 */

/** What a worker holds should keep it busy for about so long. */
const aimMillis = 100

export interface Pace {
  /** Finished since the last look. */
  readonly finished: number
  readonly millis: number
  /** Whether the queue had as many as were asked for. */
  readonly isFull: boolean
}

export const nextSize = (size: number, { finished, millis, isFull }: Pace, least: number, most: number): number => {
  if (!isFull) return Math.max(least, Math.min(size, most))
  const wished = millis <= 0 ? size * 2 : (finished / millis) * aimMillis
  return Math.round(Math.max(least, Math.min(wished, size * 2, most)))
}
