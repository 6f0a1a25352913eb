/**
 * The events of an entity workflow: one for each manual transition, one that changes the entity, and two that the work of a
 * state sends when processors are done or have failed.
 */
import * as Schema from "effect/Schema"
import { type EntityStruct, patchOf } from "./EntityState.ts"

/** The input of a manual transition. */
export interface TransitionInput<out Entity> {
  /** Changes to the entity before the transition; stored with the transition or not at all. */
  readonly patch?: Partial<Entity>
  /** Other input for the processors. */
  readonly argument?: Schema.Json
}

/** Requests the manual transition of this name. */
export interface TriggerEvent<out Name extends string, out Entity> extends TransitionInput<Entity> {
  readonly _tag: Name
}

/** The event that changes an entity without a transition; every workflow has it. */
export const updateTag = "update"

/** Changes the entity in its state; the automatic transitions of the state are tried again. */
export interface UpdateEvent<out Entity> {
  readonly _tag: typeof updateTag
  readonly patch: Partial<Entity>
}

/** The result of the processors of a transition; sent by the work of the state. */
export const processedTag = "(processed)"
/** A processor failed; sent by the work of the state. */
export const failedTag = "(failed)"

export interface ProcessedEvent {
  readonly _tag: typeof processedTag
  /** The name of the transition, which histories show. */
  readonly label: string
  readonly run: number
  readonly entity: object
}

export interface FailedEvent {
  readonly _tag: typeof failedTag
  /** The name of the transition, and that it failed. */
  readonly label: string
  readonly run: number
  /** Empty where the machine could not accept the result of the processors. */
  readonly processor: string
  readonly message: string
  /** The failure and its causes. */
  readonly cause?: string
  readonly attempts: number
  /** Whether this was the last attempt. */
  readonly last: boolean
}

export const updateFields = (entity: EntityStruct): Schema.Struct.Fields => ({ patch: patchOf(entity) })

export const triggerFields = (entity: EntityStruct): Schema.Struct.Fields => ({
  patch: Schema.optionalKey(patchOf(entity)),
  argument: Schema.optionalKey(Schema.Json),
})

export const processedFields = (entity: EntityStruct): Schema.Struct.Fields => ({
  label: Schema.String,
  run: Schema.Int,
  entity,
})

export const failedFields: Schema.Struct.Fields = {
  label: Schema.String,
  run: Schema.Int,
  processor: Schema.String,
  message: Schema.String,
  cause: Schema.optionalKey(Schema.String),
  attempts: Schema.Int,
  last: Schema.Boolean,
}
