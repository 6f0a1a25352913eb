/** Small sets of values for events and results of effects, made from their schemas. */
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { isOwnEvent } from "../../src/decision/Timeout.ts"
import type { Compiled } from "../../src/define/Compile.ts"
import type { Tagged } from "../../src/define/Declarations.ts"
import type { DeclaredEffect } from "../../src/effects/Slot.ts"
import { isEffectSlot } from "../../src/effects/Slot.ts"
import { describe } from "../../src/error/MachineError.ts"
import { eventProblem } from "../../src/Machine.ts"
import { asSchema } from "../../src/schema/EffectSchema.ts"
import type { FieldSchema } from "../../src/schema/FieldSchema.ts"
import type { UntypedVariant } from "../../src/schema/Variant.ts"

/** Values of one field. */
const mostOfField = 3
/** Combinations of the fields of one event. */
const mostOfEvent = 24

/** Values that are tried before generated ones: they fit most fields, and decisions often compare with them. */
const usual: ReadonlyArray<unknown> = [true, false, 0, 1, 2, "a", "b", null, []]

/** Some values of a schema, small ones first. */
export const valuesOf = (schema: FieldSchema, seed: string): ReadonlyArray<unknown> => {
  const codec = asSchema(schema)
  const literals = literalsOf(codec.ast)
  if (literals !== undefined) return literals
  const is = Schema.is(codec)
  const fitting = usual.filter((value) => is(value)).slice(0, mostOfField)
  if (fitting.length > 1) return fitting
  const generated = Effect.runSync(Arbitrary.sampleEffect(Arbitrary.schema(codec), { count: 2, seed }))
  return [...fitting, ...generated].slice(0, mostOfField)
}

/** All values of a schema that has finitely many by name. */
const literalsOf = (ast: { readonly _tag: string }): ReadonlyArray<unknown> | undefined => {
  if (ast._tag === "Literal") return [(ast as unknown as { readonly literal: unknown }).literal]
  if (ast._tag !== "Union") return undefined
  const parts = (ast as unknown as { readonly types: ReadonlyArray<{ readonly _tag: string }> }).types.map(literalsOf)
  return parts.every((part) => part !== undefined) ? parts.flat() : undefined
}

export interface Domain {
  /** Events that senders may send, by nothing but their schemas. */
  readonly events: ReadonlyArray<Tagged>
  /** Why not all events of a tag are among them. */
  readonly notes: ReadonlyArray<string>
}

/** Events of these tags, or of every tag, each field with a few values. */
export const domainOf = (compiled: Compiled, tags: ReadonlySet<unknown> | undefined): Domain => {
  const events: Array<Tagged> = []
  const notes: Array<string> = []
  for (const [tag, variant] of compiled.declarations.event.$variants) {
    if (isOwnEvent(tag) || tags?.has(tag) === false) continue
    try {
      const made = combinations(variant)
      events.push(...made.slice(0, mostOfEvent))
      if (made.length > mostOfEvent)
        notes.push(`${tag}: ${mostOfEvent} of ${made.length} combinations of its fields; pass { events } for others`)
    } catch (cause) {
      notes.push(`${tag}: no values can be made from its schema (${describe(cause)}); pass { events }`)
    }
  }
  return { events, notes }
}

const combinations = (variant: UntypedVariant): ReadonlyArray<Tagged> => {
  let made: ReadonlyArray<object> = [{}]
  for (const name of variant.fieldNames) {
    const values = valuesOf(variant.fields[name] as FieldSchema, `${variant.tag} ${name}`)
    made = made.flatMap((fields) => values.map((value) => ({ ...fields, [name]: value })))
    if (made.length > 10_000) made = made.slice(0, 10_000)
  }
  return made.map((fields) => variant(fields))
}

/** The event with the fields that it has in common with a state: events about something else are rarely accepted. */
export const related = (compiled: Compiled, state: Tagged, event: Tagged): Tagged => {
  const names = compiled.declarations.event.$variants.get(event._tag)?.fieldNames.filter((name) => name in state) ?? []
  if (names.length === 0) return event
  const copy = { ...event, ...Object.fromEntries(names.map((name) => [name, state[name as keyof Tagged]])) }
  return eventProblem(compiled, copy) === undefined ? copy : event
}

/** The result of an effect: the value of its success, or the error of its failure. */
export type EffectResult = { readonly value: unknown } | { readonly failure: unknown }

/** Values of success and of declared failures. That a command is given up is added by the check itself. */
export const resultsOf = (slot: DeclaredEffect | undefined, name: string): ReadonlyArray<EffectResult> => {
  if (!isEffectSlot(slot)) return [{ value: undefined }]
  const values = slot.success === undefined ? [undefined] : valuesOf(slot.success, `${name} success`).slice(0, 2)
  const failures = slot.failure === undefined ? [] : valuesOf(slot.failure, `${name} failure`).slice(0, 2)
  return [...values.map((value) => ({ value })), ...failures.map((failure) => ({ failure }))]
}
