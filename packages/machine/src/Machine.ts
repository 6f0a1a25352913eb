/**
 * A machine is one typed definition that decides, runs, is tested and drawn.
 *
 * ```ts
 * const Door = Machine.make({ name: "door", state: S, event: E, initial: S.Closed() })
 *   .on(S.Closed, E.Open, S.Opened)
 *   .on(S.Opened, E.Close, S.Closed)
 * const decision = Machine.decide(Door, S.Closed(), E.Open())
 * ```
 */
import type * as Duration from "effect/Duration"
import type * as Schedule from "effect/Schedule"
import { type Blueprint, complete, type StayBlueprint } from "./contract/Blueprint.ts"
import * as Decide from "./decide/Decide.ts"
import type { Beginning, Decision, NotBegun } from "./decision/Decision.ts"
import { isOwnEvent, type TimeoutEvent } from "./decision/Timeout.ts"
import { Builder } from "./define/Builder.ts"
import type { Compiled } from "./define/Compile.ts"
import { checkDuration, type Declarations, type Tagged } from "./define/Declarations.ts"
import type { Definition, Machine, SlotTypes } from "./define/Definition.ts"
import type { EffectHandlers, Effects, GuardHandlers, Guards } from "./effects/Slot.ts"
import { ActionFailed, InvalidEvent } from "./error/MachineError.ts"
import { DefinitionError } from "./schema/DefinitionError.ts"
import type { UntypedUnion } from "./schema/Union.ts"
import type { Source, UntypedVariant } from "./schema/Variant.ts"

export type { EventOf, EventsIn, InputOf, ServicesOf, StateOf, TargetOf, ValidTransition } from "./contract/MachineType.ts"
export type { Built, DecisionContext, Definition, HookContext, Machine, SlotTypes, WorkContext } from "./define/Definition.ts"

/** The slots passed to `make`. */
export interface SlotsOf<G, F, S, E> extends SlotTypes {
  readonly guards: Guards<G>["~calls"]
  readonly requests: Effects<F>["~requests"]
  readonly runs: Effects<F>["~runs"]
  readonly handlers: GuardHandlers<G, S, E> & EffectHandlers<F, S, E>
  readonly left: `guard ${keyof G & string}` | `effect ${keyof F & string}`
}

/** Begins a definition. */
export const make = <S extends Tagged, E extends Tagged, I = void, G = Record<never, never>, F = Record<never, never>>(options: {
  readonly name: string
  /** Increase it when stored instances need upcasters to be read. Default: 1. */
  readonly version?: number
  readonly state: { readonly Type: S }
  readonly event: { readonly Type: E }
  readonly guards?: Guards<G>
  readonly effects?: Effects<F>
  /** The first state, or a function that makes it from the input of a new instance. */
  readonly initial: NoInfer<S> | ((input: I) => NoInfer<S>)
  /** The states that `initial` may return, where it is a function: diagrams show where instances begin. */
  readonly initialState?: NoInfer<Source<S>> | ReadonlyArray<NoInfer<Source<S>>>
  /** How long an effectful decision, `enter` or `exit` may take. One that cannot be interrupted continues, and its result is ignored. */
  readonly processingTimeout?: Duration.Input
  /**
   * How often and how soon work that failed is restarted. Default: an actor in memory ends; a durable instance restarts it after 1, 2, 4
   * seconds and so on, at most a minute, for as long as the state lasts.
   */
  readonly supervision?: Schedule.Schedule<unknown, unknown>
}): Machine<S, E, SlotsOf<G, F, S, E>, never, never, I, never> => {
  const declarations: Declarations = {
    name: options.name,
    version: options.version ?? 1,
    state: options.state as unknown as UntypedUnion,
    event: options.event as unknown as UntypedUnion,
    initial: options.initial as Declarations["initial"],
    initialStates: options.initialState === undefined ? undefined : [options.initialState].flat().flatMap(({ tags }) => tags),
    guardSlots: (options.guards?.slots ?? {}) as Declarations["guardSlots"],
    effectSlots: (options.effects?.slots ?? {}) as Declarations["effectSlots"],
    handlers: undefined,
    processingTimeout: options.processingTimeout,
    supervision: options.supervision,
    transitions: new Map(),
    fallbacks: new Map(),
    timeouts: new Map(),
    always: [],
    hooks: [],
    works: [],
    backgrounds: [],
    finals: new Set(),
    persistence: undefined,
    count: 0,
  }
  checkMake(declarations)
  return new Builder(declarations) as never
}

