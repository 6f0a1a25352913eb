/**
 * The schema of a field, a parameter or an answer: one of Effect, or one of any library that implements Standard Schema, such as zod,
 * valibot and arktype. This file reads them without Effect's own schema module, so that a machine of the others runs without it.
 */
import type * as Schema from "effect/Schema"
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "effect/StandardSchema"
import { DefinitionError } from "./DefinitionError.ts"

export type FieldSchema = Schema.Constraint | StandardSchemaV1<unknown, unknown>

/** Fields by name. */
export interface Fields {
  readonly [name: string]: FieldSchema
}

/** The type of the values of a schema. */
export type TypeOf<X> = X extends { readonly Type: infer T } ? T : X extends StandardSchemaV1<unknown, infer O> ? O : never

type EffectPart<F> = { readonly [K in keyof F as F[K] extends Schema.Constraint ? K : never]: Extract<F[K], Schema.Constraint> }

/** The fields of other libraries: those that may be undefined may be left out. */
type StandardPart<F> = {
  readonly [K in keyof F as F[K] extends Schema.Constraint ? never : undefined extends TypeOf<F[K]> ? never : K]: TypeOf<F[K]>
} & {
  readonly [K in keyof F as F[K] extends Schema.Constraint ? never : undefined extends TypeOf<F[K]> ? K : never]?: TypeOf<F[K]>
}

type Flattened<X> = { [K in keyof X]: X[K] }

/** The values of fields. */
export type FieldsType<F> = F extends Schema.Struct.Fields
  ? Schema.Struct.Type<F>
  : Flattened<Schema.Struct.Type<EffectPart<F>> & StandardPart<F>>

export const isEffectSchema = (schema: unknown): schema is Schema.Constraint =>
  ((typeof schema === "object" && schema !== null) || typeof schema === "function") && "ast" in schema

export const isStandardSchema = (schema: unknown): schema is StandardSchemaV1<unknown, unknown> =>
  ((typeof schema === "object" && schema !== null) || typeof schema === "function") && "~standard" in schema && !isEffectSchema(schema)

export const isFieldSchema = (schema: unknown): schema is FieldSchema => isEffectSchema(schema) || isStandardSchema(schema)

/** One place of a value that does not fit. */
export interface Misfit {
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

/** A value as its schema returns it, or the places that do not fit. */
export type Validated = { readonly value: unknown } | { readonly misfits: ReadonlyArray<Misfit> }

/** Validates a value. Throws where the schema validates asynchronously: a decision is synchronous. */
export const validate = (schema: StandardSchemaV1<unknown, unknown>, value: unknown): Validated => {
  const { vendor, validate } = schema["~standard"]
  const result = validate(value)
  if ("then" in result) {
    throw new DefinitionError({
      problem: `a schema of ${vendor} validates asynchronously`,
      nextStep: "make it synchronous, and do the asynchronous part in a step or an effect",
    })
  }
  if (result.issues === undefined) return { value: result.value }
  return {
    misfits: result.issues.map(({ path = [], message }) => ({
      // Not `path.map`: the paths of arktype are of a class of its own, which map would construct with a length.
      path: Array.from(path, (part) => (typeof part === "object" ? part.key : part)),
      message,
    })),
  }
}

/**
 * The places at which a value is not one that the schema returns: it is refused, or the schema would change it. A value that is
 * stored as JSON must come back as it was.
 */
export const misfitsOf = (schema: StandardSchemaV1<unknown, unknown>, value: unknown): ReadonlyArray<Misfit> => {
  const validated = validate(schema, value)
  if ("misfits" in validated) return validated.misfits
  const path = differenceOf(value, validated.value)
  return path === undefined ? [] : [{ path, message: "its schema changes this value; give it the value that the schema returns" }]
}

/** The path to the first difference of two values of plain data. A property that is undefined counts as missing. */
const differenceOf = (a: unknown, b: unknown): ReadonlyArray<PropertyKey> | undefined => {
  if (Object.is(a, b)) return undefined
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return []
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const inside = differenceOf(a[key as keyof typeof a], b[key as keyof typeof b])
    if (inside !== undefined) return [key, ...inside]
  }
  // Instances of classes may differ in what is no property of theirs, such as dates.
  return isData(a) && isData(b) ? undefined : []
}

const isData = (value: object): boolean => Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value))

/** Whether a field may be left out of a value. */
export const isOptional = (schema: FieldSchema): boolean => {
  if (isEffectSchema(schema)) return schema.ast.context?.isOptional === true
  const missing = validate(schema, undefined)
  return "value" in missing && missing.value === undefined
}

/** Whether a field may be left out of the JSON that a value is read from: it is optional, or has a default. */
export const hasDefault = (schema: StandardSchemaV1<unknown, unknown>): boolean => "value" in validate(schema, undefined)

/**
 * The JSON Schema of the values that a schema reads; undefined where its library has none for it, or where it refers to definitions
 * of its own, which have no place inside of another JSON Schema.
 */
export const jsonSchemaOf = (schema: StandardSchemaV1<unknown, unknown>): Record<string, unknown> | undefined => {
  const standard = schema["~standard"] as Partial<StandardJSONSchemaV1.Props>
  if (standard.jsonSchema === undefined) return undefined
  let json: Record<string, unknown>
  try {
    json = standard.jsonSchema.input({ target: "draft-2020-12" })
  } catch {
    // Libraries throw for what JSON Schema cannot express, such as a function that checks the value.
    return undefined
  }
  const { $schema: _, ...described } = json
  return JSON.stringify(described).includes('"$ref"') ? undefined : described
}
