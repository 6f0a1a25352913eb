/**
 * Events that have not come. A journal has only the events that were accepted, so it cannot show that the new code accepts what the old one
 * refused, or what it does with the next event. Events of other instances are therefore decided by both codes in states of this one.
 */
import { ActionFailed, type Decision } from "@detent/machine"
import { decide, type Tagged } from "@detent/machine/internal"
import { decisionChanges, isEqual, type Side } from "./Difference.ts"
import type { Change } from "./Verdict.ts"

/** Events of one name that are kept as they came. */
const mostOfOneName = 4

/** Events of one name that are made of those that came. */
const mostVariants = 24

/** One of so many later events replaces a kept one, so that samples of a long journal are not those of its beginning alone. */
const replacedEvery = 97

/** An event as each of the codes reads it. */
interface Sample {
  readonly before: Tagged
  readonly after: Tagged
}

/** Journals whose every state is probed, per range. Of the others, only the state in which a running instance stands. */
const probedJournals = 200

interface Samples {
  readonly kept: Array<Sample>
  /** The same with other values: what was always refused is in no journal. */
  readonly variants: Array<Sample>
}

export class Probes {
  readonly #samples = new Map<string, Samples>()
  #seen = 0
  #journals = 0

  /** Whether the next journal is probed in each of its states. */
  get probesAll(): boolean {
    return this.#journals++ < probedJournals
  }

  /** Keeps an event that came, as each of the codes reads it. */
  add(before: Side, old: Tagged, after: Side, now: Tagged) {
    if (old._tag === "@timeout") return
    let samples = this.#samples.get(old._tag)
    if (samples === undefined) {
      samples = { kept: [], variants: [] }
      this.#samples.set(old._tag, samples)
    }
    const { kept, variants } = samples
    const sample = { before: old, after: now }
    if (kept.length === mostOfOneName) {
      if (++this.#seen % replacedEvery === 0) kept[(this.#seen / replacedEvery) % mostOfOneName] = sample
      return
    }
    kept.push(sample)
    for (const variant of variantsOf(sample)) {
      if (variants.length === mostVariants) return
      const { _tag } = variant.before
      const isValid = before.compiled.events.get(_tag)?.(variant.before) === undefined
      if (isValid && after.compiled.events.get(variant.after._tag)?.(variant.after) === undefined) variants.push(variant)
    }
  }

  /** The first event that the codes would decide differently in a state. */
  difference(
    before: Side,
    old: Tagged,
    after: Side,
    now: Tagged,
    at: number,
  ): { readonly event: string; readonly changes: ReadonlyArray<Change> } | undefined {
    for (const [event, { kept, variants }] of this.#samples) {
      for (const samples of [kept, variants])
        for (const sample of samples) {
          const changes = changesOf(before, old, sample.before, after, now, sample.after, at)
          if (changes.length > 0) return { event, changes }
        }
    }
    const names = new Set([
      ...(before.compiled.nodes.get(old._tag)?.timeouts.keys() ?? []),
      ...(after.compiled.nodes.get(now._tag)?.timeouts.keys() ?? []),
    ])
    for (const name of names) {
      const timeout = { _tag: "@timeout", name }
      const changes = changesOf(before, old, timeout, after, now, timeout, at)
      if (changes.length > 0) return { event: `(${name})`, changes }
    }
    return undefined
  }
}

/** The same event with another value in one of its fields, the same for both codes. */
const variantsOf = ({ before, after }: Sample): ReadonlyArray<Sample> =>
  Object.entries(before).flatMap(([field, value]): ReadonlyArray<Sample> => {
    if (field === "_tag" || (after as unknown as Record<string, unknown>)[field] !== value) return none
    return othersOf(value).map((other) => ({ before: { ...before, [field]: other }, after: { ...after, [field]: other } }))
  })

const othersOf = (value: unknown): ReadonlyArray<unknown> => {
  switch (typeof value) {
    case "number":
      return [0, value + 1, value - 1, value * 10, -value]
    case "string":
      return [`${value}?`, ""]
    case "boolean":
      return [!value]
    default:
      return none
  }
}

const changesOf = (
  before: Side,
  old: Tagged,
  oldEvent: Tagged,
  after: Side,
  now: Tagged,
  newEvent: Tagged,
  at: number,
): ReadonlyArray<Change> => {
  // Most events do not fit most states: then no error is made of it.
  if (!takes(before, old, oldEvent) && !takes(after, now, newEvent)) return none
  const was = decide(before.compiled, old, oldEvent, at)
  const is = decided(after, now, newEvent, at)
  if (isSameRefusal(was, is)) return none
  const changes = decisionChanges(before, was, after, is)
  if (changes.length === 0) return none
  // What the old code itself decides otherwise a second time is no measure.
  const again = decide(before.compiled, old, oldEvent, at)
  return again._tag === was._tag && isEqual(stateOf(again), stateOf(was)) ? changes : none
}

/** Whether a state declares anything for an event. */
const takes = ({ compiled }: Side, state: Tagged, event: Tagged): boolean => {
  const node = compiled.nodes.get(state._tag)
  return event._tag === "@timeout" || node === undefined || node.on.has(event._tag) || node.postponed.has(event._tag)
}

const decided = ({ compiled, codec }: Side, state: Tagged, event: Tagged, at: number): Decision<Tagged, Tagged> => {
  const decision = decide(compiled, state, event, at)
  if (decision._tag !== "Goto" && decision._tag !== "Stay") return decision
  // The engine refuses a state that does not fit its schema.
  const fits = decision.state === state || codec.stateProblem(decision.state, state) === undefined
  return fits ? decision : misfit(compiled, state, event)
}

const misfit = ({ name: machine }: Side["compiled"], from: Tagged, event: Tagged): Decision<Tagged, Tagged> => {
  const cause = new Error("the new state does not fit its schema")
  return {
    _tag: "Refused",
    from,
    event,
    error: new ActionFailed({ machine, phase: "decide", state: from._tag, event: event._tag, committed: false, cause }),
  }
}

const isSameRefusal = (one: Decision<Tagged, Tagged>, other: Decision<Tagged, Tagged>): boolean =>
  one._tag === other._tag && (one._tag === "Refused" || one._tag === "Postponed" || one._tag === "Deferred")

const stateOf = (decision: Decision<Tagged, Tagged>): Tagged => ("state" in decision ? decision.state : decision.from)

const none: ReadonlyArray<never> = []