/** A machine that was compiled from another notation. The caller has made the checks of `make` and the builder. */
export const fromDeclarations = (declarations: Declarations): Definition<unknown, unknown, never, unknown> =>
  new Builder(declarations) as never

const checkMake = ({ name, state, event, initial, initialStates, guardSlots, effectSlots, processingTimeout }: Declarations) => {
  const fail = (problem: string, nextStep: string) => {
    throw new DefinitionError({ machine: String(name), problem, nextStep })
  }
  if (typeof name !== "string" || name === "") fail("a machine needs a name", 'pass { name: "order", ... }')
  if (state?.$tags === undefined) fail("its states are missing", "make them with State({ ... })")
  if (event?.$tags === undefined) fail("its events are missing", "make them with Event({ ... })")
  if (typeof initial !== "function" && !state.$variants.has(initial?._tag)) {
    fail("its initial state is not one of its states", `use one of ${state.$tags.join(", ")}, or a function that returns one`)
  }
  const strange = initialStates?.filter((tag) => !state.$variants.has(tag)) ?? []
  if (strange.length > 0) fail(`its initial state ${strange.join(", ")} is not one of its states`, `use one of ${state.$tags.join(", ")}`)
  const problem = typeof initial === "function" ? undefined : (state.$variants.get(initial._tag) as UntypedVariant).check(initial)
  if (problem !== undefined) fail(`its initial state does not fit its schema: ${problem}`, "give it fields that do")
  const both = Object.keys(guardSlots).filter((slot) => Object.hasOwn(effectSlots, slot))
  if (processingTimeout !== undefined) checkDuration(name, "processingTimeout", processingTimeout)
  if (both.length > 0) fail(`${both.join(", ")} is both a guard and an effect`, "rename one of them")
}

/** A decision asks guards but only requests effects, so effect slots need no implementation. */
export type EffectSlotsLeft = `effect ${string}`

/**
 * Decides an event in a state. Runs no effect and never throws: refusals and failures are decisions too. `at` is
 * the time at which the event was accepted.
 */
export const decide: <S, E, I, R>(
  machine: Definition<S, E, I, R, EffectSlotsLeft>,
  state: NoInfer<S>,
  event: NoInfer<E> | TimeoutEvent,
  at?: number,
) => Decision<S, E | TimeoutEvent> = (machine, state, event, at = 0) =>
  Decide.decide(compiledOf(machine), state as Tagged, event as Tagged, at) as never

/** Decides again on an event that was accepted earlier: no hook and no guard runs, guards give `Taken.guardAnswers`. */
export const replay: <S, E, I, R>(
  machine: Definition<S, E, I, R, EffectSlotsLeft>,
  state: NoInfer<S>,
  event: NoInfer<E> | TimeoutEvent,
  at: number,
  guardAnswers?: ReadonlyArray<boolean>,
) => Decision<S, E | TimeoutEvent> = (machine, state, event, at, guardAnswers = []) =>
  Decide.replay(compiledOf(machine), state as Tagged, event as Tagged, at, { guardAnswers, inlineGuards: true }) as never

/** The first state of an instance, with the requests of entering it. `input` is the machine's input, or a state. */
export const begin: <S, E, I, R>(machine: Definition<S, E, I, R>, input: NoInfer<I | S>, at?: number) => Beginning<S, E> | NotBegun<S, E> =
  (machine, input, at = 0) => {
    const compiled = compiledOf(machine)
    return Decide.begin(compiled, initialState(compiled, input), at) as never
  }

/** The error of a value that is not an event of the machine; undefined where it is one. */
export const checkEvent = (machine: Definition<unknown, unknown, never, unknown, string>, event: unknown): InvalidEvent | undefined =>
  eventProblem(compiledOf(machine), event)

/** The history of one instance, as far as {@link observed} needs it. A `Trace` fits. */
export interface ObservedTrace {
  readonly initial: string
  readonly steps: ReadonlyArray<{
    readonly event: string
    readonly from: string
    readonly through: ReadonlyArray<string>
    readonly to: string
    readonly outcome: "Goto" | "Stay" | "Stop"
    readonly requests: ReadonlyArray<string>
  }>
}

