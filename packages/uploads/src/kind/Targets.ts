/** The fields of a schema that a mapping can fill, from its JSON Schema. */
import type { TargetField } from "@detent/tables"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

/** The part of JSON Schema that says what a value is. */
interface JsonSchema {
  readonly type?: string | ReadonlyArray<string>
  readonly format?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: unknown
  readonly enum?: ReadonlyArray<unknown>
  readonly const?: unknown
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly oneOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
  readonly $ref?: string
}

/** The deepest fields that are listed, and how many. */
const mostLevels = 6
const mostFields = 2_000

/** More choices than this are no list to choose from. */
const mostChoices = 100

/** The fields of a schema, the required ones first; undefined where it accepts any field. */
export const targetsOf = (schema: Schema.Codec<object, unknown>): ReadonlyArray<TargetField> | undefined => {
  const { schema: root, definitions } = Schema.toJsonSchemaDocument(schema) as unknown as {
    readonly schema: JsonSchema
    readonly definitions: Readonly<Record<string, JsonSchema>>
  }
  const dates = new Set<string>()
  collectDates(schema.ast, "", dates, 0)
  const found = new Map<string, TargetField>()
  const resolve = (one: JsonSchema): JsonSchema => {
    const name = one.$ref?.split("/").at(-1)
    return name === undefined ? one : (definitions[name] ?? {})
  }
  /** Returns false where the object may have any field. */
  const walk = (given: JsonSchema, before: string, isRequired: boolean, level: number): boolean => {
    const one = resolve(given)
    const parts = [...(one.anyOf ?? []), ...(one.oneOf ?? [])].map(resolve).filter(({ type }) => type !== "null")
    if (parts.length > 0 && one.properties === undefined) {
      const walked = parts.map((part) => walk(part, before, isRequired && parts.length === 1, level))
      return walked.every((isKnown) => isKnown)
    }
    const { properties } = one
    if (properties === undefined || Object.keys(properties).length === 0) return false
    for (const [name, property] of Object.entries(properties)) {
      if (found.size >= mostFields) return true
      const path = `${before}${name}`
      const isNeeded = isRequired && (one.required ?? []).includes(name)
      const shape = shapeOf(resolve(property), resolve)
      if (shape.type === "object" && level < mostLevels && walk(property, `${path}.`, isNeeded, level + 1)) continue
      const type = shape.type === "object" ? "any" : dates.has(path) ? "date" : shape.type
      // Of two members of a union, a field is required where both require it.
      const earlier = found.get(path)
      const { choices } = shape
      found.set(path, {
        path,
        type: earlier === undefined || earlier.type === type ? type : "any",
        isRequired: isNeeded && earlier?.isRequired !== false,
        ...(choices === undefined || earlier !== undefined ? {} : { choices }),
      })
    }
    return true
  }
  if (!walk(root, "", true, 0)) return undefined
  const fields = [...found.values()]
  return [...fields.filter((one) => one.isRequired), ...fields.filter((one) => !one.isRequired)]
}

interface Shape {
  readonly type: TargetField["type"] | "object"
  readonly choices?: ReadonlyArray<string>
}

const shapeOf = (one: JsonSchema, resolve: (one: JsonSchema) => JsonSchema): Shape => {
  const parts = [...(one.anyOf ?? []), ...(one.oneOf ?? [])].map(resolve).filter(({ type }) => type !== "null")
  if (parts.length > 0) {
    const shapes = parts.map((part) => shapeOf(part, resolve))
    const [first] = shapes
    if (first === undefined || shapes.some(({ type }) => type !== first.type)) return { type: "any" }
    const choices = shapes.flatMap((shape) => shape.choices ?? [])
    return shapes.every((shape) => shape.choices !== undefined) && choices.length <= mostChoices
      ? { type: first.type, choices }
      : { type: first.type }
  }
  const texts = (one.enum ?? (one.const === undefined ? [] : [one.const])).filter((value) => typeof value === "string")
  if (texts.length > 0 && texts.length <= mostChoices && (one.enum?.length ?? 1) === texts.length) return { type: "text", choices: texts }
  switch (one.type) {
    case "number":
    case "integer":
      return { type: "number" }
    case "boolean":
      return { type: "boolean" }
    case "array":
      return { type: "list" }
    case "object":
      return { type: "object" }
    case "string":
      return { type: one.format === "date" || one.format === "date-time" ? "date" : "text" }
    default:
      return { type: "any" }
  }
}

/** JSON Schema has texts for dates. */
const collectDates = (ast: SchemaAST.AST, before: string, dates: Set<string>, level: number) => {
  if (level > mostLevels) return
  if (SchemaAST.isObjects(ast)) {
    for (const { name, type } of ast.propertySignatures)
      collectDates(type, before === "" ? String(name) : `${before}.${String(name)}`, dates, level + 1)
  } else if (SchemaAST.isUnion(ast)) for (const type of ast.types) collectDates(type, before, dates, level + 1)
  else if (SchemaAST.isDeclaration(ast)) {
    const { id } = (ast.annotations?.["representation"] ?? {}) as { readonly id?: unknown }
    if (typeof id === "string" && /^effect\/schema\/Date/u.test(id)) dates.add(before)
  }
}
