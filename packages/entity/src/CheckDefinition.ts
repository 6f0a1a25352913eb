/** The checks that a schema cannot make: every name exists, and automatic transitions end. */

import { nearest } from "@detent/machine/Nearest"
import { updateTag } from "./EntityEvent.ts"
import { type Path, type Problem, problemLimit } from "./EntityWorkflowError.ts"
import { anyState, endsOf, processorName, sourcesOf, type TransitionDefinition, type WorkflowDefinition } from "./WorkflowDefinition.ts"

/** The names that a definition may use. */
export interface KnownNames {
  readonly processors: object
  readonly criteria: object
}

/** The most pairs of a state and a transition from any state. Real workflows have fewer. */
const expansionLimit = 1_000_000

/** All problems, in the order of the definition. */
export const checkDefinition = (definition: WorkflowDefinition, known: KnownNames): ReadonlyArray<Problem> => {
  const check = new Check(definition)
  check.states()
  check.transitions(known)
  check.failure()
  if (check.problems.length === 0) check.endlessChain()
  return check.problems
}

class Check {
  readonly problems: Array<Problem> = []
  readonly #definition: WorkflowDefinition
  readonly #states: ReadonlySet<string>
  readonly #ends: ReadonlySet<string>

  constructor(definition: WorkflowDefinition) {
    this.#definition = definition
    this.#states = new Set(definition.states)
    this.#ends = endsOf(definition)
  }

  states() {
    const { initial, states, ends = [] } = this.#definition
    const seen = new Set<string>()
    for (const [index, state] of states.entries()) {
      if (seen.has(state)) this.#add(["states", index], `the state ${quote(state)} is there twice; remove one`)
      seen.add(state)
    }
    this.#state(["initial"], "the initial state", initial)
    for (const [index, end] of ends.entries()) this.#state(["ends", index], "ends", end)
    if (this.#states.has(initial) && this.#ends.has(initial))
      this.#add(["initial"], `${quote(initial)} is an end, so no transition could be taken; add a transition that names it, or list "ends"`)
  }

  transitions(known: KnownNames) {
    const { states, transitions } = this.#definition
    const taken = new Map<string, number>()
    const arriving = new Map<string, number>()
    const wild = transitions.filter((one) => one.from === anyState).length
    if (states.length * wild > expansionLimit)
      this.#add(["transitions"], `${wild} transitions from any of ${states.length} states are too many; name their states`)
    for (const [index, transition] of transitions.entries()) {
      if (this.problems.length >= problemLimit) return
      this.#transition(transition, ["transitions", index], known)
      if (transition.processIn === "target") this.#inTarget(transition, index, arriving)
      for (const source of sourcesOf(transition)) {
        const key = JSON.stringify([source, transition.name])
        const first = taken.get(key)
        if (first !== undefined) {
          const of = source === anyState ? "any state" : quote(source)
          this.#add(["transitions", index, "name"], `${of} has the transition ${quote(transition.name)} already, in transitions[${first}]`)
        }
        taken.set(key, index)
      }
    }
  }

  failure() {
    const { failure, transitions } = this.#definition
    if (failure === undefined || transitions.some(({ name }) => name === failure)) return
    const names = transitions.map(({ name }) => name)
    this.#add(["failure"], `${quote(failure)} is not a transition${meant(failure, names)}`)
  }

  /** Finds a cycle of automatic transitions without criteria, which would never end. */
  endlessChain() {
    const { states } = this.#definition
    const next = this.#unconditional()
    const done = new Set<string>()
    for (const start of states) {
      const path: Array<string> = []
      for (let at: string | undefined = start; at !== undefined && !done.has(at); at = next.get(at)?.to) {
        done.add(at)
        path.push(at)
      }
      const back = next.get(path.at(-1) ?? "")
      const from = back === undefined ? -1 : path.indexOf(back.to)
      if (back === undefined || from < 0) continue
      const circle = [...path.slice(from), back.to].join(" → ")
      this.#add(["transitions", back.index], `${circle}: automatic transitions without criteria never end; give one of them criteria`)
    }
  }

  /** The state that each state always leads to: the target of its first automatic transition, if that transition has no criteria. */
  #unconditional(): ReadonlyMap<string, { readonly to: string; readonly index: number }> {
    const { states, transitions, failure } = this.#definition
    const decided = new Set<string>()
    const next = new Map<string, { readonly to: string; readonly index: number }>()
    for (const [index, transition] of transitions.entries()) {
      const { manual, name, to, criteria = [] } = transition
      if (manual === true || name === failure) continue
      const sources = sourcesOf(transition)
      for (const state of sources === anyState ? states.filter((one) => one !== to && !this.#ends.has(one)) : sources) {
        if (decided.has(state)) continue
        decided.add(state)
        if (criteria.length === 0) next.set(state, { to, index })
      }
    }
    return next
  }

  #transition(transition: TransitionDefinition, path: Path, known: KnownNames) {
    const { name, to, from, processors = [], criteria = [] } = transition
    const what = `transition ${quote(name)}`
    if (name === updateTag) this.#add([...path, "name"], `${quote(name)} is the event that changes an entity; choose another name`)
    if (typeof from === "string") this.#source([...path, "from"], what, from)
    else for (const [index, source] of from.entries()) this.#source([...path, "from", index], what, source)
    this.#state([...path, "to"], `${what} leads to`, to)
    for (const [index, reference] of processors.entries()) {
      this.#registered([...path, "processors", index], what, "processor", processorName(reference), known.processors)
    }
    for (const [index, criterion] of criteria.entries()) {
      this.#registered([...path, "criteria", index], what, "criterion", criterion, known.criteria)
      if (Object.hasOwn(known.criteria, criterion) && Object.hasOwn(known.processors, criterion))
        this.#add([...path, "criteria", index], `${quote(criterion)} is both a criterion and a processor; rename one of them`)
    }
  }

