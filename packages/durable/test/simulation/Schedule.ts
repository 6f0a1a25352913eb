/** What happens in one simulation, step by step. The steps are drawn before they are taken, so that some can be left out. */
import { Chance } from "./Chance.ts"
import { type Line, perfectLine } from "./FaultyStore.ts"
import { deskAt, machines } from "./Machines.ts"

export type Step =
  /** A client sends an event, under an id or without. */
  | { readonly _tag: "Send"; readonly client: number; readonly target: number; readonly withId: boolean; readonly seed: number }
  /** A client sends again what it, or another, sent before under an id. */
  | { readonly _tag: "Resend"; readonly pick: number }
  | { readonly _tag: "Read"; readonly target: number; readonly pick: number }
  | { readonly _tag: "Snapshot"; readonly target: number; readonly pick: number }
  /** A node saves a snapshot and removes the events before it. */
  | { readonly _tag: "Prune"; readonly target: number; readonly pick: number }
  | { readonly _tag: "Pass"; readonly millis: number }
  | { readonly _tag: "Kill"; readonly pick: number }
  | { readonly _tag: "Stop"; readonly pick: number }
  | { readonly _tag: "Open" }
  | { readonly _tag: "Freeze"; readonly pick: number; readonly millis: number }
  | { readonly _tag: "Skew"; readonly pick: number; readonly millis: number }
  /** No node reaches the store for a while, or no node can write to it. */
  | { readonly _tag: "Outage"; readonly kind: "all" | "writes"; readonly millis: number }
  /** A writer that is not an engine writes to an instance. */
  | { readonly _tag: "Write"; readonly target: number }

export interface Schedule {
  readonly seed: number
  readonly line: Line
  readonly locks: boolean
  readonly passivateAfter: number
  /** How many engines there are, unless some are down. */
  readonly engines: number
  readonly instances: ReadonlyArray<{ readonly machine: string; readonly id: string }>
  readonly steps: ReadonlyArray<Step>
}

const lines: ReadonlyArray<Line> = [
  perfectLine,
  { ...perfectLine, slow: 0.5 },
  { lost: 0.03, unanswered: 0.03, late: 0.03, slow: 0.2 },
  { lost: 0.1, unanswered: 0.1, late: 0.1, slow: 0.3 },
  { lost: 0.3, unanswered: 0.2, late: 0.1, slow: 0.1 },
]

export const clients = 4

export const schedule = (seed: number, length = 60): Schedule => {
  const chance = new Chance(seed)
  const line = chance.pick(lines)
  const calm = chance.happens(0.15)
  const count = chance.between(1, 5)
  const locks = chance.happens(0.25)
  // Drawn so that a seed keeps the schedule by which a fault was found.
  chance.happens(0.15)
  return withDesks({
    seed,
    line,
    locks,
    passivateAfter: chance.pick([1000, 10_000, 300_000]),
    engines: chance.pick([1, 2, 2, 2, 3]),
    instances: Array.from({ length: count }, (_, index) => ({ machine: chance.pick(machines).machine.name, id: `i-${index % 3}` })).filter(
      (one, index, all) => all.findIndex(({ machine, id }) => machine === one.machine && id === one.id) === index,
    ),
    steps: withMore(
      seed,
      Array.from({ length }, () => draw(chance, calm)),
    ),
  })
}

/** Every fourth schedule is about what instances owe. The others stay as they were. */
const withDesks = (one: Schedule): Schedule =>
  one.seed % 4 === 2
    ? { ...one, instances: Array.from({ length: 5 }, (_, index) => ({ machine: deskAt(1).machine.name, id: `i-${index}` })) }
    : one

/** In every second schedule journals are pruned and the store goes away. Drawn by themselves, so that the other half stays as it was. */
const withMore = (seed: number, steps: ReadonlyArray<Step>): ReadonlyArray<Step> => {
  if (seed % 2 === 0) return steps
  const chance = new Chance(seed ^ 0x9e3779b9)
  const prune = (): Step => ({ _tag: "Prune", target: chance.between(0, 2 ** 30), pick: chance.between(0, 2 ** 30) })
  const outage = (): Step => ({ _tag: "Outage", kind: chance.pick(["all", "writes"]), millis: chance.between(100, 40_000) })
  return steps.flatMap((step) => {
    if (chance.happens(0.08)) return [step, prune()]
    return chance.happens(0.01) ? [step, outage()] : [step]
  })
}

const draw = (chance: Chance, calm: boolean): Step => {
  const big = 2 ** 30
  const trouble = calm ? 0 : 1
  const pick = chance.between(0, big)
  const target = chance.between(0, big)
  const tag = chance.weighted({
    Send: 60,
    Resend: 5,
    Read: 4,
    Snapshot: 2,
    Pass: 18,
    Kill: 2.5 * trouble,
    Stop: 1.5 * trouble,
    Open: 2 * trouble,
    Freeze: 1.5 * trouble,
    Skew: 1 * trouble,
    Write: 3 * trouble,
  })
  switch (tag) {
    case "Send":
      return { _tag: tag, client: chance.between(0, clients - 1), target, withId: chance.happens(0.6), seed: pick }
    case "Resend":
    case "Kill":
    case "Stop":
      return { _tag: tag, pick }
    case "Read":
    case "Snapshot":
      return { _tag: tag, target, pick }
    case "Pass":
      return { _tag: tag, millis: chance.weighted({ short: 5, middle: 4, long: 1 }) === "short" ? chance.between(0, 50) : passing(chance) }
    case "Open":
      return { _tag: tag }
    case "Freeze":
      return { _tag: tag, pick, millis: chance.between(10, 30_000) }
    case "Skew":
      return { _tag: tag, pick, millis: chance.pick([-60_000, -5000, -100, 0, 100, 5000, 60_000]) }
    case "Write":
      return { _tag: tag, target }
  }
}

const passing = (chance: Chance): number => (chance.happens(0.8) ? chance.between(50, 1000) : chance.between(1000, 20_000))
