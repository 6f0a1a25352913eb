/** Makes the decisions of `explore`, and collects exceptions and endless transitions. */
import * as Formatter from "effect/Formatter"
import { begin, decide } from "../src/decide/Decide.ts"
import type { NotBegun } from "../src/decision/Decision.ts"
import { eventLabel, timeoutEvent } from "../src/decision/Timeout.ts"
import type { Tagged } from "../src/define/Declarations.ts"
import { describe } from "../src/error/MachineError.ts"
import { redact } from "../src/schema/Sensitive.ts"
import type { UntypedVariant } from "../src/schema/Variant.ts"
import type { EndlessAlways, Sample, Throwing } from "./ExploreReport.ts"
import type { Observed, ObservedEdge } from "./Observed.ts"
import type { Samples } from "./Samples.ts"

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** The number of states of one tag that are kept to continue from. */
const poolLimit = 30

export class Exploration {
  decisions = 0
  readonly throwing = new Map<string, Mutable<Throwing>>()
  readonly endless = new Map<string, EndlessAlways>()
  /** Tags of states that were left. */
  readonly left = new Set<string>()
  /** States that were reached from the start, some of each tag. */
  readonly pool = new Map<string, Array<Tagged>>()
  /** The state of each tag that was reached last. */
  readonly #latest = new Map<string, Tagged>()
  readonly #observed: Observed
  readonly #samples: Samples

  constructor(observed: Observed, samples: Samples) {
    this.#observed = observed
    this.#samples = samples
  }

  /** Makes every decision on generated states and events. */
  tryAll(count: number) {
    for (const [tag, states] of this.#samples.states) {
      const edges = this.#observed.edgesFrom(tag)
      const node = this.#observed.compiled.nodes.get(tag)
      for (const state of states.slice(0, count)) {
        for (const edge of edges) this.#try(edge, state, false)
        if (node?.plain === false) this.#begin(state, false)
      }
    }
  }

  /**
   * Follows the machine from the starts: in each round every event of every state reached so far. States whose
   * data grows round by round (counters, lists) take as many rounds as they need, up to the limit.
   */
  walk(starts: ReadonlyArray<Tagged>, rounds: number, tries: number) {
    for (const state of starts) for (const reached of this.#begin(state, true)) this.#reach(reached)
    for (let round = 0; round < rounds; round++) {
      for (const [tag, states] of this.pool) {
        for (const edge of this.#observed.edgesFrom(tag)) {
          for (let one = 0; one < tries; one++) {
            // Every other try continues from the latest state: with random states a counter would hardly reach ten.
            const state = one % 2 === 0 ? this.#latest.get(tag) : this.#samples.pick(states)
            if (state === undefined) continue
            for (const reached of this.#try(edge, state, true)) this.#reach(reached)
          }
          if (edge.deferred) this.#assume(edge)
        }
      }
    }
  }

  /** A decision that is an Effect is not run: the exploration continues from all its targets. */
  #assume(edge: ObservedEdge) {
    for (const tag of edge.declared) {
      const state = this.#samples.pick(this.#samples.states.get(tag) ?? [])
      if (state !== undefined) this.#reach(state)
    }
  }

  #reach(state: Tagged) {
    const states = this.pool.get(state._tag) ?? []
    this.pool.set(state._tag, states)
    this.#latest.set(state._tag, state)
    if (states.length < poolLimit) states.push(state)
    else states[this.#samples.index(poolLimit)] = state
  }

  #try(edge: ObservedEdge, state: Tagged, reached: boolean): ReadonlyArray<Tagged> {
    if (edge.kind === "always") return []
    const event = edge.kind === "timeout" ? timeoutEvent(edge.event.slice(1, -1)) : this.#samples.eventFor(state, edge.event)
    if (event === undefined) return []
    if (edge.kind === "timeout") this.#tryDuration(edge, state, event, reached)
    const at = this.#samples.time()
    const found: Array<Tagged> = []
    this.#observed.script.inEveryWay(() => {
      this.decisions++
      const decision = decide(this.#observed.compiled, state, event, at)
      if (decision._tag === "Refused") return this.#refused(decision, { state, event }, reached)
      if (decision._tag === "Deferred" || decision._tag === "Postponed") return
      if (decision._tag === "Stop") this.left.add(state._tag)
      this.#passed([state, ...decision.through, decision.state])
      found.push(...decision.through, decision.state)
    })
    return found
  }

  #begin(state: Tagged, reached: boolean): ReadonlyArray<Tagged> {
    const found: Array<Tagged> = []
    this.#observed.script.inEveryWay(() => {
      this.decisions++
      const beginning = begin(this.#observed.compiled, state, this.#samples.time())
      if (beginning._tag === "Refused") return this.#refused(beginning, { state, event: undefined }, reached)
      this.#passed([...beginning.through, beginning.state])
      found.push(...beginning.through, beginning.state)
    })
    return found
  }

  #passed(states: ReadonlyArray<Tagged>) {
    states.forEach((state, index) => {
      const next = states[index + 1]
      if (next !== undefined && next._tag !== state._tag) this.left.add(state._tag)
    })
  }

  #tryDuration(edge: ObservedEdge, state: Tagged, event: Tagged, reached: boolean) {
    const timeout = this.#observed.compiled.nodes.get(state._tag)?.timeouts.get(edge.event.slice(1, -1))
    try {
      timeout?.millis(state, 0)
    } catch (cause) {
      this.#throws("duration", cause, { state, event }, reached)
    }
  }

  #refused({ error }: NotBegun<Tagged, Tagged>, sample: Made, reached: boolean) {
    if (error._tag === "ActionFailed") this.#throws(error.phase, error.cause, sample, reached)
    else if (error._tag === "InvalidState") this.#throws("initial", error.problem, sample, reached)
    else if (error._tag === "EndlessTransition") {
      const key = [...new Set(error.path)].sort().join()
      if (!this.endless.has(key))
        this.endless.set(key, { state: sample.state._tag, event: labelOf(sample.event), path: error.path, sample: this.#shown(sample) })
    }
  }

  #throws(phase: string, cause: unknown, sample: Made, reached: boolean) {
    const event = labelOf(sample.event)
    const key = `${sample.state._tag} × ${event} ${phase}`
    const message = describe(cause)
    const earlier = this.throwing.get(key)
    if (earlier === undefined) {
      this.throwing.set(key, { state: sample.state._tag, event, phase, message, times: 1, sample: this.#shown(sample), reached })
      return
    }
    earlier.times++
    if (reached && !earlier.reached) Object.assign(earlier, { message, sample: this.#shown(sample), reached })
  }

  #shown({ state, event }: Made): Sample {
    const { declarations } = this.#observed.compiled
    const text = (value: Tagged, variants: ReadonlyMap<string, UntypedVariant>) =>
      `${eventLabel(value)} ${Formatter.format(redact(variants.get(value._tag)?.fields ?? {}, value))}`
    const shownState = text(state, declarations.state.$variants)
    return { state, event, text: event === undefined ? shownState : `${shownState} × ${text(event, declarations.event.$variants)}` }
  }
}

/** The state and event of a decision. */
type Made = Omit<Sample, "text">

const labelOf = (event: Tagged | undefined): string => (event === undefined ? "(start)" : eventLabel(event))
