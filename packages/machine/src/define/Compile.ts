/** Turns declarations into the tables that decisions are looked up in: one lookup by state, one by event. */
import * as Duration from "effect/Duration"
import { durationMillis } from "../decide/Timeout.ts"
import { effectCalls, guardCalls, type SlotCalls } from "../effects/Slot.ts"
import type { UntypedUnion } from "../schema/Union.ts"
import { type ValueCheck, valueCheck } from "../schema/ValueCheck.ts"
import {
  type AlwaysDeclaration,
  type Declarations,
  type HookFunction,
  isQuestion,
  type Predicate,
  type Tagged,
  type TransitionDeclaration,
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
  /** The only state it may lead to, where there is just one: saves a lookup. */
  readonly only: Node | undefined
  /** Decided by `carry` alone, and neither state has hooks, timers or automatic transitions. */
  readonly fast: boolean
  /** The event is a question: its decision must answer. */
  readonly answers: boolean
  readonly mayStay: boolean
  readonly mayStop: boolean
  readonly reenters: boolean
}

export interface Timeout extends Transition {
  readonly name: string
  readonly idle: boolean
  readonly millis: (state: Tagged) => number
}

/** A state with everything that is declared for it. */
export interface Node {
  readonly tag: string
  readonly final: boolean
  readonly on: ReadonlyMap<string, Transition>
  readonly postponed: ReadonlySet<string>
  readonly timeouts: ReadonlyMap<string, Timeout>
  readonly hasIdleTimeout: boolean
  readonly always: ReadonlyArray<Transition>
  readonly enter: ReadonlyArray<HookFunction>
  readonly exit: ReadonlyArray<HookFunction>
  readonly works: ReadonlyArray<WorkDeclaration>
  /** It has no hooks, timers or automatic transitions: the common case, decided on a shorter path. */
  readonly plain: boolean
  /** It has work or timers. */
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
  /** A slot that `build` has not filled, if there is one. */
  readonly openSlot: string | undefined
  readonly processingTimeout: Duration.Duration | undefined
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export const compile = (declarations: Declarations): Compiled => {
  const nodes = new Map<string, Mutable<Node>>()
  const declared = declaredByState(declarations)
  for (const tag of declarations.state.$tags) nodes.set(tag, emptyNode(tag, declarations, declared))
  for (const node of nodes.values()) fill(node, declarations, declared, nodes)
  for (const node of nodes.values()) {
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
    openSlot: [...Object.keys(declarations.guardSlots), ...Object.keys(declarations.effectSlots)].find(
      (slot) => declarations.handlers?.[slot] === undefined,
    ),
    processingTimeout: declarations.processingTimeout === undefined ? undefined : Duration.fromInputUnsafe(declarations.processingTimeout),
  }
}

const checksOf = (union: UntypedUnion) => new Map([...union.$variants].map(([tag, variant]) => [tag, valueCheck(variant)]))

/** The declarations of each state. A search through all declarations per state took 1.5 s for 10,000 states; this takes 0.1 s. */
const declaredByState = ({ transitions, timeouts, always, hooks, works }: Declarations) => ({
  transitions: byState(transitions.values(), (one) => one.from),
  timeouts: byState(timeouts.values(), (one) => one.from),
  always: byState(always, (one) => one.from),
  hooks: byState(hooks, (one) => one.state),
  works: byState(works, (one) => one.state),
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

const emptyNode = (tag: string, declarations: Declarations, declared: DeclaredByState): Mutable<Node> => ({
  tag,
  final: declarations.finals.has(tag),
  on: new Map(),
  postponed: new Set(),
  timeouts: new Map(),
  hasIdleTimeout: false,
  always: [],
  enter: hooksOf(declared, tag, "enter"),
  exit: hooksOf(declared, tag, "exit"),
  works: declared.works(tag),
  plain: false,
  resident: false,
})

const hooksOf = (declared: DeclaredByState, tag: string, phase: "enter" | "exit"): ReadonlyArray<HookFunction> =>
  declared
    .hooks(tag)
    .filter((one) => one.phase === phase)
    .map((one) => one.hook)

const fill = (node: Mutable<Node>, declarations: Declarations, declared: DeclaredByState, nodes: ReadonlyMap<string, Node>) => {
  const on = new Map<string, Transition>()
  const postponed = new Set<string>()
  for (const one of declarations.fallbacks.values()) {
    if (!node.final || isQuestion(declarations, one.event, one)) on.set(one.event, transitionOf(one, node.tag, declarations, nodes))
  }
  for (const one of declared.transitions(node.tag)) {
    on.delete(one.event)
    if (one.kind === "postpone") postponed.add(one.event)
    else on.set(one.event, transitionOf(one, node.tag, declarations, nodes))
  }
  node.on = on
  node.postponed = postponed
  node.timeouts = new Map(
    declared.timeouts(node.tag).map((one) => {
      const after = one.after
      const millis = typeof after === "function" ? (state: Tagged) => durationMillis(after(state)) : constant(durationMillis(after))
      const transition = transitionOf({ ...one, ...unguarded, event: `(${one.name})` }, node.tag, declarations, nodes)
      return [one.name, { ...transition, name: one.name, idle: one.idle, millis }]
    }),
  )
  node.hasIdleTimeout = [...node.timeouts.values()].some((one) => one.idle)
  node.always = declared.always(node.tag).map((one) => alwaysOf(one, node.tag, declarations, nodes))
  node.plain = node.enter.length === 0 && node.exit.length === 0 && node.always.length === 0 && node.timeouts.size === 0
  node.resident = node.works.length > 0 || node.timeouts.size > 0
}

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
    only: targets.size === 1 && tags.length === 1 ? [...targets.values()][0] : undefined,
    mayStay: tags.includes("(stay)"),
    mayStop: tags.includes("(stop)"),
    reenters: one.kind === "reenter",
  }
}

/** The decision of a transition whose target is `stay` or `stop`. */
const fixedOutcome = (one: TransitionDeclaration, from: string): Transition["decide"] => {
  const target = one.targets[0]
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
