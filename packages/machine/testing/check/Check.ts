/**
 * Proves properties of a machine: visits every situation that an instance can get into, with all events, timers, results of effects
 * and faults in every order, and shows the shortest way to one that breaks a property.
 *
 * ```ts
 * const report = check(Refund, {
 *   starts: [{ order: "o-1", amount: 250, currency: "EUR" }],
 *   events: ["Approve", "Reject"],
 *   properties: {
 *     "pays at most once": never(({ executed }) => (executed.pay ?? 0) > 1),
 *     "ends": alwaysEventually(({ status }) => status !== "running"),
 *   },
 * })
 * console.log(formatCheck(report))
 * ```
 *
 * Only decisions are made; no effect runs. `spawn`, `task` and `background` do not run: `work` says what they send.
 */

import type { EventOf, StateOf } from "../../src/contract/MachineType.ts"
import { begin } from "../../src/decide/Decide.ts"
import type { Compiled } from "../../src/define/Compile.ts"
import type { Tagged } from "../../src/define/Declarations.ts"
import { describe } from "../../src/error/MachineError.ts"
import { initialState } from "../../src/Machine.ts"
import { DefinitionError } from "../../src/schema/DefinitionError.ts"
import { GuardScript } from "../GuardScript.ts"
import { type AnyMachine, checkNames, declarationsOf, type GuardStubs, type Handlers, type StartOf, withHandlers } from "../Subject.ts"
import type { CheckReport, PropertyResult } from "./CheckReport.ts"
import { makeCounterexample } from "./Counterexample.ts"
import { Decisions } from "./Decisions.ts"
import { domainOf, type EffectResult, resultsOf } from "./Domain.ts"
import { findEndlessRun } from "./Liveness.ts"
import type { Condition, Property } from "./Property.ts"
import { Search, type WayStep } from "./Search.ts"
import { type Configuration, type Faults, givenUp, World } from "./World.ts"

/** The tags of a machine's events. */
type EventTag<M> = EventOf<M> extends infer E ? (E extends { readonly _tag: infer Tag extends string } ? Tag : never) : never

export interface CheckOptions<M> {
  readonly properties: { readonly [name: string]: Property<StateOf<M>> }
  /** Inputs or states to start from. Needed where the initial state is made from an input. */
  readonly starts?: ReadonlyArray<StartOf<M>>
  /**
   * Events that may be sent at any time and any number of times: events, or tags whose fields get a few values each. Default: all
   * tags. Leave out those that only results of effects send.
   */
  readonly events?: ReadonlyArray<EventOf<M> | EventTag<M>>
  /** Instead of `events`: each sender sends its events once, in order, and all of them are sent sooner or later. */
  readonly senders?: ReadonlyArray<ReadonlyArray<EventOf<M>>>
  /** Tags of events that arrive sooner or later where a state waits for them. `alwaysEventually` and `leadsTo` rely on them. */
  readonly awaited?: ReadonlyArray<EventTag<M>>
  /** The events that the work of a state may send: its `spawn` or `task`. One of them comes sooner or later, as long as the state lasts. */
  readonly work?: (state: StateOf<M>) => ReadonlyArray<EventOf<M>>
  /** Results of effect slots. Default: some values of the schemas, and that the command is given up. */
  readonly results?: { readonly [slot: string]: ReadonlyArray<EffectResult> }
  /** Answers of guard slots. Those that are neither given nor built are answered in both ways. */
  readonly guards?: GuardStubs<M>
  /** Faults that are left out. Default: all occur. */
  readonly faults?: Partial<Faults>
  /** How many situations are visited at most. Default: 1,000,000. */
  readonly limit?: number
  /** The time of all decisions, in milliseconds since 1970. Default: 0. */
  readonly at?: number
}

const allFaults: Faults = { crashes: true, repeatedEffects: true, reorderedEvents: true, timerRaces: true }

/** The properties that every machine must have. */
const noFailure = "no decision fails"
const noDeadEnd = "a state that is not final can be left"

/** Checks a machine. The report is the same for the same machine and options. */
export const check = <M extends AnyMachine>(machine: M, options: CheckOptions<M>): CheckReport => {
  checkOptions(machine, options)
  // A refusal is an error. Its stack is not shown, and costs more than the decision.
  const errors = Error as { stackTraceLimit?: number }
  const { stackTraceLimit = 10 } = errors
  errors.stackTraceLimit = 0
  try {
    return run(machine, options)
  } finally {
    errors.stackTraceLimit = stackTraceLimit
  }
}

