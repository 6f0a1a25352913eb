/** A machine whose transitions and guards tell how they were used. */
import * as Effect from "effect/Effect"
import type { Compiled, Transition } from "../src/define/Compile.ts"
import { type Declarations, type Predicate, pairKey, type Tagged } from "../src/define/Declarations.ts"
import { GuardScript } from "./GuardScript.ts"
import { type DeclaredEdge, edgesFrom } from "./Reachability.ts"
import { type AnyMachine, checkNames, declarationsOf, type Handlers, withHandlers } from "./Subject.ts"

/** What one guard has said. */
export interface Answers {
  yes: number
  no: number
}

/** What one transition of one state has done. */
export interface ObservedEdge {
  readonly from: string
  readonly event: string
  readonly kind: DeclaredEdge["kind"]
  /** Edges that were declared in one go share this. */
  readonly declaration: number
  /** Tags of states, `(stay)`, `(stop)`. */
  readonly declared: ReadonlyArray<string>
  readonly guard: (Answers & { readonly name: string }) | undefined
  readonly seen: Map<string, number>
  attempts: number
  /** Its decision is an Effect. */
  deferred: boolean
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export class Observed {
  readonly compiled: Compiled
  readonly edges: ReadonlyArray<ObservedEdge>
  /** Guard slots that are built. */
  readonly slots = new Map<string, Answers>()
  /** The guard slots that nobody answers for. */
  readonly script = new GuardScript()

  constructor(machine: AnyMachine, stubs: object | undefined) {
    const declarations = declarationsOf(machine)
    const names = Object.keys(declarations.guardSlots)
    checkNames(machine, stubs, names, "guard")
    const given = stubs as Handlers | undefined
    // A fresh set of tables, made for this observation: its transitions can be changed in place.
    this.compiled = withHandlers(
      machine,
      Object.fromEntries(names.map((name) => [name, given?.[name] ?? this.#slot(name, declarations.handlers?.[name])])),
    ).compiled
    this.edges = declarations.state.$tags.flatMap((tag) => {
      const edges = edgesFrom(this.compiled, tag)
      const always = declarations.always.filter((one) => one.from === tag)
      let automatic = 0
      return edges.map((edge) => observe(edge, declarationOf(declarations, edge) ?? always[automatic++]?.order ?? 0))
    })
  }

  edgesFrom(tag: string): ReadonlyArray<ObservedEdge> {
    return this.edges.filter((edge) => edge.from === tag)
  }

  #slot(name: string, handler: Handlers[string] | undefined): Handlers[string] {
    if (handler === undefined) return () => this.script.answer()
    const answers: Answers = { yes: 0, no: 0 }
    this.slots.set(name, answers)
    return (parameters, context) => count(answers, handler(parameters, context) === true)
  }
}

const observe = ({ from, event, kind, transition }: DeclaredEdge, declaration: number): ObservedEdge => {
  const edge: ObservedEdge = {
    from,
    event,
    kind,
    declaration,
    declared: [...transition.targets.keys(), ...(transition.mayStay ? ["(stay)"] : []), ...(transition.mayStop ? ["(stop)"] : [])],
    guard: transition.guard === undefined ? undefined : { name: transition.guardName, yes: 0, no: 0 },
    seen: new Map(),
    attempts: 0,
    deferred: false,
  }
  const mutable = transition as Mutable<Transition>
  const { decide, guard } = transition
  if (guard !== undefined) mutable.guard = observedGuard(edge, guard)
  // The shortcut for transitions without a decision of their own would pass the observer by.
  mutable.fast = false
  mutable.decide = (context) => {
    if (guard === undefined) edge.attempts++
    const outcome = decide(context)
    if (Effect.isEffect(outcome)) edge.deferred = true
    else {
      const target = targetOf(outcome as Tagged | undefined)
      edge.seen.set(target, (edge.seen.get(target) ?? 0) + 1)
    }
    return outcome
  }
  return edge
}

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
