/** Turns declarations into the tables that decisions are looked up in: one lookup by state, one by event. */
import * as Duration from "effect/Duration"
import { dateMillis, durationMillis, endsAtDate, type TimeoutEnd } from "../decision/Timeout.ts"
import { effectCalls, guardCalls, type SlotCalls } from "../effects/Slot.ts"
import { isOptional } from "../schema/FieldSchema.ts"
import type { UntypedUnion } from "../schema/Union.ts"
import type { ValueCheck } from "../schema/ValueCheck.ts"
import {
  type AlwaysDeclaration,
  allTargets,
  type Declarations,
  type HistoryDeclaration,
  type HookFunction,
  isQuestion,
  type Predicate,
  type Tagged,
  type TimeoutDeclaration,
  type TransitionDeclaration,
  timerName,
  type WorkDeclaration,
} from "./Declarations.ts"

/** A transition ready to be taken. */
export interface Transition {
  readonly decide: (context: unknown) => unknown
  /** Set where the user gave no decision: the target made of the event's and the state's fields. */
  readonly carry: ((state: Tagged, event: Tagged) => Tagged) | undefined
  readonly guard: Predicate | undefined
  readonly guardName: string
  /** The states it may lead to. */
  readonly targets: ReadonlyMap<string, Node>
  /** The groups to whose last state it may lead back. */
  readonly histories: ReadonlyArray<HistoryNode>
  /** The only state it may lead to, where there is just one: saves a lookup. */
  readonly only: Node | undefined
  /** Decided by `carry` alone, and neither state has hooks, timers or automatic transitions. */
  readonly fast: boolean
  /** The event is a question: its decision must answer. */
  readonly answers: boolean
  readonly mayStay: boolean
  readonly mayStop: boolean
  readonly reenters: boolean
  /** At most this many of the outermost groups around the state are kept: not left and entered again. */
  readonly keeps: number
  /** The transition that is tried next where its guard does not hold. */
  readonly next: Transition | undefined
  /** Position of its declaration. */
  readonly order: number
}

/** A `history` target: leads back to the state in which a group was left. */
export interface HistoryNode {
  readonly group: string
  readonly deep: boolean
  /** Every state it may lead to. */
  readonly states: ReadonlyArray<string>
  /** The state to enter. `left` is the one in which the group was left last, if any. */
  readonly enter: (left: Tagged | undefined, state: Tagged, event: Tagged | undefined) => Tagged
}

/** A timer of a state, or of the stay in a group. */
export interface Timer {
  /** As stored: with the name of its group. */
  readonly name: string
  readonly idle: boolean
  readonly millis: (state: Tagged, at: number) => number
  /** The date it ends at, of a timer that ends at a date. */
  readonly until: ((state: Tagged) => number) | undefined
  /** Names under which an earlier version stored this timer, before `each` was added to or removed from its declaration. */
  readonly former: ReadonlyArray<string>
}

export interface Timeout extends Transition, Timer {
  /** The state or group that it was declared for, and the name it was given. */
  readonly owner: string
  readonly given: string
}

/** A group with the timers, hooks and work declared for it. */
export interface GroupNode {
  readonly name: string
  readonly timers: ReadonlyMap<string, Timer>
  readonly enter: ReadonlyArray<HookFunction>
  readonly exit: ReadonlyArray<HookFunction>
  readonly works: ReadonlyArray<WorkDeclaration>
  /** A `history` transition leads back into it. */
  readonly remembers: boolean
}

