/** Runs schedules until one fails, and then looks for a shorter one that fails too. */
import type { Mistake } from "./FaultyStore.ts"
import { type Schedule, schedule } from "./Schedule.ts"
import { simulate } from "./Simulation.ts"
import { verdict } from "./Verdict.ts"

export interface Explored {
  readonly schedules: number
  readonly journaled: number
  readonly fired: number
  readonly failure: Failure | undefined
}

export interface Failure {
  readonly schedule: Schedule
  readonly problems: ReadonlyArray<string>
  readonly story: ReadonlyArray<string>
}

/** So many shorter schedules are tried. */
const shrinkLimit = 200

export const explore = (seeds: Iterable<number>, mistake?: Mistake): Explored => {
  let schedules = 0
  let journaled = 0
  let fired = 0
  for (const seed of seeds) {
    schedules++
    const result = attempt(schedule(seed), mistake)
    if ("failure" in result) return { schedules, journaled, fired, failure: shrink(result.failure, mistake) }
    journaled += result.journaled
    fired += result.fired
  }
  return { schedules, journaled, fired, failure: undefined }
}

const attempt = (one: Schedule, mistake: Mistake | undefined) => {
  try {
    const outcome = simulate(one, mistake)
    const { problems, journaled, fired } = verdict(outcome)
    if (problems.length === 0) return { journaled, fired }
    return { failure: { schedule: one, problems, story: outcome.story } }
  } catch (cause) {
    return { failure: { schedule: one, problems: [String((cause as Error).stack)], story: [] } }
  }
}

/** Leaves out steps, large parts first, for as long as it still fails. */
const shrink = (failure: Failure, mistake: Mistake | undefined): Failure => {
  let smallest = failure
  let tries = 0
  for (let size = Math.ceil(failure.schedule.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < smallest.schedule.steps.length && tries < shrinkLimit; ) {
      tries++
      const { steps } = smallest.schedule
      const shorter = { ...smallest.schedule, steps: [...steps.slice(0, start), ...steps.slice(start + size)] }
      const result = attempt(shorter, mistake)
      if ("failure" in result) smallest = result.failure
      else start += size
    }
  }
  return smallest
}

export const describeFailure = ({ schedule: { seed, steps, ...setting }, problems, story }: Failure): string =>
  [
    `schedule ${seed} fails:`,
    ...problems.map((problem) => `  ${problem}`),
    `run it again: DETENT_SIMULATION_SEED=${seed} npm test -- simulation`,
    `its setting: ${JSON.stringify(setting)}`,
    `shortened to ${steps.length} steps, this happened (virtual milliseconds):`,
    ...story.map((line) => `  ${line}`),
  ].join("\n")
