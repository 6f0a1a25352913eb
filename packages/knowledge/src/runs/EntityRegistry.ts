/**
 * The entities that a run has found so far, so that a later chunk refers to them by the same IRI. Saved with every checkpoint and
 * restored on resume. Registering is a union: the same entities in any order, any number of times, give the same registry.
 */
import * as Schema from "effect/Schema"
import { Confidence, Count } from "../storage/Quantity.ts"

export const EntityRef = Schema.Struct({
  iri: Schema.String,
  label: Schema.String,
  types: Schema.Array(Schema.String),
  foundInChunk: Count,
  confidence: Confidence,
})
export type EntityRef = typeof EntityRef.Type

/** Sorted by IRI, so that the same entities encode to the same bytes. */
export const EntityRegistry = Schema.Struct({ entities: Schema.Array(EntityRef) })
export type EntityRegistry = typeof EntityRegistry.Type

export const EntityRegistryJson = Schema.fromJsonString(Schema.toCodecJson(EntityRegistry))

export const emptyRegistry: EntityRegistry = { entities: [] }

export const register = (registry: EntityRegistry, found: ReadonlyArray<EntityRef>): EntityRegistry => {
  const byIri = new Map<string, EntityRef>()
  for (const entity of [...registry.entities, ...found]) {
    const known = byIri.get(entity.iri)
    byIri.set(entity.iri, known === undefined ? tidy(entity) : union(known, entity))
  }
  return { entities: [...byIri.values()].sort((a, b) => order(a.iri, b.iri)) }
}

const tidy = (entity: EntityRef): EntityRef => ({ ...entity, types: [...new Set(entity.types)].sort() })

/** Takes the label that was found first; of two in the same chunk, the first in sort order, so that the call order does not matter. */
const union = (one: EntityRef, other: EntityRef): EntityRef => {
  const first = one.foundInChunk - other.foundInChunk || order(one.label, other.label)
  return {
    iri: one.iri,
    label: first <= 0 ? one.label : other.label,
    types: [...new Set([...one.types, ...other.types])].sort(),
    foundInChunk: Math.min(one.foundInChunk, other.foundInChunk),
    confidence: Math.max(one.confidence, other.confidence),
  }
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