/** A state with everything that is declared for it. */
export interface Node {
  readonly tag: string
  readonly final: boolean
  readonly on: ReadonlyMap<string, Transition>
  readonly postponed: ReadonlySet<string>
  /** By the name of the timer: its own and those of its groups. */
  readonly timeouts: ReadonlyMap<string, Timeout>
  /** Its own timers. */
  readonly timers: ReadonlyMap<string, Timer>
  /** A timeout of its own or of a group may restart without a change of state: an idle one, or one that ends at a date. */
  readonly mayRestartTimeout: boolean
  readonly always: ReadonlyArray<Transition>
  readonly enter: ReadonlyArray<HookFunction>
  readonly exit: ReadonlyArray<HookFunction>
  readonly works: ReadonlyArray<WorkDeclaration>
  /** Makes the events that are raised once it is entered: groups that it completes. */
  readonly done: ReadonlyArray<(context: unknown) => Tagged>
  /** The groups around it for which anything is declared, the outermost first. */
  readonly groups: ReadonlyArray<GroupNode>
  /** It has no hooks, timers or automatic transitions, and no such groups: the common case, decided on a shorter path. */
  readonly plain: boolean
  /** It, or a group around it, has work or timers. */
  readonly resident: boolean
}

export interface Compiled {
  readonly name: string
  readonly declarations: Declarations
  readonly nodes: ReadonlyMap<string, Node>
  /** The check of an event's fields, and of a state's, by tag. */
  readonly events: ReadonlyMap<string, ValueCheck>
  readonly states: ReadonlyMap<string, ValueCheck>
  readonly guards: SlotCalls
  readonly effects: SlotCalls
  /** The machine has a `history` transition, so its states carry a memory of groups. */
  readonly remembers: boolean
  /** A slot that `build` has not filled, if there is one. */
  readonly openSlot: string | undefined
  readonly processingTimeout: Duration.Duration | undefined
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export const compile = (declarations: Declarations): Compiled => {
  const nodes = new Map<string, Mutable<Node>>()
  const declared = declaredByState(declarations)
  const remembered = new Set(allTargets(declarations).flatMap(({ history }) => history?.group ?? []))
  const around = groupsAround(declarations, declared, remembered)
  for (const tag of declarations.state.$tags) nodes.set(tag, emptyNode(tag, declarations, declared))
  for (const node of nodes.values()) fill(node, declarations, declared, nodes, around.get(node.tag) ?? none)
  for (const node of nodes.values()) {
    if (remembered.size > 0) node.plain = false
    for (const transition of node.on.values()) {
      const { carry, guard, only } = transition
      ;(transition as Mutable<Transition>).fast = carry !== undefined && guard === undefined && node.plain && only?.plain === true
    }
  }
  return {
    name: declarations.name,
    declarations,
    nodes,
    events: checksOf(declarations.event),
    states: checksOf(declarations.state),
    guards: guardCalls(declarations),
    effects: effectCalls(declarations),
    remembers: remembered.size > 0,
    openSlot: [...Object.keys(declarations.guardSlots), ...Object.keys(declarations.effectSlots)].find(
      (slot) => declarations.handlers?.[slot] === undefined,
    ),
    processingTimeout: declarations.processingTimeout === undefined ? undefined : Duration.fromInputUnsafe(declarations.processingTimeout),
  }
}

const checksOf = (union: UntypedUnion) => new Map([...union.$variants].map(([tag, variant]) => [tag, variant.check]))

/** The declarations of each state. A search through all declarations per state took 1.5 s for 10,000 states; this takes 0.1 s. */
const declaredByState = ({ transitions, timeouts, always, hooks, works, dones = none }: Declarations) => ({
  transitions: byState(transitions.values(), (one) => one.from),
  timeouts: byState(timeouts.values(), (one) => one.from),
  always: byState(always, (one) => one.from),
  hooks: byState(hooks, (one) => one.state),
  works: byState(works, (one) => one.state),
  dones: byState(dones, (one) => one.state),
})

type DeclaredByState = ReturnType<typeof declaredByState>

const byState = <A>(all: Iterable<A>, stateOf: (one: A) => string): ((tag: string) => ReadonlyArray<A>) => {
  const groups = new Map<string, Array<A>>()
  for (const one of all) {
    const group = groups.get(stateOf(one))
    if (group === undefined) groups.set(stateOf(one), [one])
    else group.push(one)
  }
  return (tag) => groups.get(tag) ?? []
}

const none: ReadonlyArray<never> = []

/** A group around a state. `node` is set where the group has timers, hooks, work or a memory. */
interface GroupAround {
  readonly name: string
  readonly node: GroupNode | undefined
}

/** The groups around each state that is in one, the outermost first. */
const groupsAround = (
  declarations: Declarations,
  declared: DeclaredByState,
  remembered: ReadonlySet<string>,
): ReadonlyMap<string, ReadonlyArray<GroupAround>> => {
  const around = new Map<string, Array<GroupAround>>()
  for (const { group: name, tags } of declarations.state.$groups.values()) {
    const timers = timersOf(declared.timeouts(name), declarations, none)
    const works = declared.works(name)
    const remembers = remembered.has(name)
    const isDeclared = remembers || timers.size > 0 || works.length > 0 || declared.hooks(name).length > 0
    const node = isDeclared
      ? { name, timers, enter: hooksOf(declared, name, "enter"), exit: hooksOf(declared, name, "exit"), works, remembers }
      : undefined
    for (const tag of tags) {
      const groups = around.get(tag)
      if (groups === undefined) around.set(tag, [{ name, node }])
      else groups.push({ name, node })
    }
  }
  return around
}

const timersOf = (timeouts: ReadonlyArray<TimeoutDeclaration>, declarations: Declarations, around: ReadonlyArray<GroupAround>) =>
  new Map(
    timeouts.map((one): readonly [string, Timer] => {
      const { after } = one
      const name = timerName(declarations, one.from, one.name)
      const until = endsAtDate(after) ? (state: Tagged) => dateMillis(after.until(state)) : undefined
      const former = name === one.name ? around.map((group) => timerName(declarations, group.name, one.name)) : [one.name]
      return [name, { name, idle: one.idle, millis: until === undefined ? millisOf(after) : remaining(until), until, former }]
    }),
  )

const millisOf = (after: TimeoutEnd<Tagged>): Timer["millis"] => {
  if (typeof after === "function") return (state, at) => durationMillis(after(state, at))
  return constant(durationMillis(after as Duration.Input))
}

const remaining =
  (until: (state: Tagged) => number): Timer["millis"] =>
  (state, at) =>
    until(state) - at

const emptyNode = (tag: string, declarations: Declarations, declared: DeclaredByState): Mutable<Node> => ({
  tag,
  final: declarations.finals.has(tag),
  on: new Map(),
  postponed: new Set(),
  timeouts: new Map(),
  timers: new Map(),
  mayRestartTimeout: false,
  always: [],
  enter: hooksOf(declared, tag, "enter"),
  exit: hooksOf(declared, tag, "exit"),
  works: declared.works(tag),
  done: declared.dones(tag).map((one) => one.event),
  groups: none,
  plain: false,
  resident: false,
})

const hooksOf = (declared: DeclaredByState, tag: string, phase: "enter" | "exit"): ReadonlyArray<HookFunction> =>
  declared
    .hooks(tag)
    .filter((one) => one.phase === phase)
    .map((one) => one.hook)

const fill = (
  node: Mutable<Node>,
  declarations: Declarations,
  declared: DeclaredByState,
  nodes: ReadonlyMap<string, Node>,
  around: ReadonlyArray<GroupAround>,
) => {
  const on = new Map<string, Transition>()
  const postponed = new Set<string>()
  for (const one of declarations.fallbacks.values()) {
    if (!node.final || isQuestion(declarations, one.event, one)) on.set(one.event, transitionOf(one, node.tag, declarations, nodes))
  }
  for (const one of declared.transitions(node.tag)) {
    on.delete(one.event)
    if (one.kind === "postpone") postponed.add(one.event)
    else on.set(one.event, chainOf(one, node.tag, declarations, nodes, around))
  }
  node.on = on
  node.postponed = postponed
  node.groups = around.length === 0 ? none : around.flatMap((group) => group.node ?? [])
  const own = declared.timeouts(node.tag)
  node.timers = own.length === 0 ? node.timers : timersOf(own, declarations, around)
  const timers = new Map(node.groups.length === 0 ? node.timers : [...node.groups.flatMap((group) => [...group.timers]), ...node.timers])
  const timeouts = node.groups.length === 0 ? own : [...node.groups.flatMap((group) => declared.timeouts(group.name)), ...own]
  node.timeouts = new Map(
    timeouts.map((one): readonly [string, Timeout] => {
      const timer = timers.get(timerName(declarations, one.from, one.name)) as Timer
      const transition = transitionOf({ ...one, ...unguarded, event: `(${one.name})` }, node.tag, declarations, nodes)
      return [timer.name, { ...transition, ...timer, owner: one.from, given: one.name }]
    }),
  )
  node.mayRestartTimeout = [...node.timeouts.values()].some(({ idle, until }) => idle || until !== undefined)
  node.always = declared.always(node.tag).map((one) => alwaysOf(one, node.tag, declarations, nodes))
  node.plain = [node.enter, node.exit, node.always, node.groups, node.done].every((some) => some.length === 0) && node.timeouts.size === 0
  node.resident = node.works.length > 0 || node.timeouts.size > 0 || node.groups.some(({ works }) => works.length > 0)
}

/** A group that is left and entered again is not kept, nor are those inside it. */
const keptBy = (one: TransitionDeclaration, around: ReadonlyArray<GroupAround>): number => {
  if (!isReentering(one)) return Number.POSITIVE_INFINITY
  const left = [one.group, ...one.targets.map(({ group }) => group)]
  const outermost = around.findIndex(({ name }) => left.includes(name))
  return outermost < 0 ? Number.POSITIVE_INFINITY : around.slice(0, outermost).filter(({ node }) => node !== undefined).length
}

const isReentering = ({ kind, reenter }: TransitionDeclaration): boolean => kind === "reenter" || reenter === true

/** The timeout of a timer that is due. Also finds a timer stored before `each` was added to or removed from its declaration. */
export const timeoutOf = ({ timeouts }: Node, timer: string): Timeout | undefined => {
  const found = timeouts.get(timer)
  if (found !== undefined) return found
  for (const timeout of timeouts.values()) if (timeout.former.includes(timer)) return timeout
  return undefined
}

/** Whether a stored timer belongs to the group. */
export const isTimerOf = ({ timers }: GroupNode, timer: string): boolean =>
  timers.has(timer) || (timers.size > 0 && [...timers.values()].some(({ former }) => former.includes(timer)))

/** A transition, linked to the transitions that it falls through to. */
const chainOf = (
  one: TransitionDeclaration,
  from: string,
  declarations: Declarations,
  nodes: ReadonlyMap<string, Node>,
  around: ReadonlyArray<GroupAround>,
): Transition => ({
  ...transitionOf(one, from, declarations, nodes),
  keeps: keptBy(one, around),
  next: one.next === undefined ? undefined : chainOf(one.next, from, declarations, nodes, around),
})

const unguarded = { kind: "on", guard: undefined, guardName: undefined, description: undefined } as const

const constant = (value: number) => () => value

const alwaysOf = (one: AlwaysDeclaration, from: string, declarations: Declarations, nodes: ReadonlyMap<string, Node>) =>
  transitionOf(
    { ...one, ...unguarded, guard: (context) => one.guard(context) === true, guardName: one.guardName, event: "(always)" },
    from,
    declarations,
    nodes,
  )

const transitionOf = (
  one: TransitionDeclaration,
  from: string,
  declarations: Declarations,
  nodes: ReadonlyMap<string, Node>,
): Transition => {
  const targets = new Map<string, Node>()
  for (const { tag } of one.targets) {
    const node = nodes.get(tag)
    if (node !== undefined) targets.set(tag, node)
  }
  const tags = one.targets.map((target) => target.tag)
  const carry = one.decide === undefined && targets.size === 1 ? carrier(one, from, declarations) : undefined
  return {
    decide:
      one.decide ??
      (carry === undefined ? fixedOutcome(one, from) : (context) => carry((context as Carrying).state, (context as Carrying).event)),
    carry,
    fast: false,
    answers: declarations.event.$variants.get(one.event)?.reply !== undefined,
    guard: one.guard,
    guardName: one.guardName ?? "the guard",
    targets,
    histories: one.targets.flatMap(({ history }) => (history === undefined ? [] : historyOf(history, declarations))),
    only: targets.size === 1 && tags.length === 1 ? [...targets.values()][0] : undefined,
    mayStay: tags.includes("(stay)"),
    mayStop: tags.includes("(stop)"),
    reenters: isReentering(one),
    keeps: Number.POSITIVE_INFINITY,
    next: undefined,
    order: one.order,
  }
}

const historyOf = ({ group, deep, initial }: HistoryDeclaration, { state: union }: Declarations): HistoryNode => {
  const states = union.$groups.get(group)?.tags ?? []
  const members = new Map(
    (union.$groups.get(group)?.members ?? []).flatMap((member) => {
      const inner = union.$groups.get(member)
      if (inner === undefined || inner["~initial"] === false) return [[member, member] as const]
      const { tag } = inner["~initial"]
      return inner.tags.map((leaf) => [leaf, tag] as const)
    }),
  )
  return {
    group,
    deep,
    states,
    enter: (left, state, event) => {
      const tag = left === undefined || !states.includes(left._tag) ? initial : deep ? left._tag : (members.get(left._tag) ?? initial)
      const variant = union.$variants.get(tag)
      const value = variant?.derive({ ...left, ...state, ...event }) as Tagged
      const missing = Object.entries(variant?.fields ?? {}).filter(([name, schema]) => !isOptional(schema) && !Object.hasOwn(value, name))
      if (missing.length === 0) return value
      throw new Error(`history(${group}) leads to ${tag}, and nothing gives ${missing.map(([name]) => name).join(", ")}`)
    },
  }
}

/** The decision of a transition whose target is `stay`, `stop` or `history`. */
const fixedOutcome = (one: TransitionDeclaration, from: string): Transition["decide"] => {
  const target = one.targets[0]
  if (target?.history !== undefined) {
    const { group, deep } = target.history
    const back = { _tag: "@history", group, deep }
    return () => back
  }
  const outcome = target?.tag === "(stop)" ? { _tag: "@stop", reason: target.reason ?? `${one.event} in ${from}` } : { _tag: "@stay" }
  return () => outcome
}

/** Makes the target of a transition without a decision. Fields of the event take precedence over those of the state. */
const carrier = (one: TransitionDeclaration, from: string, declarations: Declarations): NonNullable<Transition["carry"]> => {
  const tag = one.targets[0]?.tag ?? from
  const fields = declarations.state.$variants.get(tag)?.fieldNames ?? []
  if (fields.length === 0) {
    const value = { _tag: tag }
    return () => value
  }
  const given = declarations.event.$variants.get(one.event)?.fields ?? {}
  const isCopy =
    hasSameFields(fields, declarations.state.$variants.get(from)?.fieldNames ?? []) && !fields.some((name) => Object.hasOwn(given, name))
  // The same fields under another tag: a spread is fastest and keeps the shape of its source.
  if (isCopy) return (state) => ({ ...state, _tag: tag })
  const sources = fields.map((name) => [name, Object.hasOwn(given, name)] as const)
  return (from, given) => {
    const state = from as Tagged & Fields
    const event = given as Tagged & Fields
    const value: Record<string, unknown> = { _tag: tag }
    for (const [name, isGiven] of sources) {
      const content = isGiven ? event[name] : state[name]
      if (content !== undefined || Object.hasOwn(isGiven ? event : state, name)) value[name] = content
    }
    return value as unknown as Tagged
  }
}

interface Fields {
  readonly [name: string]: unknown
}

interface Carrying {
  readonly state: Tagged & Fields
  readonly event: Tagged & Fields
}

const hasSameFields = (a: ReadonlyArray<string>, b: ReadonlyArray<string>) => a.length === b.length && a.every((name) => b.includes(name))
