/**
 * The state of an instance of an entity workflow: the entity, the error of the last failed transition, the pending transition, and
 * which automatic transitions have been tried.
 */
import { State } from "@detent/machine"
import { hidden, redactor } from "@detent/machine/internal"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { EntityError } from "./EntityError.ts"

/** A transition whose processors are running. */
export interface Pending<out Entity> {
  readonly transition: string
  /** The number of this run of processors, unique in the instance. */
  readonly run: number
  /** Whether the entity is already in the target of the transition. */
  readonly arrived?: true
  /** The input of a manual transition. */
  readonly argument?: Schema.Json
  readonly patch?: Partial<Entity>
  /** Changes by updates since the transition began, which are merged into its result. */
  readonly updates?: Partial<Entity>
  /** For the failure transition: the failure that it handles. */
  readonly error?: EntityError
}

/** The state of an instance. `_tag` is the state of the workflow. */
export interface EntityState<out Tag extends string, out Entity> {
  readonly _tag: Tag
  readonly entity: Entity
  /** Why the last attempted transition failed; in the target of the failure transition, the failure that led there. */
  readonly error?: EntityError
  /** The transition in progress. */
  readonly pending?: Pending<Entity>
  /** How many of the state's automatic transitions have been tried since the entity changed. */
  readonly tried?: number
  /** How often processors have been started. */
  readonly runs?: number
  /** How many automatic transitions with effects have followed each other. */
  readonly chain?: number
  /** Marks the state to be entered again, which ends its work. Never visible outside of a decision. */
  readonly entering?: true
}

/** Any state of any workflow. */
export type AnyState = EntityState<string, object>

export type EntityStruct = Schema.Struct<Schema.Struct.Fields>

/** The schema of the entity with every field optional. The patch is sensitive as a whole if the entity is. */
export const patchOf = (entity: EntityStruct): EntityStruct => {
  const patch = entity.mapFields(Struct.map(Schema.optionalKey)) as unknown as EntityStruct
  return redactor(entity)({}) === hidden ? (State.sensitive(patch) as EntityStruct) : patch
}

export const stateFields = (entity: EntityStruct): Schema.Struct.Fields => ({
  entity,
  error: Schema.optionalKey(EntityError),
  tried: Schema.optionalKey(Schema.Int),
  runs: Schema.optionalKey(Schema.Int),
  chain: Schema.optionalKey(Schema.Int),
})

/** The fields of a state in which processors may run. */
export const workingFields = (entity: EntityStruct): Schema.Struct.Fields => ({
  ...stateFields(entity),
  pending: Schema.optionalKey(
    Schema.Struct({
      transition: Schema.String,
      run: Schema.Int,
      arrived: Schema.optionalKey(Schema.Literal(true)),
      argument: Schema.optionalKey(Schema.Json),
      patch: Schema.optionalKey(patchOf(entity)),
      updates: Schema.optionalKey(patchOf(entity)),
      error: Schema.optionalKey(EntityError),
    }),
  ),
})
