/**
 * The run-time side of a definition: each method checks what it is given and returns a new builder. What the
 * compiler refuses is refused here too, for callers in plain JavaScript.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type { Blueprint } from "./Blueprint.ts"
import type { UntypedCommandSettings } from "./CommandSettings.ts"
import { type Compiled, compile } from "./Compile.ts"
import {
  type AlwaysDeclaration,
  type Declarations,
  type HookFunction,
  type Place,
  type Predicate,
  pairKey,
  type Tagged,
  type TargetDeclaration,
  type TransitionDeclaration,
  type Work,
  type WorkDeclaration,
} from "./Declarations.ts"
import { draft } from "./Draft.ts"
import { DefinitionError } from "./MachineError.ts"
import type { Persistence } from "./Persistence.ts"

interface Named {
  readonly tag: string
  readonly tags?: ReadonlyArray<string>
  readonly reason?: string
}

type OneOrMany = Named | ReadonlyArray<Named>

interface Options {
  readonly override?: boolean
  readonly guard?: Predicate
  readonly guardName?: string
  readonly description?: string
  readonly name?: string
  readonly idle?: boolean
}

type Decide = (context: unknown) => unknown

/** How a builder method is called when the decision may be left out. */
type DecideOrOptions = Decide | Options | undefined

export class Builder {
  readonly declarations: Declarations
  #compiled: Compiled | undefined
  #blueprint: Blueprint | undefined

  constructor(declarations: Declarations) {
    this.declarations = declarations
  }

  get name(): string {
    return this.declarations.name
  }

  get version(): number {
    return this.declarations.version
  }

  get blueprint(): Blueprint {
    this.#blueprint ??= this.declarations.blueprint?.() ?? draft(this.declarations)
    return this.#blueprint
  }

  /** The tables that decisions are looked up in; made on first use. */
  get compiled(): Compiled {
    this.#compiled ??= compile(this.declarations)
    return this.#compiled
  }

  on(from: OneOrMany, event: OneOrMany, to: OneOrMany, third?: DecideOrOptions, fourth?: Options): Builder {
    const [decide, options] = splitArguments(third, fourth)
    return this.#transition("on", from, event, this.#targets(to), decide, options, placeOf(this.on))
  }

  reenter(from: OneOrMany, event: OneOrMany, third?: DecideOrOptions, fourth?: Options): Builder {
    const [decide, options] = splitArguments(third, fourth)
    return this.#transition("reenter", from, event, [], decide, options, placeOf(this.reenter))
  }

  postpone(from: OneOrMany, event: OneOrMany): Builder {
    return this.#transition("postpone", from, event, [], undefined, {}, placeOf(this.postpone))
  }