const run = <M extends AnyMachine>(machine: M, options: CheckOptions<M>): CheckReport => {
  const { compiled, script } = answered(machine, options.guards)
  const domain = domainFor(machine, compiled, options.events)
  const decisions = new Decisions(compiled, script, domain.events, options.at ?? 0)
  const world = new World(decisions, {
    faults: { ...allFaults, ...options.faults },
    senders: options.senders as ReadonlyArray<ReadonlyArray<Tagged>> | undefined,
    awaited: new Set(options.awaited ?? []),
    work: options.work as ((state: Tagged) => ReadonlyArray<Tagged>) | undefined,
    results: resultsFor(compiled, options.results),
  })
  const properties = Object.entries(options.properties) as ReadonlyArray<readonly [string, Property<unknown>]>
  const isLive = properties.some(([, { kind }]) => kind === "leadsTo")
  const search = new Search(world, options.limit ?? 1_000_000, isLive)
  const proof = new Proof(machine, world, search, properties)
  search.run(startsFor(machine, compiled, world, options), (configuration, number) => proof.visit(configuration, number))
  return {
    machine: machine.name,
    version: machine.version,
    properties: proof.results(options.senders === undefined),
    situations: search.configurations.length,
    steps: search.steps,
    decisions: decisions.made,
    notes: [
      ...(options.senders === undefined ? domain.notes : []),
      ...world.notes,
      ...(search.isCutOff
        ? [`everything beyond ${search.configurations.length} situations; pass a higher { limit }, or fewer events`]
        : []),
    ],
  }
}

/** The machine with answers for all guard slots. Those of the script are given in both ways; without one, every slot is implemented. */
const answered = (machine: AnyMachine, stubs: object | undefined) => {
  const { guardSlots, handlers } = declarationsOf(machine)
  const names = Object.keys(guardSlots)
  checkNames(machine, stubs, names, "guard")
  const open = names.filter((name) => handlers?.[name] === undefined && !(name in (stubs ?? {})))
  const script = open.length === 0 ? undefined : new GuardScript()
  const scripted = Object.fromEntries(open.map((name) => [name, () => script?.answer() === true]))
  return { compiled: withHandlers(machine, { ...scripted, ...(stubs as Handlers | undefined) }).compiled, script }
}

/** Judges the situations while they are visited, and the runs through them afterwards. */
class Proof {
  readonly #machine: AnyMachine
  readonly #world: World
  readonly #search: Search
  readonly #properties: ReadonlyArray<readonly [string, Property<unknown>]>
  readonly #nevers: number
  /** The first bad situation of each `never`. */
  readonly #bad = new Map<string, number>()

  constructor(machine: AnyMachine, world: World, search: Search, properties: ReadonlyArray<readonly [string, Property<unknown>]>) {
    this.#machine = machine
    this.#world = world
    this.#search = search
    this.#properties = properties
    this.#nevers = properties.filter(([, { kind }]) => kind === "never").length
  }

