/**
 * Values that must not be shown: card numbers, tokens, personal data. They are stored like any other value, but answers,
 * diagrams, traces and log lines print `•••` in their place. A mark holds wherever the schema stands: in a struct, an array, a
 * record, a union, an `Option`, a class, behind `.check` or before a transformation. `Schema.Redacted` needs no mark.
 *
 * Structs, classes, arrays, records and unions show the remaining parts of a value. Every other schema with a mark inside
 * (`Option`, `HashMap`, a transformation) hides its whole value, because the place of the secret inside it is not known.
 */
import type * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import type { StandardSchemaV1 } from "effect/StandardSchema"
import { type FieldSchema, type Fields, isEffectSchema } from "./FieldSchema.ts"

const annotation = "detent/sensitive"

/** Printed in place of a sensitive value. */
export const hidden = "•••"

/** A schema of another library than Effect, marked as sensitive as a whole. */
class SensitiveStandard<I, O> implements StandardSchemaV1<I, O> {
  readonly "~standard": StandardSchemaV1<I, O>["~standard"]
  readonly marked: StandardSchemaV1<I, O>

  constructor(marked: StandardSchemaV1<I, O>) {
    this["~standard"] = marked["~standard"]
    this.marked = marked
  }
}

/** Marks a schema as sensitive. */
export const sensitive: {
  <S extends Schema.Top>(schema: S): S["Rebuild"]
  <I, O>(schema: StandardSchemaV1<I, O>): StandardSchemaV1<I, O>
} = (schema: FieldSchema): never =>
  (isEffectSchema(schema) ? (schema as Schema.Top).annotate({ [annotation]: true }) : new SensitiveStandard(schema)) as never

/** The schema that was marked; the schema itself where it is not marked. */
export const unmarked = <I, O>(schema: StandardSchemaV1<I, O>): StandardSchemaV1<I, O> =>
  schema instanceof SensitiveStandard ? unmarked(schema.marked as StandardSchemaV1<I, O>) : schema

/** Whether a schema, or any schema inside it, was marked with {@link sensitive} or is a `Schema.Redacted`. */
export const isSensitive = (schema: FieldSchema): boolean => redactionOfField(schema) !== undefined

/** Returns a function that replaces the sensitive parts of a value. Give it the schema whose type, or whose JSON codec, the value has. */
export const redactor = (schema: FieldSchema): ((value: unknown) => unknown) => redactionOfField(schema) ?? show

const redactionOfField = (schema: FieldSchema): Redaction | undefined => {
  if (isEffectSchema(schema)) return redactionOf(schema.ast)
  return schema instanceof SensitiveStandard ? hide : undefined
}

/** A copy of a value's fields that is safe to show. */
export const redact = (fields: Fields, value: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== "_tag")
      .map(([name, content]) => [name, Object.hasOwn(fields, name) ? redactor(fields[name] as FieldSchema)(content) : content]),
  )

type Redaction = (value: unknown) => unknown

const show: Redaction = (value) => value
const hide: Redaction = () => hidden

/** Cached by node, because recursive schemas refer to themselves. */
const redactions = new WeakMap<SchemaAST.AST, { readonly redaction: Redaction | undefined }>()

/** Returns the redaction of a schema; undefined where nothing in the schema is sensitive. */
const redactionOf = (ast: SchemaAST.AST): Redaction | undefined => {
  const known = redactions.get(ast)
  if (known !== undefined) return known.redaction
  const redaction = holdsSecret(ast, new Set()) ? makeRedaction(ast) : undefined
  redactions.set(ast, { redaction })
  return redaction
}

const makeRedaction = (ast: SchemaAST.AST): Redaction => {
  if (isSecret(ast)) return hide
  const classFields = fieldsOfClass(ast)
  if (classFields !== undefined) return redactObject(classFields)
  if (ast.encoding?.some(({ to }) => redactionOf(to) !== undefined)) return hide
  switch (ast._tag) {
    case "Objects":
      return redactObject(ast)
    case "Arrays":
      return redactArray(ast)
    case "Union":
      return redactUnion(ast)
    case "Suspend":
      return (value) => (redactionOf(ast.thunk()) ?? show)(value)
    default:
      return hide
  }
}