/**
 * The machine's blueprint, completed from traces of instances: slots that a transition requested and the definition does not
 * declare are added to the transition, and the states in which instances began are marked as initial where none is declared.
 */
export const observed = ({ blueprint }: { readonly blueprint: Blueprint }, traces: ReadonlyArray<ObservedTrace>): Blueprint => {
  const stays = new Map(
    blueprint.states.map((state) => [state.tag, [state, ...staysAround(blueprint, state.group)] as ReadonlyArray<StayBlueprint>]),
  )
  return complete(blueprint, {
    initial: traces.map(({ initial }) => initial),
    hooks: [],
    transitions: traces.flatMap(({ steps }) =>
      steps.map(({ event, from, through, to, outcome, requests }) => {
        const left = outcome === "Stay" ? [] : [from, ...through]
        const entered = outcome === "Goto" ? [...through, to] : through
        const byHooks = new Set([
          ...left.flatMap((tag) => stays.get(tag)?.flatMap((stay) => stay.requestsOnExit) ?? []),
          ...entered.flatMap((tag) => stays.get(tag)?.flatMap((stay) => stay.requestsOnEnter) ?? []),
        ])
        return { from, event, guards: [], requests: requests.filter((slot) => !byHooks.has(slot)) }
      }),
    ),
  })
}

const staysAround = ({ stateGroups }: Pick<Blueprint, "stateGroups">, group: string | undefined): ReadonlyArray<StayBlueprint> => {
  const found = stateGroups.find(({ name }) => name === group)
  return found === undefined ? [] : [...(found.stay === undefined ? [] : [found.stay]), ...staysAround({ stateGroups }, found.parent)]
}

/** The tables behind a definition. */
export const compiledOf = (machine: unknown): Compiled => {
  const compiled = (machine as Builder | null | undefined)?.compiled
  if (compiled === undefined) throw new TypeError("a machine is expected: a value made with Machine.make")
  return compiled
}

export const initialState = (compiled: Compiled, input: unknown): Tagged => {
  const { initial } = compiled.declarations
  const isState = typeof input === "object" && input !== null && compiled.nodes.has((input as Tagged)._tag)
  if (isState) return input as Tagged
  if (typeof initial === "function") return initial(input)
  if (input === undefined || input === null) return initial
  throw new TypeError(`it begins in a state of its own: give it no input, or one of its states ${[...compiled.nodes.keys()].join(", ")}`)
}

/** How an instance begins with an input or a state. A function `initial` that throws refuses the beginning. */
export const firstState = (compiled: Compiled, input: unknown, at: number): Beginning<Tagged, Tagged> | NotBegun<Tagged, Tagged> => {
  try {
    return Decide.begin(compiled, initialState(compiled, input), at)
  } catch (cause) {
    const error = new ActionFailed({ machine: compiled.name, phase: "decide", state: "(start)", committed: false, cause })
    return { _tag: "Refused", from: { _tag: "(start)" }, event: { _tag: "@start" }, error }
  }
}

/** The tag of the default first state, as far as it is known without an input. */
export const firstTag = (machine: { readonly blueprint: Blueprint }): string => {
  const { states } = machine.blueprint
  const { startState } = compiledOf(machine as Parameters<typeof compiledOf>[0]).declarations
  return startState ?? (states.find(({ initial }) => initial) ?? states[0])?.tag ?? ""
}

/** `failure` where this state ends an instance as failed; undefined for every other state. */
export const finalOutcome = (machine: object, tag: string): "failure" | undefined =>
  compiledOf(machine as Parameters<typeof compiledOf>[0]).declarations.failures?.has(tag) === true ? "failure" : undefined

export const eventProblem = (compiled: Compiled, event: unknown): InvalidEvent | undefined => {
  const tag = (event as Tagged | undefined | null)?._tag
  const check = compiled.events.get(tag as string)
  if (check !== undefined) {
    const problem = check(event as object)
    return problem === undefined ? undefined : new InvalidEvent({ machine: compiled.name, event: String(tag), problem })
  }
  const label = typeof tag === "string" ? tag : typeof event === "object" ? "a value without _tag" : typeof event
  return new InvalidEvent({
    machine: compiled.name,
    event: label,
    problem: `the events are ${[...compiled.events.keys()].filter((tag) => !isOwnEvent(tag)).join(", ") || "none"}`,
  })
}
