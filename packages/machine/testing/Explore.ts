/**
 * Finds mistakes in a machine without hand-written tests: generates states and events from the schemas, makes every decision,
 * follows the machine from its start, and reports suspicious behaviour.
 *
 * ```ts
 * console.log(formatReport(explore(Order)))
 * ```
 *
 * Only decisions are made; no effect, hook that returns an Effect, `spawn` or `task` runs.
 */
import { type Blueprint, complete, transitionEvent } from "../src/contract/Blueprint.ts"
import type { Tagged } from "../src/define/Declarations.ts"
import { describe } from "../src/error/MachineError.ts"
import { initialState } from "../src/Machine.ts"
import { Exploration } from "./Exploration.ts"
import type { ConstantGuard, ExploreReport, NeverProduced, NotExplored, StateFinding, UndeclaredSlots } from "./ExploreReport.ts"
import { Observed, type ObservedEdge } from "./Observed.ts"
import { declaredWays } from "./Reachability.ts"
import { Samples } from "./Samples.ts"
import type { AnyMachine, GuardStubs, StartOf } from "./Subject.ts"

export interface ExploreOptions<M> {
  /** The same seed gives the same report. */
  readonly seed?: string | number
  /** How many states and events each transition is tried with. */
  readonly samples?: number
  /** About how many events deep the machine is followed from its start. */
  readonly rounds?: number
  /** Inputs or states to start from. Needed where the initial state is made from an input by a function. */
  readonly starts?: ReadonlyArray<StartOf<M>>
  /** Answers of guard slots. Those that are neither given nor built are answered in both ways. */
  readonly guards?: GuardStubs<M>
}

/**
 * The blueprint of a machine, completed from an exploration: slots that decisions, guards and hooks use without declaring
 * them, and the first states, where none is declared. Slots that `spawn` and `task` run are not observed.
 *
 * ```ts
 * console.log(Mermaid.stateDiagram(observe(Order)))
 * ```
 */
export const observe = <M extends AnyMachine>(machine: M, options: ExploreOptions<M> = {}): Blueprint => {
  const { observed, starts } = run(machine, options)
  return completed(machine, observed, starts.states)
}

const completed = ({ blueprint }: AnyMachine, observed: Observed, starts: ReadonlyArray<Tagged>): Blueprint =>
  complete(blueprint, {
    initial: starts.map(({ _tag }) => _tag),
    transitions: observed.edges.map(({ from, event, position, used }) => ({ from, event, position, ...namesOf(used) })),
    hooks: observed.hooks.map(({ phase, state, used }) => ({ phase, state, ...namesOf(used) })),
  })

const namesOf = ({ guards, requests }: ObservedEdge["used"]) => ({ guards: [...guards], requests: [...requests] })

const run = <M extends AnyMachine>(machine: M, options: ExploreOptions<M>) => {
  const { seed = 1, samples: count = 100, rounds = 20 } = options
  const observed = new Observed(machine, options.guards)
  const samples = new Samples(observed.compiled, seed, count)
  const starts = startsOf(machine, observed, samples, options.starts)
  const exploration = new Exploration(observed, samples)
  exploration.walk(starts.states, rounds, 4)
  exploration.tryAll(count)
  return { seed, observed, samples, starts, exploration }
}

/** Explores a machine. The report is the same for the same machine and options. */
export const explore = <M extends AnyMachine>(machine: M, options: ExploreOptions<M> = {}): ExploreReport => {
  const { seed, observed, samples, starts, exploration } = run(machine, options)
  return {
    machine: machine.name,
    version: machine.version,
    seed,
    decisions: exploration.decisions,
    observedTargets: observed.edges
      .filter((edge) => edge.seen.size > 0)
      .map(({ from, event, seen }) => ({ state: from, event, targets: [...seen].map(([target, times]) => ({ target, times })) })),
    throwing: inDeclarationOrder(observed, exploration.throwing.values()),
    endlessAlways: inDeclarationOrder(observed, exploration.endless.values()),
    unreachable: unreachable(observed, exploration, starts.states),
    deadEnds: deadEnds(observed, exploration),
    unhandledEvents: machine.blueprint.events.map(({ tag }) => tag).filter((tag) => !observed.edges.some((edge) => edge.event === tag)),
    neverProduced: neverProduced(observed),
    constantGuards: constantGuards(observed),
    undeclaredSlots: undeclaredSlots(machine.blueprint, completed(machine, observed, starts.states)),
    notExplored: [...starts.notes, ...samples.missing, ...deferredDecisions(observed)],
  }
}

const startsOf = (machine: AnyMachine, observed: Observed, samples: Samples, given: ReadonlyArray<unknown> | undefined) => {
  const { compiled } = observed
  const { initial } = compiled.declarations
  if (given !== undefined) return givenStarts(observed, given)
  if (typeof initial !== "function") return { states: [initial], notes: [] }
  const tag = machine.blueprint.states.find((state) => state.initial)?.tag
  const states = tag === undefined ? [] : (samples.states.get(tag) ?? []).slice(0, 10)
  // A constructor takes every value that fits its schema, so generated states are valid starts.
  if ("tag" in initial && states.length > 0) return { states, notes: [] }
  const instead =
    states.length === 0 ? "no path from there was explored; declare initialState" : `generated ${tag} states were used instead`
  const note: NotExplored = {
    what: "the function that makes the initial state",
    why: `its input has no schema; ${instead}; or pass { starts: [...] }`,
  }
  return { states, notes: [note] }
}

