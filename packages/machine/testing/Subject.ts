/** The machine under test: the types that the helpers accept, and the stubs of its slots. */

import type { InputOf, StateOf } from "../src/contract/MachineType.ts"
import { Builder } from "../src/define/Builder.ts"
import type { Declarations } from "../src/define/Declarations.ts"
import type { Definition } from "../src/define/Definition.ts"
import { DefinitionError } from "../src/schema/DefinitionError.ts"

/** Any machine, built or not. */
export type AnyMachine = Definition<unknown, unknown, never, unknown, string>

/** Where a test starts: the machine's input, or a state. */
export type StartOf<M> = InputOf<M> | StateOf<M>

/** The tags of a machine's states. */
export type StateTag<M> = StateOf<M> extends infer S ? (S extends { readonly _tag: infer Tag extends string } ? Tag : never) : never

type HandlersOf<M> = M extends { readonly build: (handlers: infer H) => unknown } ? H : Record<never, never>

type Predicate = (...parameters: never) => boolean

/** Answers for guard slots. A slot without one uses its `build` handler. */
export type GuardStubs<M> = HandlersOf<M> extends infer H ? { readonly [N in keyof H as H[N] extends Predicate ? N : never]?: H[N] } : never

/** Stubs for effect slots. */
export type EffectStubs<M> =
  HandlersOf<M> extends infer H ? { readonly [N in keyof H as H[N] extends Predicate ? never : N]?: H[N] } : never

export type Handlers = NonNullable<Declarations["handlers"]>

export const declarationsOf = (machine: AnyMachine): Declarations => (machine as unknown as Builder).declarations

/** The machine with other implementations for some of its slots. */
export const withHandlers = (machine: AnyMachine, handlers: Handlers): Builder => {
  const declarations = declarationsOf(machine)
  return new Builder({ ...declarations, handlers: { ...declarations.handlers, ...handlers } })
}

/** Guard slots with the answers of the test. A slot without an answer throws when it is asked. */
export const guardHandlers = (machine: AnyMachine, stubs: object | undefined): Handlers => {
  const { guardSlots, handlers } = declarationsOf(machine)
  checkNames(machine, stubs, Object.keys(guardSlots), "guard")
  const unanswered = Object.keys(guardSlots).filter((name) => handlers?.[name] === undefined)
  return {
    ...Object.fromEntries(unanswered.map((name) => [name, () => refuseToAnswer(machine, name)])),
    ...(stubs as Handlers | undefined),
  }
}

export const checkNames = (machine: AnyMachine, stubs: object | undefined, slots: ReadonlyArray<string>, kind: string) => {
  const unknown = Object.keys(stubs ?? {}).filter((name) => !slots.includes(name))
  if (unknown.length === 0) return
  throw new DefinitionError({
    machine: machine.name,
    problem: `${unknown.join(", ")} is not ${kind === "effect" ? "an" : "a"} ${kind} slot`,
    nextStep: `the ${kind} slots are ${slots.join(", ") || "none"}`,
  })
}

const refuseToAnswer = (machine: AnyMachine, name: string): never => {
  throw new DefinitionError({
    machine: machine.name,
    problem: `the guard ${name} has no implementation`,
    nextStep: `pass { guards: { ${name}: () => true } } to the test helper, or call build({ ... }) first`,
  })
}