  onAny(event: OneOrMany, to: OneOrMany, third?: DecideOrOptions, fourth?: Options): Builder {
    const [decide, options] = splitArguments(third, fourth)
    const place = placeOf(this.onAny)
    const targets = this.#targets(to)
    const fallbacks = new Map(this.declarations.fallbacks)
    for (const tag of this.#events(event)) {
      this.#checkNew(fallbacks, tag, `any state × ${tag}`, options, place)
      fallbacks.delete(tag)
      fallbacks.set(tag, this.#declare("on", "*", tag, targets, decide, options, place))
    }
    return this.#with({ fallbacks })
  }

  always(from: OneOrMany, guard: Predicate, to: OneOrMany, decide?: Decide): Builder {
    if (typeof guard !== "function") this.#fail("an automatic transition has no guard", "pass a function that says when it is taken")
    const targets = this.#targets(to)
    const place = placeOf(this.always)
    const added = this.#states(from).map((tag): AlwaysDeclaration => {
      this.#checkNotFinal(tag)
      return { from: tag, guard, targets, decide, order: this.declarations.count, place }
    })
    return this.#with({ always: [...this.declarations.always, ...added] })
  }

  timeout(
    from: OneOrMany,
    after: Duration.Input | ((state: Tagged) => Duration.Input),
    to: OneOrMany,
    third?: DecideOrOptions,
    fourth?: Options,
  ): Builder {
    const [decide, options] = splitArguments(third, fourth)
    const place = placeOf(this.timeout)
    const name = options.name ?? "timeout"
    if (typeof after !== "function" && Option.isNone(Duration.fromInput(after))) {
      this.#fail(`${JSON.stringify(after)} is no duration`, 'write it like "30 minutes" or in milliseconds')
    }
    const targets = this.#targets(to)
    const timeouts = new Map(this.declarations.timeouts)
    for (const tag of this.#states(from)) {
      this.#checkNotFinal(tag)
      const key = `${tag} × (${name})`
      this.#checkNew(
        timeouts,
        key,
        key,
        options,
        place,
        'give one of them a name of its own with { name: "..." }, or replace the first with { override: true }',
      )
      timeouts.delete(key)
      timeouts.set(key, { from: tag, name, idle: options.idle === true, after, targets, decide, order: this.declarations.count, place })
    }
    return this.#with({ timeouts })
  }

  enter(state: OneOrMany, hook: HookFunction): Builder {
    return this.#hook("enter", state, hook)
  }

  exit(state: OneOrMany, hook: HookFunction): Builder {
    return this.#hook("exit", state, hook)
  }

  spawn(state: OneOrMany, work: Work): Builder {
    return this.#work(state, work, undefined)
  }

  task(state: OneOrMany, work: Work, outcomes: NonNullable<WorkDeclaration["outcomes"]>): Builder {
    return this.#work(state, work, outcomes)
  }

  background(work: Work): Builder {
    return this.#with({ backgrounds: [...this.declarations.backgrounds, work] })
  }

  final(...states: ReadonlyArray<Named>): Builder {
    const finals = new Set(this.declarations.finals)
    for (const tag of this.#states(states)) {
      const outgoing = [
        ...[...this.declarations.transitions.values(), ...this.declarations.timeouts.values(), ...this.declarations.always].filter(
          (one) => one.from === tag,
        ),
      ]
      if (outgoing.length > 0) {
        this.#fail(`${tag} is declared final but has a transition${at(outgoing[0]?.place)}`, "remove the transition or the final mark")
      }
      finals.add(tag)
    }
    return this.#with({ finals })
  }

  total(): Builder {
    const { transitions, fallbacks, event } = this.declarations
    const handled = new Set([...transitions.values(), ...fallbacks.values()].map((one) => one.event))
    const unhandled = event.$tags.filter((tag) => !handled.has(tag))
    if (unhandled.length > 0) this.#fail(`no state handles ${unhandled.join(", ")}`, "add a transition or remove the event")
    return this
  }

  persist(persistence: Persistence<string>): Builder {
    return this.#with({ persistence })
  }

  commands(settings: UntypedCommandSettings): Builder {
    const slots = Object.keys(this.declarations.effectSlots)
    const unknown = Object.keys(settings).filter((name) => !slots.includes(name))
    if (unknown.length > 0)
      this.#fail(`commands names ${unknown.join(", ")}, for which there is no effect slot`, `the slots are ${slots.join(", ") || "none"}`)
    return this.#with({ commands: { ...this.declarations.commands, ...settings } })
  }

  build(handlers: NonNullable<Declarations["handlers"]>): Builder {
    const { guardSlots, effectSlots } = this.declarations
    const slots = [...Object.keys(guardSlots), ...Object.keys(effectSlots)]
    const left = slots.filter((name) => !Object.hasOwn(handlers, name) || typeof handlers[name] !== "function")
    if (left.length > 0) this.#fail(`build leaves out ${left.join(", ")}`, "pass a function for each slot")
    const unknown = Object.keys(handlers).filter((name) => !slots.includes(name))
    if (unknown.length > 0)
      this.#fail(`build names ${unknown.join(", ")}, for which there is no slot`, `the slots are ${slots.join(", ") || "none"}`)
    return this.#with({ handlers })
  }

  #transition(
    kind: TransitionDeclaration["kind"],
    from: OneOrMany,
    event: OneOrMany,
    targets: ReadonlyArray<TargetDeclaration>,
    decide: Decide | undefined,
    options: Options,
    place: Place,
  ): Builder {
    const transitions = new Map(this.declarations.transitions)
    for (const state of this.#states(from)) {
      this.#checkNotFinal(state)
      for (const tag of this.#events(event)) {
        const key = pairKey(state, tag)
        this.#checkNew(transitions, key, `${state} × ${tag}`, options, place)
        transitions.delete(key)
        const reached = kind === "reenter" ? [{ tag: state, reason: undefined }] : targets
        transitions.set(key, this.#declare(kind, state, tag, reached, decide, options, place))
      }
    }
    return this.#with({ transitions })
  }

  #declare(
    kind: TransitionDeclaration["kind"],
    from: string,
    event: string,
    targets: ReadonlyArray<TargetDeclaration>,
    decide: Decide | undefined,
    options: Options,
    place: Place,
  ): TransitionDeclaration {
    if (kind !== "postpone") this.#checkDecidable(from, event, targets, decide)
    const { guard, guardName, description } = options
    return { kind, from, event, targets, decide, guard, guardName, description, order: this.declarations.count, place }
  }

  #checkDecidable(from: string, event: string, targets: ReadonlyArray<TargetDeclaration>, decide: Decide | undefined) {
    const variant = this.declarations.event.$variants.get(event)
    if (decide === undefined && targets.length !== 1) {
      this.#fail(`${from} × ${event} has ${targets.length} targets and no decision`, "pass a function that chooses one of them")
    }
    if (decide === undefined) this.#checkCarried(from, event, targets[0]?.tag)
    if (decide === undefined && variant?.reply !== undefined) {
      this.#fail(`${from} × ${event} does not answer, but ${event} wants a reply`, "pass a decision that returns reply(...)")
    }
  }

  /** What the compiler checks by type is checked here by name, for callers in plain JavaScript. */
  #checkCarried(from: string, event: string, target: string | undefined) {
    const { $variants } = this.declarations.state
    const fields = $variants.get(target ?? "")?.fields
    if (fields === undefined) return
    const sources = from === "*" ? [...$variants.values()].filter(({ tag }) => !this.declarations.finals.has(tag)) : [$variants.get(from)]
    const given = this.declarations.event.$variants.get(event)?.fields ?? {}
    for (const source of sources) {
      const missing = Object.entries(fields)
        .filter(([name, schema]) => !isOptional(schema) && !Object.hasOwn(given, name) && !Object.hasOwn(source?.fields ?? {}, name))
        .map(([name]) => name)
      if (missing.length > 0) {
        this.#fail(
          `${source?.tag} × ${event} → ${target}: nothing gives ${missing.join(", ")}`,
          "pass a decision that makes the target, or let the event carry the fields",
        )
      }
    }
  }

  #checkNew(
    declared: ReadonlyMap<string, { readonly place: Place }>,
    key: string,
    label: string,
    options: Options,
    place: Place,
    nextStep = "remove one, or pass { override: true } to the second",
  ) {
    checkOptions(options, (problem, nextStep) => this.#fail(problem, nextStep))
    const earlier = declared.get(key)
    if (options.override === true && earlier === undefined)
      this.#fail(`${label} overrides nothing${at(place)}`, "remove { override: true }")
    if (options.override !== true && earlier !== undefined) {
      this.#fail(`${label} is declared twice: first${at(earlier.place)}, again${at(place)}`, nextStep)
    }
  }

  #checkNotFinal(tag: string) {
    if (this.declarations.finals.has(tag))
      this.#fail(`${tag} is final and cannot have a transition`, "remove the transition or the final mark")
  }

  #hook(phase: "enter" | "exit", state: OneOrMany, hook: HookFunction): Builder {
    const added = this.#states(state).map((tag) => ({ phase, state: tag, hook }))
    return this.#with({ hooks: [...this.declarations.hooks, ...added] })
  }

  #work(state: OneOrMany, work: Work, outcomes: WorkDeclaration["outcomes"]): Builder {
    const added = this.#states(state).map((tag) => ({ state: tag, work, outcomes }))
    return this.#with({ works: [...this.declarations.works, ...added] })
  }

  #states(from: OneOrMany): ReadonlyArray<string> {
    return this.#tags(from, this.declarations.state.$variants, "state")
  }

  #events(event: OneOrMany): ReadonlyArray<string> {
    return this.#tags(event, this.declarations.event.$variants, "event")
  }

  #tags(given: OneOrMany, known: ReadonlyMap<string, unknown>, kind: string): ReadonlyArray<string> {
    const refuse = (what: unknown) =>
      this.#fail(
        `${String(what)} is no ${kind} of this machine`,
        `pass one of the union, such as S.Name; the ${kind}s are ${[...known.keys()].join(", ")}`,
      )
    const tags = list(given).flatMap((one) => one?.tags ?? refuse(one))
    for (const tag of tags) {
      if (!known.has(tag)) refuse(tag)
    }
    return [...new Set(tags)]
  }

  #targets(to: OneOrMany): ReadonlyArray<TargetDeclaration> {
    const targets = list(to).map((one) => ({ tag: one?.tag, reason: one?.reason }))
    for (const [index, { tag }] of targets.entries()) {
      const given = list(to)[index] as (Named & { readonly group?: string }) | undefined
      if (given?.group !== undefined) {
        this.#fail(`${given.group} is a group, and no instance is in a group itself`, `name one of its states: ${given.tags?.join(", ")}`)
      }
      const known = tag === "(stay)" || tag === "(stop)" || this.declarations.state.$variants.has(tag)
      if (!known)
        this.#fail(
          `the target ${String(tag ?? given)} is no state of this machine`,
          `the states are ${this.declarations.state.$tags.join(", ")}`,
        )
    }
    return targets
  }

  #with(changed: Partial<Declarations>): Builder {
    return new Builder({ ...this.declarations, ...changed, count: this.declarations.count + 1 })
  }

  #fail(problem: string, nextStep: string): never {
    throw new DefinitionError({ machine: this.declarations.name, problem, nextStep })
  }
}

