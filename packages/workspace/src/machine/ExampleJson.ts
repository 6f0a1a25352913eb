/** An example value of a JSON Schema, for users to edit: the required fields only. */
import * as Schema from "effect/Schema"

const Description = Schema.Struct({
  type: Schema.optionalKey(Schema.String),
  enum: Schema.optionalKey(Schema.Array(Schema.Json)),
  anyOf: Schema.optionalKey(Schema.Array(Schema.Json)),
  $ref: Schema.optionalKey(Schema.String),
  $defs: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  properties: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  required: Schema.optionalKey(Schema.Array(Schema.String)),
  prefixItems: Schema.optionalKey(Schema.Array(Schema.Json)),
  minimum: Schema.optionalKey(Schema.Finite),
  exclusiveMinimum: Schema.optionalKey(Schema.Finite),
  maximum: Schema.optionalKey(Schema.Finite),
})

const describe = Schema.decodeUnknownOption(Description)

/** The example of a recursive schema stops at this depth. */
const deepest = 6

export const exampleOf = (schema: Schema.Json): Schema.Json => {
  const described = describe(schema)
  return example(schema, described._tag === "Some" ? (described.value.$defs ?? {}) : {}, 0)
}

/** The same for the fields of a state or an event, without the tag. */
export const exampleFields = (schema: Schema.Json): { readonly [name: string]: Schema.Json } =>
  Object.fromEntries(Object.entries(exampleOf(schema) ?? {}).filter(([name]) => name !== "_tag"))

const example = (schema: Schema.Json, definitions: Readonly<Record<string, Schema.Json>>, depth: number): Schema.Json => {
  const described = describe(schema)
  if (described._tag === "None" || depth > deepest) return null
  const { type, enum: values, anyOf, $ref, properties = {}, required = [], prefixItems = [], ...limits } = described.value
  const inside = (one: Schema.Json = {}) => example(one, definitions, depth + 1)
  if ($ref !== undefined) return inside(definitions[$ref.replace("#/$defs/", "")])
  if (values?.[0] !== undefined) return values[0]
  if (anyOf?.[0] !== undefined) return inside(anyOf[0])
  switch (type) {
    case "string":
      return "…"
    case "integer":
    case "number":
      return nearestToZero(limits)
    case "boolean":
      return false
    case "array":
      return prefixItems.map(inside)
    case "object":
      return Object.fromEntries(required.map((name) => [name, inside(properties[name])]))
    default:
      return null
  }
}

interface Limits {
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
}

/** Integers have the limits of safe integers, so a limit is an example only where 0 is beyond it. */
const nearestToZero = ({ minimum = -Infinity, exclusiveMinimum = -Infinity, maximum = Infinity }: Limits): number =>
  Math.min(maximum, Math.max(0, minimum, exclusiveMinimum + 1))