const givenStarts = ({ compiled }: Observed, given: ReadonlyArray<unknown>) => {
  const states: Array<Tagged> = []
  const notes: Array<NotExplored> = []
  given.forEach((start, index) => {
    try {
      states.push(initialState(compiled, start))
    } catch (cause) {
      notes.push({ what: `start ${index + 1}`, why: `initial failed: ${describe(cause)}` })
    }
  })
  return { states, notes }
}

const unreachable = ({ compiled }: Observed, { pool }: Exploration, starts: ReadonlyArray<Tagged>): ReadonlyArray<StateFinding> => {
  if (starts.length === 0) return []
  const declared = declaredWays(
    compiled,
    starts.map((state) => state._tag),
  )
  return [...compiled.nodes.keys()].filter((state) => !pool.has(state)).map((state) => ({ state, certain: !declared.has(state) }))
}

const deadEnds = (observed: Observed, { left }: Exploration): ReadonlyArray<StateFinding> =>
  [...observed.compiled.nodes.values()].flatMap(({ tag, final }) => {
    if (final || left.has(tag)) return []
    const ways = observed.edgesFrom(tag).filter((edge) => edge.declared.some((target) => target !== "(stay)" && target !== tag))
    const isKnown = ways.every((edge) => !edge.deferred && (edge.attempts > 0 || edge.kind === "always"))
    return isKnown ? [{ state: tag, certain: ways.length === 0 }] : []
  })

/** A target counts as produced if any of the states in the same declaration produces it. */
const neverProduced = ({ edges }: Observed): ReadonlyArray<NeverProduced> => {
  return byDeclaration(edges).flatMap((together) => {
    // An automatic transition without attempts comes after one that always holds; any other was not explored.
    const isExplored = together.some((edge) => edge.attempts > 0 || edge.kind === "always") && together.every((edge) => !edge.deferred)
    if (!isExplored) return []
    const targets = new Set(together.flatMap((edge) => edge.declared))
    return [...targets]
      .filter((target) => !together.some((edge) => edge.seen.has(target)))
      .map((target) => ({ states: distinct(together, "from"), events: distinct(together, "event"), target }))
  })
}

const constantGuards = ({ edges, slots }: Observed): ReadonlyArray<ConstantGuard> => {
  const bySlot = [...slots].map(([name, answers]) => [name, answers] as const)
  // A transition declared for several states has one guard, which may return false in one of them and true in another.
  const own = byDeclaration(edges).flatMap((together) => {
    const guarded = together.filter((edge) => edge.kind === "event" && edge.guard !== undefined && edge.attempts > 0)
    if (guarded.length === 0) return []
    const sum = (answer: "yes" | "no") => guarded.reduce((total, edge) => total + (edge.guard?.[answer] ?? 0), 0)
    const name = `${guarded[0]?.guard?.name} of ${distinct(guarded, "from").join(", ")} × ${distinct(guarded, "event").join(", ")}`
    return [[name, { yes: sum("yes"), no: sum("no") }] as const]
  })
  return [...bySlot, ...own]
    .filter(([, { yes, no }]) => yes === 0 || no === 0)
    .map(([guard, { yes, no }]) => ({ guard, answer: yes + no === 0 ? undefined : yes > 0, asked: yes + no }))
}

const undeclaredSlots = (declared: Blueprint, seen: Blueprint): ReadonlyArray<UndeclaredSlots> =>
  [
    ...seen.transitions.map((transition, index) => ({
      where: `${transition.from === "*" ? "any state" : transition.from} × ${transitionEvent(transition)}`,
      slots: [
        ...added(declared.transitions[index]?.guards, transition.guards),
        ...added(declared.transitions[index]?.requests, transition.requests),
      ],
    })),
    ...seen.states.flatMap((state, index) => [
      { where: `enter of ${state.tag}`, slots: added(declared.states[index]?.requestsOnEnter, state.requestsOnEnter) },
      { where: `exit of ${state.tag}`, slots: added(declared.states[index]?.requestsOnExit, state.requestsOnExit) },
    ]),
  ].filter(({ slots }) => slots.length > 0)

const added = (before: ReadonlyArray<string> = [], after: ReadonlyArray<string>) => after.filter((slot) => !before.includes(slot))

const deferredDecisions = ({ edges }: Observed): ReadonlyArray<NotExplored> =>
  edges
    .filter((edge) => edge.deferred)
    .map(({ from, event }) => ({
      what: `${from} × ${event}`,
      why: "its decision is an Effect, which is not run; all its targets count as possible",
    }))

const inDeclarationOrder = <A extends { readonly state: string }>({ compiled }: Observed, findings: Iterable<A>): ReadonlyArray<A> => {
  const tags = [...compiled.nodes.keys()]
  return [...findings].sort((a, b) => tags.indexOf(a.state) - tags.indexOf(b.state))
}

/** Edges by the call that declared them, in declaration order. */
const byDeclaration = (edges: ReadonlyArray<ObservedEdge>): ReadonlyArray<ReadonlyArray<ObservedEdge>> =>
  [...new Set(edges.map((edge) => edge.declaration))]
    .sort((a, b) => a - b)
    .map((declaration) => edges.filter((edge) => edge.declaration === declaration))

const distinct = (edges: ReadonlyArray<ObservedEdge>, key: "from" | "event"): ReadonlyArray<string> => [
  ...new Set(edges.map((edge) => edge[key])),
]
