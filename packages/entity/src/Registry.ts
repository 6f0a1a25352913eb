/**
 * A registry holds the objects that workflow files refer to: the schema of an entity, and its processors and criteria by name. A file
 * that uses only these names can be loaded while the system runs.
 *
 * ```ts
 * const registry = Registry.make(Invoice, {
 *   processors: { number: Processor.pure((invoice) => ({ ...invoice, number: `I-${invoice.id}` })) },
 *   criteria: { isSmall: (invoice) => invoice.amount < 1000 },
 * })
 * ```
 */
import type * as Schema from "effect/Schema"
import type { Processor } from "./Processor.ts"

/** The context of a criterion, besides the entity. */
export interface CriterionContext {
  /** When the event was accepted, in milliseconds since 1970: the same in every replay. */
  readonly at: number
}

/** A condition on an entity, as a pure function. */
export type Criterion<in A> = (entity: A, context: CriterionContext) => boolean

export interface Processors<A> {
  readonly [name: string]: Processor<A>
}

/** The schema of an entity: a struct whose decoding needs no services. */
export type EntitySchema<F extends Schema.Struct.Fields> = Schema.Struct<F> & Schema.Codec<Schema.Struct.Type<F>, unknown>

/**
 * @template F the fields of the entity
 * @template P the processors by name
 * @template C the names of the criteria
 */
export interface Registry<F extends Schema.Struct.Fields, P, C extends string> {
  readonly entity: EntitySchema<F>
  readonly processors: P
  readonly criteria: { readonly [K in C]: Criterion<Schema.Struct.Type<F>> }
}

export const make = <
  const F extends Schema.Struct.Fields,
  const P extends Processors<Schema.Struct.Type<F>> = Record<never, never>,
  const C extends string = never,
>(
  entity: EntitySchema<F>,
  registered: { readonly processors?: P; readonly criteria?: { readonly [K in C]: Criterion<Schema.Struct.Type<F>> } },
): Registry<F, P, C> => ({ entity, processors: registered.processors ?? ({} as P), criteria: registered.criteria ?? ({} as never) })

/** Any registry. A generic function with this constraint still infers the types of a registry that is made in its argument. */
export interface AnyRegistry {
  readonly entity: unknown
  readonly processors: object
  readonly criteria: object
}

/** The entity of a registry. */
export type EntityOf<G> = G extends { readonly entity: { readonly Type: infer Entity } } ? Entity : never

export type ProcessorNames<G extends AnyRegistry> = keyof G["processors"] & string

export type CriterionNames<G extends AnyRegistry> = keyof G["criteria"] & string
