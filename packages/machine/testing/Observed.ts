/** A machine whose transitions, guards and hooks record how they are used. */
import * as Effect from "effect/Effect"
import type { Compiled, GroupNode, Node, Transition } from "../src/define/Compile.ts"
import type { Predicate, Tagged } from "../src/define/Declarations.ts"
import { GuardScript } from "./GuardScript.ts"
import { type DeclaredEdge, edgesFrom } from "./Reachability.ts"
import { type AnyMachine, checkNames, declarationsOf, type Handlers, withHandlers } from "./Subject.ts"

/** The answers of one guard, counted. */
export interface Answers {
  yes: number
  no: number
}

/** One transition of one state, with the observations of it. */
export interface ObservedEdge {
  readonly from: string
  readonly event: string
  readonly kind: DeclaredEdge["kind"]
  /** The same for edges that one call declared. */
  readonly declaration: number
  /** Tags of states, `(stay)`, `(stop)`, `(history Group)`. */
  readonly declared: ReadonlyArray<string>
  readonly guard: (Answers & { readonly name: string }) | undefined
  readonly seen: Map<string, number>
  /** Its position, in declaration order, among the transitions of its state for the same event, or without an event. */
  readonly position: number
  readonly used: Used
  attempts: number
  /** Its decision is an Effect. */
  deferred: boolean
}

/** Slots that a function has used. */
interface Used {
  readonly guards: Set<string>
  readonly requests: Set<string>
}

/** The hooks of one state or group, and the slots they have used. */
export interface ObservedHooks {
  readonly phase: "enter" | "exit"
  readonly state: string
  readonly used: Used
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export class Observed {
  readonly compiled: Compiled
  readonly edges: ReadonlyArray<ObservedEdge>
  readonly hooks: ReadonlyArray<ObservedHooks>
  /** Guard slots that are built. */
  readonly slots = new Map<string, Answers>()
  /** Answers for guard slots that have no implementation. */
  readonly script = new GuardScript()

  constructor(machine: AnyMachine, stubs: object | undefined) {
    const declarations = declarationsOf(machine)
    const names = Object.keys(declarations.guardSlots)
    checkNames(machine, stubs, names, "guard")
    const given = stubs as Handlers | undefined
    // A fresh set of tables, made for this observation: its transitions can be changed in place.
    this.compiled = withHandlers(
      machine,
      Object.fromEntries(
        names.map((name) => {
          const answer = given?.[name] ?? this.#slot(name, declarations.handlers?.[name])
          return [
            name,
            (parameters: object, context: unknown) => {
              this.#using?.guards.add(name)
              return answer(parameters, context)
            },
          ]
        }),
      ),
    ).compiled
    this.#observeRequests()
    this.edges = declarations.state.$tags.flatMap((tag) => {
      const edges = edgesFrom(this.compiled, tag)
      return edges.map((edge) => {
        const { order } = edge.transition
        return this.#observe(edge, edges.filter((other) => other.event === edge.event && other.transition.order < order).length)
      })
    })
    const nodes = [...this.compiled.nodes.values()]
    const groups = new Set(nodes.flatMap((node) => node.groups))
    this.hooks = [...nodes.map((node) => [node, node.tag] as const), ...[...groups].map((group) => [group, group.name] as const)].flatMap(
      ([hooked, name]) => [this.#observeHooks(hooked, name, "enter"), this.#observeHooks(hooked, name, "exit")],
    )
  }

  #using: Used | undefined = undefined

  /** Runs a function of the machine and records the slots that it uses. */
  #within<A>(used: Used, run: () => A): A {
    const before = this.#using
    this.#using = used
    try {
      return run()
    } finally {
      this.#using = before
    }
  }

  #observeRequests() {
    const { effects } = this.compiled
    ;(this.compiled as Mutable<Compiled>).effects = (recorder) =>
      effects({
        askGuard: (name, answer) => recorder.askGuard(name, answer),
        request: (slot, parameters) => {
          this.#using?.requests.add(slot)
          recorder.request(slot, parameters)
        },
      })
  }

  #observeHooks(hooked: Node | GroupNode, state: string, phase: "enter" | "exit"): ObservedHooks {
    const used = nothingUsed()
    ;(hooked as Mutable<Node | GroupNode>)[phase] = hooked[phase].map((hook) => (context) => this.#within(used, () => hook(context)))
    return { phase, state, used }
  }

  edgesFrom(tag: string): ReadonlyArray<ObservedEdge> {
    return this.edges.filter((edge) => edge.from === tag)
  }

  #observe({ from, event, kind, transition }: DeclaredEdge, position: number): ObservedEdge {
    const edge: ObservedEdge = {
      from,
      event,
      kind,
      declaration: transition.order,
      declared: [
        ...transition.targets.keys(),
        ...transition.histories.map(({ group }) => `(history ${group})`),
        ...(transition.mayStay ? ["(stay)"] : []),
        ...(transition.mayStop ? ["(stop)"] : []),
      ],
      guard: transition.guard === undefined ? undefined : { name: transition.guardName, yes: 0, no: 0 },
      seen: new Map(),
      position,
      used: nothingUsed(),
      attempts: 0,
      deferred: false,
    }
    const mutable = transition as Mutable<Transition>
    const { decide, guard } = transition
    if (guard !== undefined) mutable.guard = (context) => this.#within(edge.used, () => observedGuard(edge, guard)(context))
    // The fast path would bypass the observer.
    mutable.fast = false
    mutable.decide = (context) => {
      if (guard === undefined) edge.attempts++
      const outcome = this.#within(edge.used, () => decide(context))
      if (Effect.isEffect(outcome)) edge.deferred = true
      else {
        const target = targetOf(outcome as Tagged | undefined)
        edge.seen.set(target, (edge.seen.get(target) ?? 0) + 1)
      }
      return outcome
    }
    return edge
  }

  #slot(name: string, handler: Handlers[string] | undefined): Handlers[string] {
    if (handler === undefined) return () => this.script.answer()
    const answers: Answers = { yes: 0, no: 0 }
    this.slots.set(name, answers)
    return (parameters, context) => count(answers, handler(parameters, context) === true)
  }
}

const nothingUsed = (): Used => ({ guards: new Set(), requests: new Set() })

const observedGuard =
  (edge: ObservedEdge, guard: Predicate): Predicate =>
  (context) => {
    edge.attempts++
    return count(edge.guard as Answers, guard(context) === true)
  }

const count = (answers: Answers, answer: boolean): boolean => {
  if (answer) answers.yes++
  else answers.no++
  return answer
}

const targetOf = (outcome: (Tagged & { readonly outcome?: Tagged }) | undefined): string => {
  switch (outcome?._tag) {
    case "@reply":
      return targetOf(outcome?.outcome)
    case "@stay":
      return "(stay)"
    case "@stop":
      return "(stop)"
    case "@history":
      return `(history ${(outcome as { readonly group?: string }).group})`
    case "@refuse":
      return "(refuse)"
    default:
      return String(outcome?._tag)
  }
}