/** Whether the schema itself is sensitive as a whole. */
const isSecret = (ast: SchemaAST.AST): boolean =>
  isMarked(ast) || (ast._tag === "Declaration" && isRedacted(ast.annotations?.["representation"]))

const isRedacted = (representation: unknown): boolean =>
  isObject(representation) && "id" in representation && representation.id === "effect/schema/Redacted"

/** Annotations that follow a check are stored on the check, so each check may have the mark. */
const isMarked = ({ annotations, checks }: Annotated): boolean =>
  annotations?.[annotation] === true || (checks ?? []).some((check) => isMarked(check as Annotated))

interface Annotated {
  readonly annotations?: { readonly [key: string]: unknown } | undefined
  readonly checks?: ReadonlyArray<unknown> | undefined
}

const holdsSecret = (ast: SchemaAST.AST, seen: Set<SchemaAST.AST>): boolean => {
  if (seen.has(ast)) return false
  seen.add(ast)
  return isSecret(ast) || partsOf(ast).some((part) => holdsSecret(part, seen))
}

const partsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  const encodings = (ast.encoding ?? []).map(({ to }) => to)
  switch (ast._tag) {
    case "Declaration":
      return [...encodings, ...ast.typeParameters]
    case "Objects":
      return [
        ...encodings,
        ...ast.propertySignatures.map(({ type }) => type),
        ...ast.indexSignatures.flatMap(({ parameter, type }) => [parameter, type]),
      ]
    case "Arrays":
      return [...encodings, ...ast.elements, ...ast.rest]
    case "Union":
      return [...encodings, ...ast.types]
    case "TemplateLiteral":
      return [...encodings, ...ast.parts]
    case "Suspend":
      return [...encodings, ast.thunk()]
    default:
      return encodings
  }
}

/** The fields of a class as the instance or its JSON has them. Undefined for other schemas, and for classes that rename fields. */
const fieldsOfClass = (ast: SchemaAST.AST): SchemaAST.Objects | undefined => {
  if (ast._tag !== "Declaration" || ast.typeParameters.length !== 1) return undefined
  const [fields] = ast.typeParameters
  const [link, ...others] = ast.encoding ?? []
  if (fields?._tag !== "Objects" || link?.to._tag !== "Objects" || others.length > 0) return undefined
  const given = fields.propertySignatures
  const stored = link.to.propertySignatures
  const isAlike =
    given.length === stored.length &&
    given.every(({ name, type }, at) => name === stored[at]?.name && !hasMoreMarks(stored[at]?.type, type))
  return isAlike ? fields : undefined
}

/** Whether only the encoded side of a class's field is marked. */
const hasMoreMarks = (encoded: SchemaAST.AST | undefined, given: SchemaAST.AST): boolean =>
  encoded !== undefined && redactionOf(encoded) !== undefined && redactionOf(given) === undefined

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

/** Hides the whole value where it is not an object, because it does not fit its schema. */
const redactObject = (ast: SchemaAST.Objects): Redaction => {
  if (isSecret(ast) || ast.indexSignatures.some(({ parameter }) => redactionOf(parameter) !== undefined)) return hide
  const fields = new Map(ast.propertySignatures.map(({ name, type }) => [name, redactionOf(type) ?? show]))
  const entries = ast.indexSignatures.map(({ type }) => redactionOf(type) ?? show)
  return (value) => {
    if (!isObject(value) || Array.isArray(value)) return hidden
    return Object.fromEntries(
      Object.entries(value).map(([name, content]) => {
        const field = fields.get(name)
        return [name, field === undefined ? applyAll(entries, content) : field(content)]
      }),
    )
  }
}

