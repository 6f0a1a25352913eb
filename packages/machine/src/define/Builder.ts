/**
 * The run-time side of a definition: each method checks its arguments and returns a new builder. It refuses everything that the
 * compiler refuses, for callers in plain JavaScript.
 */
import type { Blueprint } from "../contract/Blueprint.ts"
import { endsAtDate, type TimeoutEnd } from "../decision/Timeout.ts"
import type { UntypedCommandSettings } from "../effects/Command.ts"
import { type Compiled, compile } from "./Compile.ts"
import {
  type AlwaysDeclaration,
  at,
  checkDecidable,
  checkDuration,
  checkNew,
  checkNotFinal,
  checkOptions,
  checkTimerName,
  type Decide,
  type Declarations,
  fail,
  type HookFunction,
  isQuestion,
  leavesOf,
  type Options,
  type Persistence,
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
import { declareIndexes, type ReadIndexed } from "./Indexes.ts"

/** A variant, a group, `stay` or `stop`. */
interface Named {
  readonly tag: string
  readonly tags?: ReadonlyArray<string>
  /** The name of a group. */
  readonly group?: string
  /** The state at which a group is entered. */
  readonly "~initial"?: { readonly tag: string } | false
  /** Set for `history` alone. */
  readonly deep?: boolean
  readonly reason?: string
}

type OneOrMany = Named | ReadonlyArray<Named>

/** The third argument of a method whose decision is optional. */
type DecideOrOptions = Decide | Options | undefined

const list = (given: OneOrMany): ReadonlyArray<Named> => (Array.isArray(given) ? (given as ReadonlyArray<Named>) : [given as Named])

const splitArguments = (third: DecideOrOptions, fourth: Options | undefined): [Decide | undefined, Options] =>
  typeof third === "function" ? [third, fourth ?? {}] : [undefined, third ?? fourth ?? {}]

interface FinalOptions {
  readonly outcome: string
}

/** States are functions or groups, which have tags. */
const isFinalOptions = (given: OneOrMany | FinalOptions | undefined): given is FinalOptions =>
  typeof given === "object" && given !== null && !Array.isArray(given) && !("tags" in given)

const placeOf = (method: (...args: never) => unknown): Place => {
  const place: Place = {}
  // Only V8 has captureStackTrace; on other engines error messages name no line.
  ;(Error as { captureStackTrace?: (target: object, above: unknown) => void }).captureStackTrace?.(place, method)
  return place
}

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
    return this.#transition("on", from, event, this.#targets(to, decide), decide, options, placeOf(this.on))
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
    checkOptions(this.declarations, "transition of any state", options)
    const targets = this.#targets(to, decide)
    const fallbacks = new Map(this.declarations.fallbacks)
    for (const tag of this.#events(event)) {
      checkNew(this.declarations, { label: `any state × ${tag}`, earlier: fallbacks.get(tag), options, place })
      fallbacks.delete(tag)
      fallbacks.set(tag, this.#declare("on", "*", tag, targets, decide, options, place))
    }
    return this.#with({ fallbacks })
  }

  always(from: OneOrMany, guard: Predicate, to: OneOrMany, fourth?: DecideOrOptions, fifth?: Options): Builder {
    const [decide, options] = splitArguments(fourth, fifth)
    checkOptions(this.declarations, "automatic transition", options)
    if (typeof guard !== "function") this.#fail("an automatic transition has no guard", "pass a function that says when it is taken")
    const targets = this.#targets(to, decide)
    const place = placeOf(this.always)
    const added = this.#states(from).map((tag): AlwaysDeclaration => {
      checkNotFinal(this.declarations, tag)
      return { ...options, from: tag, guard, targets, decide, order: this.declarations.count, place }
    })
    return this.#with({ always: [...this.declarations.always, ...added] })
  }

  timeout(from: OneOrMany, after: TimeoutEnd<Tagged>, to: OneOrMany, third?: DecideOrOptions, fourth?: Options): Builder {
    const [decide, options] = splitArguments(third, fourth)
    checkOptions(this.declarations, "timeout", options)
    const place = placeOf(this.timeout)
    const name = options.name ?? "timeout"
    if (!endsAtDate(after) && typeof after !== "function") checkDuration(this.name, `timeout ${name}`, after)
    if (endsAtDate(after) && options.idle === true)
      fail(this.declarations, `timeout ${name} ends at a date and is idle`, "leave out idle: the deadline follows the date of the state")
    const targets = this.#targets(to, decide)
    const timeouts = new Map(this.declarations.timeouts)
    for (const tag of this.#owners(from, options)) {
      for (const leaf of leavesOf(this.declarations, tag)) checkNotFinal(this.declarations, leaf)
      checkTimerName(this.declarations, timeouts, tag, name, place)
      const key = `${tag} × (${name})`
      const nextStep = 'give one of them a name of its own with { name: "..." }, or replace the first with { override: true }'
      checkNew(this.declarations, { label: key, earlier: timeouts.get(key), options, place, nextStep })
      timeouts.delete(key)
      const { idle = false, description, guards, requests } = options
      const order = this.declarations.count
      timeouts.set(key, { from: tag, name, idle, after, targets, decide, description, guards, requests, order, place })
    }
    return this.#with({ timeouts })
  }

  enter(state: OneOrMany, hook: HookFunction, options: Options = {}): Builder {
    return this.#hook("enter", state, hook, options)
  }

  exit(state: OneOrMany, hook: HookFunction, options: Options = {}): Builder {
    return this.#hook("exit", state, hook, options)
  }

  spawn(state: OneOrMany, work: Work, options: Options = {}): Builder {
    return this.#work(state, work, undefined, options)
  }

  task(state: OneOrMany, work: Work, outcomes: NonNullable<WorkDeclaration["outcomes"]>, options: Options = {}): Builder {
    return this.#work(state, work, outcomes, options)
  }

  done(group: Named, states: OneOrMany, event: Tagged | ((context: unknown) => Tagged)): Builder {
    const name = group?.group ?? this.#fail(`${String(group?.tag)} is not a group`, "pass a group, such as S.Reviewing")
    const inside = this.#states(group)
    const raised = typeof event === "function" ? event : () => event
    const added = this.#states(states).map((state) => {
      if (!inside.includes(state)) this.#fail(`${state} is not a state of ${name}`, `its states are ${inside.join(", ")}`)
      checkNotFinal(this.declarations, state)
      return { group: name, state, event: raised }
    })
    return this.#with({ dones: [...(this.declarations.dones ?? []), ...added] })
  }

  meta(states: OneOrMany, given: { readonly tags?: ReadonlyArray<string>; readonly description?: string }): Builder {
    const unknown = Object.keys(given).filter((name) => name !== "tags" && name !== "description")
    if (unknown.length > 0) this.#fail(`${unknown.join(", ")} is not an option of meta`, "its options are tags and description")
    const metas = new Map(this.declarations.metas)
    for (const name of this.#owners(states, {})) {
      const before = metas.get(name)
      const tags = [...new Set([...(before?.tags ?? []), ...(given.tags ?? [])])]
      metas.set(name, { tags, description: given.description ?? before?.description })
    }
    return this.#with({ metas })
  }

  background(work: Work): Builder {
    return this.#with({ backgrounds: [...this.declarations.backgrounds, work] })
  }

  final(...given: ReadonlyArray<OneOrMany | FinalOptions>): Builder {
    const last = given.at(-1)
    const options = isFinalOptions(last) ? last : undefined
    const states = (options === undefined ? given : given.slice(0, -1)) as ReadonlyArray<OneOrMany>
    if (options !== undefined && (Object.keys(options).length !== 1 || options.outcome !== "failure"))
      this.#fail("a final state has unknown options", 'the only one is { outcome: "failure" }')
    const finals = new Set(this.declarations.finals)
    const failures = new Set(this.declarations.failures)
    for (const tag of this.#states(states.flatMap(list))) {
      const outgoing = [
        ...[...this.declarations.transitions.values()].filter((one) => one.from === tag && !isQuestion(this.declarations, one.event, one)),
        ...[...this.declarations.timeouts.values(), ...this.declarations.always].filter((one) =>
          leavesOf(this.declarations, one.from).includes(tag),
        ),
      ]
      if (outgoing.length > 0) {
        this.#fail(`${tag} is declared final but has a transition${at(outgoing[0]?.place)}`, "remove the transition or the final mark")
      }
      finals.add(tag)
      if (options !== undefined) failures.add(tag)
    }
    return this.#with({ finals, failures })
  }

  total(): Builder {
    const { transitions, fallbacks, event } = this.declarations
    const handled = new Set([...transitions.values(), ...fallbacks.values()].map((one) => one.event))
    const unhandled = event.$tags.filter((tag) => !handled.has(tag))
    if (unhandled.length > 0) this.#fail(`no state handles ${unhandled.join(", ")}`, "add a transition or remove the event")
    return this
  }

  persist(persistence: Persistence<string>): Builder {
    if (persistence.snapshot?._tag === "Interval") checkDuration(this.name, "the snapshot interval", persistence.snapshot.every)
    if (persistence.retention !== undefined) checkDuration(this.name, "the retention", persistence.retention)
    return this.#with({ persistence })
  }

  index(fields: Readonly<Record<string, ReadIndexed>>): Builder {
    return this.#with({ indexes: declareIndexes(this.declarations, fields) })
  }

  commands(settings: UntypedCommandSettings): Builder {
    const slots = Object.keys(this.declarations.effectSlots)
    const unknown = Object.keys(settings).filter((name) => !slots.includes(name))
    if (unknown.length > 0)
      this.#fail(`commands names ${unknown.join(", ")}, for which there is no effect slot`, `the slots are ${slots.join(", ") || "none"}`)
    for (const [slot, one] of Object.entries(settings)) {
      if (one?.timeout !== undefined) checkDuration(this.name, `the time-out of ${slot}`, one.timeout)
    }
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
    checkOptions(this.declarations, "transition", options)
    const transitions = new Map(this.declarations.transitions)
    for (const [state, group] of this.#sources(from)) {
      for (const tag of this.#events(event)) {
        if (!isQuestion(this.declarations, tag, { kind, targets })) checkNotFinal(this.declarations, state)
        const key = pairKey(state, tag)
        const earlier = transitions.get(key)
        checkNew(this.declarations, { label: `${state} × ${tag}`, earlier, options, place })
        transitions.delete(key)
        const reached = kind === "reenter" ? [{ tag: state, reason: undefined }] : this.#reached(state, targets, options)
        const declared = this.#declare(kind, state, tag, reached, decide, options, place)
        transitions.set(key, { ...declared, group, reenter: options.reenter, next: options.fallThrough === true ? earlier : undefined })
      }
    }
    return this.#with({ transitions })
  }

  /** The targets of one source state. With `sameState`, the source state is the only state among them. */
  #reached(from: string, targets: ReadonlyArray<TargetDeclaration>, { sameState }: Options): ReadonlyArray<TargetDeclaration> {
    if (sameState !== true) return targets
    if (!targets.some(({ tag }) => tag === from))
      this.#fail(`${from} stays in the same state, which is not among its targets`, `add ${from} to them, or remove sameState`)
    return targets.filter(({ tag }) => tag === from || !this.declarations.state.$variants.has(tag))
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
    if (kind !== "postpone") checkDecidable(this.declarations, from, event, targets, decide)
    const { guard, guardName, description, guards, requests } = options
    return { kind, from, event, targets, decide, guard, guardName, description, guards, requests, order: this.declarations.count, place }
  }

  #hook(phase: "enter" | "exit", state: OneOrMany, hook: HookFunction, options: Options): Builder {
    checkOptions(this.declarations, "hook", options)
    const { name, requests } = options
    const added = this.#owners(state, options).map((tag) => ({ phase, state: tag, hook, name, requests }))
    return this.#with({ hooks: [...this.declarations.hooks, ...added] })
  }

  #work(state: OneOrMany, work: Work, outcomes: WorkDeclaration["outcomes"], options: Options): Builder {
    checkOptions(this.declarations, "work", options)
    const { name, runs } = options
    const added = this.#owners(state, options).map((tag) => ({ state: tag, work, outcomes, name, runs }))
    return this.#with({ works: [...this.declarations.works, ...added] })
  }

  #states(from: OneOrMany): ReadonlyArray<string> {
    return this.#tags(from, this.declarations.state.$variants, "state")
  }

  /** The states that transitions leave, each with the group that was given for it. */
  #sources(from: OneOrMany): ReadonlyMap<string, string | undefined> {
    this.#states(from)
    const sources = new Map<string, string | undefined>()
    for (const { tags = [], group } of list(from)) for (const tag of tags) if (!sources.has(tag)) sources.set(tag, group)
    return sources
  }

  /** The states and groups that hooks, work and timers belong to. With `each` a group stands for its states. */
  #owners(given: OneOrMany, { each }: Options): ReadonlyArray<string> {
    const tags = this.#states(given)
    if (each === true) return tags
    return [...new Set(list(given).flatMap((one) => one.group ?? one.tags ?? []))]
  }

  #events(event: OneOrMany): ReadonlyArray<string> {
    return this.#tags(event, this.declarations.event.$variants, "event")
  }

  #tags(given: OneOrMany, known: ReadonlyMap<string, unknown>, kind: "state" | "event"): ReadonlyArray<string> {
    const refuse = (what: unknown) =>
      this.#fail(
        `${String(what)} is not ${kind === "event" ? "an" : "a"} ${kind} of this machine`,
        `pass one of the union, such as S.Name; the ${kind}s are ${[...known.keys()].join(", ")}`,
      )
    const tags = list(given).flatMap((one) => {
      this.#refuseText(one, known, kind)
      return one?.tags ?? refuse(one)
    })
    for (const tag of tags) {
      if (!known.has(tag)) refuse(tag)
    }
    return [...new Set(tags)]
  }

  /** Where a transition may lead. A group is entered at its initial member; a decision may return any of its states. */
  #targets(to: OneOrMany, decide: Decide | undefined): ReadonlyArray<TargetDeclaration> {
    return list(to).flatMap((given): ReadonlyArray<TargetDeclaration> => {
      if (given?.deep !== undefined) return [this.#history(given, given.deep)]
      if (given?.group !== undefined) {
        const initial = this.#initialOf(given)
        return (decide === undefined ? [initial] : this.#states(given)).map((tag) => ({ tag, reason: undefined, group: given.group }))
      }
      this.#refuseText(given, this.declarations.state.$variants, "state")
      const tag = given?.tag
      const known = tag === "(stay)" || tag === "(stop)" || this.declarations.state.$variants.has(tag)
      if (!known)
        this.#fail(
          `the target ${String(tag ?? given)} is not a state of this machine`,
          `the states are ${this.declarations.state.$tags.join(", ")}`,
        )
      return [{ tag, reason: given.reason }]
    })
  }

  #initialOf(given: Named): string {
    const initial = given["~initial"]
    if (initial === undefined || initial === false)
      return this.#fail(
        `${given.group} is a group that names no initial member, and no instance is in a group itself`,
        `name one of its states: ${given.tags?.join(", ")}; or let the group name one with State.group({ ... }, { initial: "..." })`,
      )
    return initial.tag
  }

  #history(given: Named, deep: boolean): TargetDeclaration {
    const group = given.group ?? ""
    const { $groups } = this.declarations.state
    const members = $groups.get(group)?.members
    if (members === undefined)
      return this.#fail(`${group} is not a group of this machine`, `the groups are ${[...$groups.keys()].join(", ")}`)
    const unnamed = deep ? [] : members.filter((member) => $groups.get(member)?.["~initial"] === false)
    if (unnamed.length > 0)
      this.#fail(
        `history(${group}) enters ${unnamed.join(", ")} anew, which names no initial member`,
        `pass { initial: "..." } to that group, or use history(${group}, "deep")`,
      )
    return { tag: "(history)", reason: undefined, history: { group, deep, initial: this.#initialOf(given) } }
  }

  #refuseText(given: unknown, known: ReadonlyMap<string, unknown>, kind: "state" | "event") {
    if (typeof given !== "string" || !known.has(given)) return
    const itself = `${kind === "state" ? "S" : "E"}.${given}`
    this.#fail(
      `"${given}" is a text, not ${kind === "event" ? "an" : "a"} ${kind} of this machine`,
      `give the ${kind} itself, as ${itself}, not the text "${given}"`,
    )
  }

  #with(changed: Partial<Declarations>): Builder {
    return new Builder({ ...this.declarations, ...changed, count: this.declarations.count + 1 })
  }

  #fail(problem: string, nextStep: string): never {
    return fail(this.declarations, problem, nextStep)
  }
}
