/**
 * Whether the oracle finds what breaks a machine, and nothing else. Scripts of events and time are played to the machine, which makes the
 * journals, and to each mutant. A mutant whose life under any script is another one is harmful.
 */
import type { PersistenceFailed } from "@detent/machine"
import { begin, compiledOf, initialState, type Tagged } from "@detent/machine/internal"
import { advance, simulate } from "@detent/machine/testing"
import type { Commit } from "@detent/store"
import type { JournalReaderService } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import { sideOf } from "../../src/oracle/checkAll.ts"
import type { Findings } from "../../src/oracle/Findings.ts"
import { judgeInstances, judgeRange } from "../../src/oracle/judgeRange.ts"
import { Probes } from "../../src/oracle/Probes.ts"
import { commitOf, type Life } from "./lives.ts"
import { make, type Specimen, specimens } from "./machines.ts"
import { type Mutant, mutantsOf, rewordingsOf } from "./mutants.ts"

/** Numbers from 0 to 1 that are the same in every run. */
export const chance = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const startedAt = 1_700_000_000_000

export interface Script {
  readonly start: unknown
  readonly steps: ReadonlyArray<Tagged | number>
}

export const scriptsOf = ({ start, next }: Specimen, count: number, seed = 1): ReadonlyArray<Script> =>
  Array.from({ length: count }, (_, index) => {
    const random = chance(seed * 1_000_003 + index)
    const steps = Array.from({ length: 4 + Math.floor(random() * 16) }, () => next(random))
    return { start: start(random), steps }
  })

const play = (machine: Specimen["machine"], { start, steps }: Script) =>
  simulate(machine as never, start as never, steps.map((step) => (typeof step === "number" ? advance(step) : step)) as never, {
    at: startedAt,
    limit: 2000,
  })

export const lifeOf = (machine: Specimen["machine"], script: Script): Life => {
  const compiled = compiledOf(machine)
  const beginning = begin(compiled, initialState(compiled, script.start), startedAt)
  if (beginning._tag === "Refused") throw beginning.error
  const { decisions, status, stopped, at, trace } = play(machine, script)
  const raised = beginning.sends
  return { first: beginning.state, startedAt, raised, decisions, times: trace.steps.map((step) => step.at), status, stopped, at }
}

/** All that an observer of a life could tell it from another by. */
const observed = (machine: Specimen["machine"], script: Script): string => {
  try {
    const { decisions, refusals, status, stopped, at, state } = play(machine, script)
    const taken = decisions.map(({ _tag, event, state, requests, timers, answer, sends, delays }) => ({
      _tag,
      event,
      state,
      requests,
      timers,
      answer,
      sends,
      delays,
    }))
    return JSON.stringify({ taken, refusals: refusals.map(({ event, at }) => [event, at]), status, stopped, at, state })
  } catch (error) {
    return `failed: ${String(error)}`
  }
}

export const commitsOf = (specimen: Specimen, scripts: ReadonlyArray<Script>): ReadonlyArray<Commit> => {
  const compiled = compiledOf(specimen.machine)
  return scripts.map((script, index) => commitOf(compiled, `${String(index).padStart(6, "0")}`, lifeOf(specimen.machine, script)))
}

export const judged = (
  reader: JournalReaderService,
  machine: Specimen["machine"],
  candidate: Specimen["machine"],
): Effect.Effect<Findings, PersistenceFailed> =>
  judgeRange(
    reader,
    judgeInstances({ before: sideOf(machine), after: sideOf(candidate), whatIf: undefined, probes: new Probes() }),
    { machine: machine.name, unended: true, ended: {} },
    {},
    { findings: 1 },
  )

export const isReported = ({ same, checked, unseen }: Findings): boolean => same < checked || unseen > 0

export interface Outcome {
  readonly harmful: number
  readonly found: number
  /** Harmful mutants that the oracle did not report. */
  readonly missed: ReadonlyArray<string>
  readonly rewordings: number
  /** Changes of words alone that the oracle reported. */
  readonly invented: ReadonlyArray<string>
}

const madeOf = (text: string): Specimen["machine"] | undefined => {
  try {
    return make(text).machine
  } catch {
    // Its definition is refused when it is loaded: no instance is needed to find it.
    return undefined
  }
}

/** Judges the mutants and the rewordings of one machine, whose journals the reader has. */
export const experiment = (
  reader: JournalReaderService,
  name: string,
  scripts: ReadonlyArray<Script>,
  isChosen: (mutant: Mutant, index: number) => boolean = () => true,
): Effect.Effect<Outcome, PersistenceFailed> =>
  Effect.gen(function* () {
    const text = specimens.get(name) as string
    const { machine } = make(text)
    const lives = scripts.map((script) => observed(machine, script))
    const isAsBefore = (candidate: Specimen["machine"]) => scripts.every((script, index) => observed(candidate, script) === lives[index])
    let [harmful, found, rewordings] = [0, 0, 0]
    const missed: Array<string> = []
    const invented: Array<string> = []
    for (const mutant of mutantsOf(text).filter(isChosen)) {
      const candidate = madeOf(mutant.text)
      if (candidate === undefined || isAsBefore(candidate)) continue
      harmful++
      if (isReported(yield* judged(reader, machine, candidate))) found++
      else missed.push(`${name}: ${mutant.about}`)
    }
    for (const reworded of rewordingsOf(text)) {
      const candidate = madeOf(reworded.text)
      if (candidate === undefined || !isAsBefore(candidate)) {
        invented.push(`${name}: ${reworded.about} is not the same machine`)
        continue
      }
      rewordings++
      const findings = yield* judged(reader, machine, candidate)
      if (isReported(findings)) invented.push(`${name}: ${reworded.about}: ${findings.reasons[0]?.summary}`)
    }
    return { harmful, found, missed, rewordings, invented }
  })