const isOptional = (schema: Schema.Constraint): boolean => schema.ast.context?.isOptional === true

const list = (given: OneOrMany): ReadonlyArray<Named> => (Array.isArray(given) ? (given as ReadonlyArray<Named>) : [given as Named])

const splitArguments = (third: DecideOrOptions, fourth: Options | undefined): [Decide | undefined, Options] =>
  typeof third === "function" ? [third, fourth ?? {}] : [undefined, third ?? fourth ?? {}]

const knownOptions = new Set(["override", "guard", "guardName", "description", "name", "idle"])

/** A misspelt option would be ignored in silence. */
const checkOptions = (options: Options, fail: (problem: string, nextStep: string) => never) => {
  const unknown = Object.keys(options).filter((name) => !knownOptions.has(name))
  if (unknown.length > 0) fail(`${unknown.join(", ")} is no option of a transition`, `the options are ${[...knownOptions].join(", ")}`)
}

const placeOf = (method: (...args: never) => unknown): Place => {
  const place: Place = {}
  // Only V8 offers this; elsewhere the message names the pair without its line.
  ;(Error as { captureStackTrace?: (target: object, above: unknown) => void }).captureStackTrace?.(place, method)
  return place
}

const at = (place: Place | undefined): string => {
  const frame = place?.stack?.split("\n")[1]?.match(/([^\s()/\\]+:\d+:\d+)\)?$/)?.[1]
  return frame === undefined ? "" : ` at ${frame}`
}