const redactArray = (ast: SchemaAST.Arrays): Redaction => {
  const elements = ast.elements.map((element) => redactionOf(element) ?? show)
  const rest = ast.rest.map((element) => redactionOf(element) ?? show)
  return (value) => {
    if (!Array.isArray(value)) return hidden
    return value.map((content, index) => {
      const element = elements[index]
      return element === undefined ? applyAll(rest, content) : element(content)
    })
  }
}

const applyAll = (redactions: ReadonlyArray<Redaction>, value: unknown): unknown =>
  redactions.reduce<unknown>((shown, redaction) => redaction(shown), value)

/** Applies the redaction of every member that the value may belong to. */
const redactUnion = (ast: SchemaAST.Union): Redaction => {
  const members = ast.types.map((type) => ({ type, redaction: redactionOf(type) ?? show }))
  const allowsNothing = members.some(({ type, redaction }) => redaction === show && isNothing(type))
  return (value) => {
    if (allowsNothing && (value === null || value === undefined)) return value
    const fitting = members.filter(({ type }) => mayBe(type, value))
    return fitting.length === 0
      ? hidden
      : applyAll(
          fitting.map(({ redaction }) => redaction),
          value,
        )
  }
}

const isNothing = (ast: SchemaAST.AST): boolean => ast._tag === "Null" || ast._tag === "Undefined" || ast._tag === "Void"

/** Whether a value may belong to a schema, judged by its type and its literal fields only. */
const mayBe = (ast: SchemaAST.AST, value: unknown): boolean => {
  if (ast.encoding !== undefined) return true
  switch (ast._tag) {
    case "String":
      return typeof value === "string"
    case "Number":
      return typeof value === "number"
    case "Boolean":
      return typeof value === "boolean"
    case "Literal":
      return value === ast.literal
    case "Null":
      return value === null
    case "Undefined":
    case "Void":
      return value === undefined
    case "Arrays":
      return Array.isArray(value)
    case "Objects":
      return isObject(value) && !Array.isArray(value) && ast.propertySignatures.every((field) => mayHave(field, value))
    case "Union":
      return ast.types.some((type) => mayBe(type, value))
    default:
      return true
  }
}

const mayHave = ({ name, type }: SchemaAST.PropertySignature, value: object): boolean =>
  type._tag !== "Literal" || type.encoding !== undefined || !(name in value) || value[name as keyof typeof value] === type.literal

/**
 * Returns the number of path segments up to the first sensitive place. A path that ends at a value with a secret inside counts
 * as sensitive. Undefined where the path touches no secret.
 */
export const secretDepth = (schema: Schema.Constraint, path: ReadonlyArray<PropertyKey>): number | undefined => depthOf(schema.ast, path, 0)

const depthOf = (ast: SchemaAST.AST, path: ReadonlyArray<PropertyKey>, depth: number): number | undefined => {
  const redaction = redactionOf(ast)
  if (redaction === undefined) return undefined
  if (redaction === hide || depth === path.length) return depth
  const inside = (types: ReadonlyArray<SchemaAST.AST>, at: number) =>
    types.reduce<number | undefined>((least, type) => {
      const found = depthOf(type, path, at)
      return found === undefined || (least !== undefined && least <= found) ? least : found
    }, undefined)
  const shape = fieldsOfClass(ast) ?? ast
  switch (shape._tag) {
    case "Union":
      return inside(shape.types, depth)
    case "Suspend":
      return depthOf(shape.thunk(), path, depth)
    case "Arrays": {
      const element = shape.elements[Number(path[depth])]
      return inside(element === undefined ? shape.rest : [element], depth + 1)
    }
    case "Objects": {
      const field = shape.propertySignatures.find(({ name }) => name === path[depth])
      return inside(field === undefined ? shape.indexSignatures.map(({ type }) => type) : [field.type], depth + 1)
    }
    default:
      return depth
  }
}
