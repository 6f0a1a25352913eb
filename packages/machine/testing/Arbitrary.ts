/**
 * Generators of a machine's states and events, from their schemas. They shrink, and the same seed gives the same
 * values.
 *
 * ```ts
 * it.effect.prop("never loses the order", { events: arbitrary(Order).events() }, ({ events }) => ...)
 * ```
 */

import * as Arbitrary from "effect/Arbitrary"
import type { EventOf, StateOf } from "../src/contract/MachineType.ts"
import { DefinitionError } from "../src/schema/DefinitionError.ts"
import { schemaOf, schemaOfVariant } from "../src/schema/EffectSchema.ts"
import type { TagOf, UntypedUnion } from "../src/schema/Union.ts"
import { type AnyMachine, declarationsOf } from "./Subject.ts"

type Tagged<T, Tag> = Extract<T, { readonly _tag: Tag }>

export interface Generators<S, E> {
  /** States: all of them, or those of one tag. */
  readonly state: {
    (): Arbitrary.Arbitrary<S>
    <Tag extends TagOf<S>>(tag: Tag): Arbitrary.Arbitrary<Tagged<S, Tag>>
  }
  /** Events: all of them, or those of one tag. */
  readonly event: {
    (): Arbitrary.Arbitrary<E>
    <Tag extends TagOf<E>>(tag: Tag): Arbitrary.Arbitrary<Tagged<E, Tag>>
  }
  /** Lists of events. */
  readonly events: (options?: Arbitrary.ArrayOptions) => Arbitrary.Arbitrary<Array<E>>
}

export const arbitrary = <M extends AnyMachine>(machine: M): Generators<StateOf<M>, EventOf<M>> => {
  const { state, event } = declarationsOf(machine)
  const generators = {
    state: (tag?: string) => generator(machine, state, tag),
    event: (tag?: string) => generator(machine, event, tag),
    events: (options?: Arbitrary.ArrayOptions) => Arbitrary.array(generator(machine, event, undefined), options),
  }
  return generators as unknown as Generators<StateOf<M>, EventOf<M>>
}

const generator = (machine: AnyMachine, union: UntypedUnion, tag: string | undefined): Arbitrary.Arbitrary<{ readonly _tag: string }> => {
  if (tag === undefined) return Arbitrary.schema(schemaOf(union as UntypedUnion & { readonly Type: { readonly _tag: string } }))
  const variant = union.$variants.get(tag)
  if (variant !== undefined) return Arbitrary.schema(schemaOfVariant(variant))
  throw new DefinitionError({
    machine: machine.name,
    problem: `${tag} is none of its states or events`,
    nextStep: `use one of ${union.$tags.join(", ")}`,
  })
}
