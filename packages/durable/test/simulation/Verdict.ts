/** What must hold after any schedule. Returns what does not. */
import { judgeAnswers, type Known, stateText } from "./Answers.ts"
import { judge } from "./Audit.ts"
import { driven } from "./Machines.ts"
import type { Reading } from "./Simulated.ts"
import type { Outcome } from "./Simulation.ts"

/** By when the sweeper must have come by. */
const overdue = 30_000

export interface Verdict {
  readonly problems: ReadonlyArray<string>
  readonly journaled: number
  readonly fired: number
}

export const verdict = (outcome: Outcome): Verdict => new Verdicts(outcome).verdict()

class Verdicts {
  readonly #outcome: Outcome
  readonly #problems: Array<string> = []
  readonly #judged = new Map<string, Known>()

  constructor(outcome: Outcome) {
    this.#outcome = outcome
    const clocksJump = outcome.schedule.steps.some(({ _tag }) => _tag === "Skew")
    for (const stored of outcome.store.stored()) {
      const judged = judge(driven(stored.machine).machine, stored, clocksJump)
      this.#judged.set(`${stored.machine} ${stored.id}`, { ...judged, status: stored.status, pruned: stored.pruned })
    }
  }

  verdict(): Verdict {
    const judged = [...this.#judged.values()]
    this.#problems.push(...judged.flatMap(({ problems }) => problems))
    for (const node of this.#outcome.nodes) this.#problems.push(...node.defects)
    this.#problems.push(...judgeAnswers(this.#outcome.clients.sent, (key) => this.#of(key)))
    this.#goneOn()
    for (const reading of this.#outcome.readings) this.#reading(reading)
    this.#afresh()
    this.#raised(judged)
    return {
      problems: this.#problems,
      journaled: judged.reduce((sum, { states }) => sum + states.length - 1, 0),
      fired: judged.reduce((sum, { fired }) => sum + fired, 0),
    }
  }

  #of({ machine, id }: { readonly machine: string; readonly id: string }): Known | undefined {
    return this.#judged.get(`${machine} ${id}`)
  }

  /** Nothing is left that should have happened by itself. */
  #goneOn() {
    const { store, now } = this.#outcome
    for (const { machine, id, tag, timers, status } of store.stored()) {
      for (const { name, due } of timers) {
        if (due < now - overdue) this.#problems.push(`${machine} ${id}: timer ${name} is overdue by ${now - due} ms`)
      }
      if (machine === "job" && tag === "Working") this.#problems.push(`${machine} ${id}: its work does not continue`)
      if (status === "held") this.#problems.push(`${machine} ${id} is held`)
    }
  }

  /** What is in memory is what a replay comes to. */
  #reading({ node, machine, id, begun, sequence, state, previous }: Reading) {
    const judged = this.#of({ machine, id })
    const before = previous === undefined ? undefined : stateText(machine, previous)
    if (judged?.previous[sequence] !== before)
      this.#problems.push(`${node.process.name} had ${before} before ${machine} ${id} at ${sequence}, not ${judged?.previous[sequence]}`)
    const text = stateText(machine, state)
    if (judged?.states[sequence] !== text)
      this.#problems.push(`${node.process.name} had ${machine} ${id} as ${text} at ${sequence}, a replay says ${judged?.states[sequence]}`)
    for (const { token, attempts, ...sent } of this.#outcome.clients.sent) {
      if (sent.machine !== machine || sent.id !== id) continue
      const seen = attempts.some((one) => one.node === node && one.answer?._tag === "Taken" && (one.ended ?? Infinity) < begun)
      if (seen && (judged?.tokens.get(token) ?? 0) > sequence)
        this.#problems.push(`${node.process.name} answered ${token} and then read ${machine} ${id} without it, at ${sequence}`)
    }
  }

  #afresh() {
    for (const { machine, id, sequence } of this.#outcome.store.stored()) {
      const reading = this.#outcome.afresh.find((one) => one.machine === machine && one.id === id)
      if (reading === undefined) this.#problems.push(`${machine} ${id} cannot be opened again`)
      else if (reading.sequence !== sequence) this.#problems.push(`${machine} ${id} opened at ${reading.sequence} instead of ${sequence}`)
      else this.#reading(reading)
    }
  }

  /** Events that a decision raises are handled without a caller, whichever node dies and whatever the store fails at. */
  #raised(judged: ReadonlyArray<Known>) {
    const lost = judged.reduce((sum, { raised }) => sum + raised.missing, 0)
    if (lost > 0) this.#problems.push(`${lost} events that were raised are not journaled`)
    for (const stored of this.#outcome.healed) {
      // It postpones them.
      if (stored.tag === "Closed") continue
      const { missing } = judge(driven(stored.machine).machine, stored, true).raised
      if (missing > 0) this.#problems.push(`${stored.machine} ${stored.id}: ${missing} events that were raised wait for a caller`)
    }
  }
}
