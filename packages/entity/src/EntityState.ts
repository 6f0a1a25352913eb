/**
 * What an instance of an entity workflow holds besides the name of its state: the entity, the error of the last transition
 * that came to nothing, and how far the state has got with what it tries by itself.
 */
import { State } from "@detent/machine"
import { isSensitive } from "@detent/machine/internal"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { EntityError } from "./EntityError.ts"

/** A transition whose processors are at work. */
export interface Pending<out Entity> {
  readonly transition: string
  /** Tells this run of processors from all others of the instance. */
  readonly run: number
  /** What a manual transition was asked with. */
  readonly argument?: Schema.Json
  readonly patch?: Partial<Entity>
  /** What was changed by updates since it began: it is part of what will be stored. */
  readonly updates?: Partial<Entity>
  /** For the failure transition: what it is taken for. */
  readonly error?: EntityError
}

/** The state of an instance. `_tag` is the state of the workflow. */
export interface EntityState<out Tag extends string, out Entity> {
  readonly _tag: Tag
  readonly entity: Entity
  /** Why the last transition that was tried came to nothing; in the state a failure led to, that failure. */
  readonly error?: EntityError
  /** The transition that is under way. */
  readonly pending?: Pending<Entity>
  /** So many of the state's automatic transitions have been tried since the entity changed. */
  readonly tried?: number
  /** How often processors have been started. */
  readonly runs?: number
  /** How many automatic transitions with effects have followed each other without anybody asking. */
  readonly chain?: number
  /** The state is to be entered anew, which ends what runs in it. Never seen from outside. */
  readonly entering?: true
}

/** Any state of any workflow. */
export type AnyState = EntityState<string, object>

export type EntityStruct = Schema.Struct<Schema.Struct.Fields>

/** The entity with every field optional. */
export const patchOf = (entity: EntityStruct): EntityStruct =>
  guarded(entity, entity.mapFields(Struct.map(Schema.optionalKey)) as unknown as EntityStruct)

/** An entity with a sensitive field is hidden as a whole wherever traces and logs show fields. */
export const guarded = (entity: EntityStruct, shown: EntityStruct = entity): EntityStruct =>
  Object.values(entity.fields).some(isSensitive) ? (State.sensitive(shown) as unknown as EntityStruct) : shown

export const stateFields = (entity: EntityStruct): Schema.Struct.Fields => ({
  entity: guarded(entity),
  error: Schema.optionalKey(EntityError),
  tried: Schema.optionalKey(Schema.Int),
  runs: Schema.optionalKey(Schema.Int),
  chain: Schema.optionalKey(Schema.Int),
})

/** The fields of a state in which processors may be at work. */
export const workingFields = (entity: EntityStruct): Schema.Struct.Fields => ({
  ...stateFields(entity),
  pending: Schema.optionalKey(
    Schema.Struct({
      transition: Schema.String,
      run: Schema.Int,
      argument: Schema.optionalKey(Schema.Json),
      patch: Schema.optionalKey(patchOf(entity)),
      updates: Schema.optionalKey(patchOf(entity)),
      error: Schema.optionalKey(EntityError),
    }),
  ),
})
