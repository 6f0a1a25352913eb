/** A machine whose transitions, guards and hooks record how they are used. */
import * as Effect from "effect/Effect"
import type { Compiled, Node, Transition } from "../src/define/Compile.ts"
import { type Declarations, type Predicate, pairKey, type Tagged } from "../src/define/Declarations.ts"
import { GuardScript } from "./GuardScript.ts"
import { type DeclaredEdge, edgesFrom } from "./Reachability.ts"
import { type AnyMachine, checkNames, declarationsOf, type Handlers, withHandlers } from "./Subject.ts"

/** The answers of one guard, counted. */
export interface Answers {
  yes: number
  no: number
}

/** One transition of one state, and what was seen of it. */
export interface ObservedEdge {
  readonly from: string
  readonly event: string
  readonly kind: DeclaredEdge["kind"]
  /** The same for edges that one call declared. */
  readonly declaration: number
  /** Tags of states, `(stay)`, `(stop)`. */
  readonly declared: ReadonlyArray<string>
  readonly guard: (Answers & { readonly name: string }) | undefined
  readonly seen: Map<string, number>
  /** Which of the automatic transitions of its state it is. */
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

/** The hooks of one state, and the slots they have used. */
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
      const always = declarations.always.filter((one) => one.from === tag)
      let automatic = 0
      return edges.map((edge) => {
        const position = edge.kind === "always" ? automatic++ : 0
        return this.#observe(edge, declarationOf(declarations, edge) ?? always[position]?.order ?? 0, position)
      })
    })
    this.hooks = [...this.compiled.nodes.values()].flatMap((node) => [this.#observeHooks(node, "enter"), this.#observeHooks(node, "exit")])
  }

  #using: Used | undefined = undefined

  /** Runs a function of the machine; the slots it uses until it returns are its own. */
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

  #observeHooks(node: Node, phase: "enter" | "exit"): ObservedHooks {
    const used = nothingUsed()
    ;(node as Mutable<Node>)[phase] = node[phase].map((hook) => (context) => this.#within(used, () => hook(context)))
    return { phase, state: node.tag, used }
  }

  edgesFrom(tag: string): ReadonlyArray<ObservedEdge> {
    return this.edges.filter((edge) => edge.from === tag)
  }

  #observe({ from, event, kind, transition }: DeclaredEdge, declaration: number, position: number): ObservedEdge {
    const edge: ObservedEdge = {
      from,
      event,
      kind,
      declaration,
      declared: [...transition.targets.keys(), ...(transition.mayStay ? ["(stay)"] : []), ...(transition.mayStop ? ["(stop)"] : [])],
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

const declarationOf = (declarations: Declarations, { from, event, kind }: DeclaredEdge): number | undefined => {
  if (kind === "timeout") return declarations.timeouts.get(`${from} × ${event}`)?.order
  return kind === "event" ? (declarations.transitions.get(pairKey(from, event)) ?? declarations.fallbacks.get(event))?.order : undefined
}

const targetOf = (outcome: (Tagged & { readonly outcome?: Tagged }) | undefined): string => {
  switch (outcome?._tag) {
    case "@reply":
      return targetOf(outcome?.outcome)
    case "@stay":
      return "(stay)"
    case "@stop":
      return "(stop)"
    case "@refuse":
      return "(refuse)"
    default:
      return String(outcome?._tag)
  }
}