  visit(configuration: Configuration, number: number) {
    if (this.#bad.size === this.#nevers) return
    const situation = this.#world.situation(configuration)
    for (const [name, property] of this.#properties) {
      if (property.kind !== "never" || this.#bad.has(name)) continue
      if (property.bad(situation)) this.#bad.set(name, number)
    }
  }

  results(anyEvents: boolean): ReadonlyArray<PropertyResult> {
    const { failure, stuck } = this.#search
    const failed =
      failure === undefined
        ? this.#judge(noFailure, undefined)
        : this.#violated(noFailure, failure.from, [this.#search.stepOf(failure.from, failure.step)], [], failure.problem)
    const deadEnd =
      stuck === undefined || !anyEvents
        ? this.#judge(noDeadEnd, undefined)
        : this.#violated(noDeadEnd, stuck, [], [], "no event, timer or result of an effect leads out of this state")
    return [failed, deadEnd, ...this.#properties.map(([name, property]) => this.#resultOf(name, property))]
  }

  #resultOf(name: string, property: Property<unknown>): PropertyResult {
    if (property.kind === "never") {
      const bad = this.#bad.get(name)
      return bad === undefined ? this.#judge(name, undefined) : this.#violated(name, bad, [], [], "this must never be")
    }
    const { configurations } = this.#search
    const isGoal = this.#marked(property.goal)
    const isCause = property.cause === undefined ? new Uint8Array(configurations.length).fill(1) : this.#marked(property.cause)
    const run = findEndlessRun(this.#search, isGoal, isCause)
    if (run === undefined) return this.#judge(name, undefined)
    const way = pairs(run.way).map(([from, to]) => this.#search.stepBetween(from, to))
    const circle =
      run.loop.length === 0 ? [] : pairs([...run.loop, run.loop[0] as number]).map(([from, to]) => this.#search.stepBetween(from, to))
    const problem =
      circle.length === 0 ? "nothing has to happen any more, and the goal has not come" : "this repeats for ever, and the goal never comes"
    return this.#violated(name, run.way[0] as number, way, circle, problem)
  }

  #marked(condition: Condition<unknown>): Uint8Array {
    return Uint8Array.from(this.#search.configurations, (configuration) => (condition(this.#world.situation(configuration)) ? 1 : 0))
  }

  #judge(name: string, counterexample: undefined): PropertyResult {
    return { name, verdict: this.#search.isCutOff ? "undecided" : "holds", counterexample }
  }

  #violated(name: string, at: number, more: ReadonlyArray<WayStep>, loop: ReadonlyArray<WayStep>, problem: string): PropertyResult {
    const steps = [...this.#search.wayTo(at), ...more]
    const way = { start: this.#search.rootOf(at), steps, loop, problem, property: name }
    return { name, verdict: "violated", counterexample: makeCounterexample(this.#machine, this.#world.decisions, way) }
  }
}

const pairs = (numbers: ReadonlyArray<number>): ReadonlyArray<readonly [number, number]> =>
  numbers.slice(1).map((to, index) => [numbers[index] as number, to] as const)

const domainFor = (machine: AnyMachine, compiled: Compiled, given: ReadonlyArray<unknown> | undefined) => {
  const all = domainOf(compiled, given === undefined ? undefined : new Set(given.filter((one) => typeof one === "string")))
  const events = (given ?? []).filter((one) => typeof one !== "string") as ReadonlyArray<Tagged>
  for (const { _tag } of events) {
    if (compiled.events.has(_tag)) continue
    throw new DefinitionError({
      machine: machine.name,
      problem: `${String(_tag)} is no event of it`,
      nextStep: `the events are ${[...compiled.events.keys()].join(", ")}`,
    })
  }
  return { events: [...events, ...all.events], notes: all.notes }
}

/** The results of a slot, made when it is first requested: slots that only work calls are never asked for. */
const resultsFor = (compiled: Compiled, given: CheckOptions<unknown>["results"]) => {
  const made = new Map<string, ReadonlyArray<EffectResult>>()
  return (slot: string): ReadonlyArray<EffectResult> => {
    const results = given?.[slot] ?? made.get(slot) ?? generated(compiled, slot)
    made.set(slot, results)
    return results
  }
}

const generated = ({ name, declarations }: Compiled, slot: string): ReadonlyArray<EffectResult> => {
  try {
    return [...resultsOf(declarations.effectSlots[slot], slot), givenUp(slot)]
  } catch (cause) {
    const problem = `no results of ${slot} can be made from its schemas: ${describe(cause)}`
    throw new DefinitionError({ machine: name, problem, nextStep: `pass { results: { ${slot}: [{ value: ... }] } }` })
  }
}

const startsFor = <M extends AnyMachine>(
  machine: M,
  compiled: Compiled,
  world: World,
  { starts, at = 0 }: CheckOptions<M>,
): ReadonlyArray<Configuration> =>
  (starts ?? defaultStarts(machine, compiled)).map((start) => {
    const begun = begin(compiled, firstOf(machine, compiled, start), at)
    if (begun._tag === "Refused") {
      throw new DefinitionError({ machine: machine.name, problem: begun.error.message, nextStep: "pass { starts } that it can begin with" })
    }
    return world.start(world.decisions.beginning(begun))
  })

const firstOf = (machine: AnyMachine, compiled: Compiled, start: unknown): Tagged => {
  try {
    return initialState(compiled, start)
  } catch (cause) {
    throw new DefinitionError({
      machine: machine.name,
      problem: `initial failed: ${describe(cause)}`,
      nextStep: "pass { starts } that it accepts",
    })
  }
}

/** The constant first state, or a few values of the state that the input makes. */
const defaultStarts = (machine: AnyMachine, compiled: Compiled): ReadonlyArray<unknown> => {
  const { initial } = compiled.declarations
  if (typeof initial !== "function") return [undefined]
  throw new DefinitionError({
    machine: machine.name,
    problem: "its first state is made from an input, and no inputs are given",
    nextStep: "pass { starts: [input] }",
  })
}

const checkOptions = <M extends AnyMachine>(machine: M, options: CheckOptions<M>) => {
  const events = machine.blueprint.events.map(({ tag }) => tag)
  const tags = [...(options.awaited ?? []), ...(options.events ?? []).filter((one) => typeof one === "string")] as ReadonlyArray<string>
  refuseUnknown(machine, tags, events, "event")
  refuseUnknown(machine, Object.keys(options.results ?? {}), machine.blueprint.effects, "effect slot")
}

const refuseUnknown = (machine: AnyMachine, given: ReadonlyArray<string>, known: ReadonlyArray<string>, kind: string) => {
  const unknown = given.filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  throw new DefinitionError({
    machine: machine.name,
    problem: `${unknown.join(", ")} is no ${kind} of it`,
    nextStep: `its ${kind}s are ${known.join(", ") || "none"}`,
  })
}
