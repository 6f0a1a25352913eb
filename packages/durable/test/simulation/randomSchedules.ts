/** Tests that run random schedules, and those that run some of them again. */
import { expect, it } from "vitest"
import { describeFailure, explore } from "./Explore.ts"

/** So that a failure in one part of the run is not told as a time-out of the whole. */
const parts = 4

export const range = (from: number, length: number) => Array.from({ length }, (_, index) => from + index)

export const run = (seeds: ReadonlyArray<number>) => {
  const explored = explore(seeds)
  if (explored.failure !== undefined) expect.fail(describeFailure(explored.failure))
  return explored
}

/** The tests, for the first schedules. */
export const randomSchedules = (count: number) => {
  const share = Math.ceil(count / parts)
  for (const part of range(0, parts)) {
    it(`in ${share} random schedules from ${part * share + 1} on every accepted event is kept once and in order, every timer fires once, memory equals replay`, () => {
      const { journaled, fired } = run(range(part * share + 1, share))
      // Not that a simulation in which nothing happens is taken for a proof.
      expect(journaled).toBeGreaterThan(share * 10)
      expect(fired).toBeGreaterThan(share)
    })
  }
}
