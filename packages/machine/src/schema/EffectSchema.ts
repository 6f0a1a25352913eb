/**
 * The schemas of Effect for states, events, slots and answers: what stores, protocols and generators need. A schema of another library
 * becomes one whose JSON side has the library's JSON Schema, and whose values the library itself validates.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import type { StandardSchemaV1 } from "effect/StandardSchema"
import {
  type FieldSchema,
  type Fields,
  hasDefault,
  isEffectSchema,
  isOptional,
  jsonSchemaOf,
  type Misfit,
  misfitsOf,
  type TypeOf,
  validate,
} from "./FieldSchema.ts"
import { schemaProblem } from "./SchemaProblem.ts"
import { isSensitive, sensitive } from "./Sensitive.ts"
import type { UntypedUnion } from "./Union.ts"
import type { EffectCheck } from "./ValueCheck.ts"
import type { UntypedVariant } from "./Variant.ts"

type AnyCodec = Schema.Codec<unknown, unknown>

const converted = new WeakMap<object, AnyCodec>()

/** The schema of Effect for the schema of a field. */
export const asSchema = <S extends FieldSchema>(schema: S): Schema.Codec<TypeOf<S>, unknown> => {
  const known = isEffectSchema(schema) ? (schema as unknown as AnyCodec) : converted.get(schema)
  if (known !== undefined) return known as Schema.Codec<TypeOf<S>, unknown>
  const made = convert(schema as StandardSchemaV1<unknown, unknown>)
  converted.set(schema, made)
  return made as Schema.Codec<TypeOf<S>, unknown>
}

/** The schemas of Effect for fields. */
export const asFields = (fields: Fields): Schema.Struct.Fields =>
  Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, asSchema(schema)]))

const anything = Schema.declare((_: unknown): _ is unknown => true)

const convert = (schema: StandardSchemaV1<unknown, unknown>): AnyCodec => {
  const described = jsonSchemaOf(schema)
  const json =
    described === undefined ? Schema.Json : Schema.Json.check(Schema.makeFilter(() => undefined, { toJsonSchema: () => described }))
  const value = anything.check(Schema.makeFilter((value) => misfitsOf(schema, value).map(issueOf)))
  const codec = Schema.decodeTo(isOptional(schema) ? Schema.optionalKey(value) : value, {
    // A value that does not fit is passed on: the check of the value side says why.
    decode: SchemaGetter.transformOptional((given: Option.Option<unknown>) => {
      const validated = validate(schema, Option.getOrUndefined(given))
      return "value" in validated ? Option.fromUndefinedOr(validated.value) : given
    }),
    encode: SchemaGetter.transformOptional((given: Option.Option<unknown>) =>
      Option.map(
        Option.filter(given, (value) => value !== undefined),
        (value) => withoutUndefined(value) as Schema.Json,
      ),
    ),
  })(hasDefault(schema) ? Schema.optionalKey(json) : json) as unknown as Schema.Top
  return (isSensitive(schema) ? sensitive(codec) : codec) as unknown as AnyCodec
}

const issueOf = ({ path, message }: Misfit) => ({ path, issue: message })

/** JSON has no undefined: properties that are undefined are left out. */
const withoutUndefined = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutUndefined)
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).flatMap(([key, part]) => (part === undefined ? [] : [[key, withoutUndefined(part)]])))
}

const ofSources = new WeakMap<object, AnyCodec>()

/** The schema of Effect of a state, an event, or all states or events of a union. */
export const schemaOf = <T>(
  source: { readonly Type: T } & ({ readonly fields: Fields } | { readonly $tags: ReadonlyArray<string> }),
): Schema.Codec<T, unknown> => {
  const known = ofSources.get(source)
  if (known !== undefined) return known as Schema.Codec<T, unknown>
  const made = schemaOfSource(source)
  ofSources.set(source, made)
  return made as Schema.Codec<T, unknown>
}

const schemaOfSource = (source: object): AnyCodec =>
  "$variants" in source
    ? (Schema.Union([...(source as UntypedUnion).$variants.values()].map(schemaOfVariant)) as unknown as AnyCodec)
    : schemaOfVariant(source as UntypedVariant)

/** Gives a variant whose values have more than its declared fields a schema of its own, before any schema of it is read. */
export const setVariantSchema = (variant: UntypedVariant, schema: Schema.Constraint) => {
  ofSources.set(variant, schema as unknown as AnyCodec)
}

/** The schema of Effect of one state or event, before its types are known. */
export const schemaOfVariant = (variant: UntypedVariant): Schema.Codec<{ readonly _tag: string }, unknown> => {
  const known = ofSources.get(variant)
  if (known !== undefined) return known as Schema.Codec<{ readonly _tag: string }, unknown>
  const made = Schema.TaggedStruct(variant.tag, asFields(variant.fields)) as unknown as AnyCodec
  ofSources.set(variant, made)
  return made as Schema.Codec<{ readonly _tag: string }, unknown>
}

/** Checks fields that have schemas of Effect. The schemas are compiled on the first value that needs them. */
export const checkBySchema: EffectCheck = (tag, fields) => {
  const schema = Schema.Struct(fields) as unknown as Schema.Codec<object, unknown>
  let fits: ((value: unknown) => boolean) | undefined
  return (value) => {
    fits ??= Schema.is(schema)
    if (fits(value)) return undefined
    const result = Schema.decodeUnknownResult(Schema.toType(schema))(value)
    return result._tag === "Failure" ? schemaProblem(schema, result.failure) : `it does not fit the schema of ${tag}`
  }
}
