/**
 * Checks that a value fits the event or state of its tag. Fields of plain strings, numbers and booleans are checked without
 * their schemas: on every send, 3 ns instead of 97 ns for an event of one field, 32 ns instead of 196 ns for three.
 */
import * as Schema from "effect/Schema"
import { type SchemaFailure, schemaProblem } from "./SchemaProblem.ts"
import type { UntypedVariant } from "./Variant.ts"

/** Returns the problem with the fields of a value; undefined where they fit. */
export type ValueCheck = (value: object) => string | undefined

const plainTypes: ReadonlyMap<string, string> = new Map([
  ["String", "string"],
  ["Number", "number"],
  ["Boolean", "boolean"],
])

export const valueCheck = (variant: UntypedVariant): ValueCheck => {
  const fields = Object.entries(variant.fields)
  if (fields.length === 0) return accept
  const plain = fields.map(([name, schema]) => [name, plainType(schema)] as const)
  if (plain.some(([, type]) => type === undefined)) return bySchema(variant)
  const explain = bySchema(variant)
  return (value) => {
    for (const [name, type] of plain) {
      if (typeof value[name as keyof typeof value] !== type) return explain(value)
    }
    return undefined
  }
}

const accept: ValueCheck = () => undefined

const bySchema = (variant: UntypedVariant): ValueCheck => {
  let decode: ((value: unknown) => { readonly _tag: string; readonly failure?: SchemaFailure }) | undefined
  return (value) => {
    if (variant.is(value)) return undefined
    decode ??= Schema.decodeUnknownResult(Schema.toType(variant.schema)) as unknown as typeof decode
    const result = decode?.(value)
    return result?.failure !== undefined ? schemaProblem(variant.schema, result.failure) : `it does not fit the schema of ${variant.tag}`
  }
}

/** Whether every field is a plain string, number or boolean: JSON then carries the value unchanged. */
export const isPlain = (variant: UntypedVariant): boolean => Object.values(variant.fields).every(isPlainField)

export const isPlainField = (schema: Schema.Constraint): boolean => plainType(schema) !== undefined

const plainType = (schema: Schema.Constraint): string | undefined => {
  const { ast } = schema
  const isBare = ast.checks === undefined && ast.encoding === undefined && ast.context === undefined
  return isBare ? plainTypes.get(ast._tag) : undefined
}