  /** `arriving`: the earlier transitions whose processors run in the target, by target and name. */
  #inTarget({ name, to, criteriaAfter }: TransitionDefinition, index: number, arriving: Map<string, number>) {
    const path: Path = ["transitions", index, "processIn"]
    const what = `transition ${quote(name)}`
    if (this.#ends.has(to)) this.#add(path, `${what} leads to ${quote(to)}, which is an end, where nothing runs; leave "processIn" out`)
    if (criteriaAfter === true)
      this.#add(path, `${what} has "criteriaAfter", but is in its target before its processors are done; leave one of both out`)
    const key = JSON.stringify([to, name])
    const first = arriving.get(key)
    if (first !== undefined)
      this.#add(path, `${what} leads to ${quote(to)} already in transitions[${first}]; list all sources in "from" of one of them`)
    arriving.set(key, index)
  }

  #source(path: Path, what: string, source: string) {
    if (source === anyState) return
    this.#state(path, `${what} leaves`, source)
    if (this.#states.has(source) && this.#ends.has(source)) this.#add(path, `${what} leaves ${quote(source)}, which is listed in "ends"`)
  }

  #state(path: Path, what: string, state: string) {
    if (this.#states.has(state)) return
    this.#add(path, `${what} ${quote(state)}, which is not a state${meant(state, this.#states)}`)
  }

  #registered(path: Path, what: string, kind: string, name: string, registered: object) {
    if (Object.hasOwn(registered, name)) return
    const names = Object.keys(registered)
    const hint =
      meant(name, names) || (names.length === 0 ? "; register it" : `; register it, or use one of ${names.slice(0, 10).join(", ")}`)
    this.#add(path, `${what} names the ${kind} ${quote(name)}, which is not registered${hint}`)
  }

  #add(path: Path, problem: string) {
    if (this.problems.length < problemLimit) this.problems.push({ path, problem })
  }
}

const quote = (name: string): string => JSON.stringify(name)

const meant = (name: string, known: Iterable<string>): string => {
  const found = nearest(name, known)
  return found === undefined ? "" : `; did you mean ${quote(found)}?`
}
