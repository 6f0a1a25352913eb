/**
 * Indexed fields of a definition. Each is declared by a function that reads one field of the state. It is called once, with a record of
 * what it reads, so that the path and the schema of the field are known at definition, and no function of the user runs in a commit.
 */
import type { IndexBlueprint, IndexKind } from "../contract/Search.ts"
import { type FieldSchema, isEffectSchema, jsonSchemaOf } from "../schema/FieldSchema.ts"
import { isSensitive } from "../schema/Sensitive.ts"
import type { UntypedUnion } from "../schema/Union.ts"
import { type Declarations, fail } from "./Declarations.ts"

/** Reads the field that an index is on. */
export type ReadIndexed = (state: never) => unknown

/** More would make each commit that changes them expensive. */
export const mostIndexes = 20

const namePattern = /^[a-zA-Z][a-zA-Z0-9_]{0,99}$/

export const declareIndexes = (
  declarations: Declarations,
  given: Readonly<Record<string, ReadIndexed>>,
): ReadonlyMap<string, IndexBlueprint> => {
  const indexes = new Map(declarations.indexes)
  for (const [name, read] of Object.entries(given)) {
    if (!namePattern.test(name))
      fail(declarations, `${JSON.stringify(name)} cannot name an index`, "use a letter, then at most 99 letters, digits and underscores")
    if (indexes.has(name)) fail(declarations, `index ${name} is declared twice`, "remove one of them")
    const path = pathOf(declarations, name, read)
    indexes.set(name, { name, path, kind: kindAt(declarations, name, path) })
  }
  if (indexes.size > mostIndexes)
    fail(declarations, `it has ${indexes.size} indexes, the limit is ${mostIndexes}`, "keep those that instances are found or ordered by")
  return indexes
}

/** The fields that the function reads, one inside the other. */
const pathOf = (declarations: Declarations, name: string, read: unknown): ReadonlyArray<string> => {
  const paths = new Map<unknown, ReadonlyArray<string>>()
  const record = (path: ReadonlyArray<string>): unknown => {
    const place = new Proxy(Object.create(null) as object, {
      get: (_, property) => (typeof property === "string" ? record([...path, property]) : undefined),
    })
    paths.set(place, path)
    return place
  }
  const refuse = (problem: string) =>
    fail(declarations, `index ${name} ${problem}`, `read one field of the state, as in .index({ ${name}: (state) => state.${name} })`)
  if (typeof read !== "function") return refuse("is no function")
  let value: unknown
  try {
    value = (read as (state: unknown) => unknown)(record([]))
  } catch {
    return refuse("computes a value")
  }
  const path = paths.get(value)
  return path === undefined || path.length === 0 ? refuse("computes a value") : path
}

/** The kind of the values at a path, in all states that have it. */
const kindAt = (declarations: Declarations, name: string, path: ReadonlyArray<string>): IndexKind => {
  const [field = "", ...rest] = path
  const kinds = new Set<IndexKind>()
  const text = path.join(".")
  const variants = [...(declarations.state as UntypedUnion).$variants.values()].filter(({ fields }) => Object.hasOwn(fields, field))
  if (field === "_tag") fail(declarations, `index ${name} is on _tag`, "instances are found by their state without an index: list by state")
  if (variants.length === 0) fail(declarations, `index ${name} is on ${text}, and no state has a field ${field}`, "name a field of a state")
  for (const { tag, fields } of variants) {
    const schema = fields[field] as FieldSchema
    const place = `${text} of ${tag}`
    if (isSensitive(schema))
      fail(declarations, `index ${name} is on ${place}, which is sensitive`, "lists show indexed values: index a digest of it instead")
    const found = isEffectSchema(schema) ? kindsOfAst(schema.ast as Ast, rest) : kindsOfStandard(schema, rest)
    if (found.size === 0)
      fail(declarations, `index ${name} is on ${place}, which its schema does not have`, "name a field that the schema declares")
    for (const kind of found) {
      if (kind === "other")
        fail(
          declarations,
          `index ${name} is on ${place}, which is no text, number, instant or boolean`,
          "index a field inside of it, or keep the value in a field of its own",
        )
      else kinds.add(kind)
    }
  }
  const [kind, other] = kinds
  if (kind === undefined || other !== undefined)
    return fail(declarations, `index ${name} is on ${text}, which is ${[...kinds].join(" or ")}`, "give it one kind in all states")
  return kind
}

type Found = ReadonlySet<IndexKind | "other">

/** What is read of the schemas of Effect, whose own module is not loaded here. */
interface Ast {
  readonly _tag: string
  readonly literal?: unknown
  readonly enums?: ReadonlyArray<readonly [string, string | number]>
  readonly types?: ReadonlyArray<Ast>
  readonly thunk?: () => Ast
  readonly typeParameters?: ReadonlyArray<Ast>
  readonly annotations?: { readonly representation?: { readonly id?: string } }
  readonly propertySignatures?: ReadonlyArray<{ readonly name: PropertyKey; readonly type: Ast }>
}

const instants = new Set(["Date", "DateTimeUtc", "DateTimeZoned"].map((name) => `effect/schema/${name}`))

const union = (found: Iterable<Found>): Found => new Set([...found].flatMap((kinds) => [...kinds]))

const kindsOfAst = (ast: Ast, path: ReadonlyArray<string>): Found => {
  if (ast._tag === "Suspend" && ast.thunk !== undefined) return kindsOfAst(ast.thunk(), path)
  if (ast._tag === "Union") return union((ast.types ?? []).map((type) => kindsOfAst(type, path)))
  if (isNothing(ast)) return new Set()
  const [name, ...rest] = path
  if (name === undefined) return new Set([leafKind(ast)])
  const fields = ast._tag === "Declaration" && ast.typeParameters?.length === 1 ? ast.typeParameters[0] : ast
  return union((fields?.propertySignatures ?? []).filter((one) => one.name === name).map(({ type }) => kindsOfAst(type, rest)))
}

const isNothing = ({ _tag }: Ast): boolean => _tag === "Null" || _tag === "Undefined" || _tag === "Void"

const leafKind = (ast: Ast): IndexKind | "other" => {
  switch (ast._tag) {
    case "String":
    case "TemplateLiteral":
      return "text"
    case "Number":
      return "number"
    case "Boolean":
      return "boolean"
    case "Literal":
      return kindOfValue(ast.literal)
    case "Enum":
      return kindOfValue(ast.enums?.[0]?.[1])
    case "Declaration":
      return instants.has(ast.annotations?.representation?.id ?? "") ? "instant" : "other"
    default:
      return "other"
  }
}

const kindOfValue = (value: unknown): IndexKind | "other" => {
  switch (typeof value) {
    case "string":
      return "text"
    case "number":
      return "number"
    case "boolean":
      return "boolean"
    default:
      return "other"
  }
}

/** JSON Schema, or the description that a schema of valibot has of itself. */
interface Described {
  readonly type?: unknown
  readonly format?: unknown
  readonly const?: unknown
  readonly literal?: unknown
  readonly enum?: unknown
  readonly options?: unknown
  readonly wrapped?: Described
  readonly anyOf?: ReadonlyArray<Described>
  readonly oneOf?: ReadonlyArray<Described>
  readonly properties?: Readonly<Record<string, Described>>
  readonly entries?: Readonly<Record<string, Described>>
}

const kindsOfStandard = (schema: Exclude<FieldSchema, { readonly ast: unknown }>, path: ReadonlyArray<string>): Found => {
  const own = schema as unknown as Described & { readonly "~standard": { readonly vendor: string } }
  const described = own["~standard"].vendor === "valibot" ? own : jsonSchemaOf(schema as never)
  return described === undefined ? new Set(["other"] as const) : kindsOfDescribed(described, path)
}

const nothings = new Set(["null", "undefined", "void"])

const listed = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const kindsOfDescribed = (described: Described, path: ReadonlyArray<string>): Found => {
  const { type, anyOf, oneOf, wrapped, properties, entries } = described
  const alternatives = anyOf ?? oneOf ?? (type === "union" ? (listed(described.options) as ReadonlyArray<Described>) : undefined)
  if (alternatives !== undefined) return union(alternatives.map((one) => kindsOfDescribed(one, path)))
  if (wrapped !== undefined) return kindsOfDescribed(wrapped, path)
  if (Array.isArray(type)) return union(type.map((one: unknown) => kindsOfDescribed({ ...described, type: one }, path)))
  if (nothings.has(String(type))) return new Set()
  const [name, ...rest] = path
  if (name !== undefined) {
    const inside = properties ?? entries ?? {}
    return Object.hasOwn(inside, name) ? kindsOfDescribed(inside[name] as Described, rest) : new Set()
  }
  const values = [described.const, described.literal, ...listed(described.enum), ...(type === "picklist" ? listed(described.options) : [])]
  const literals = values.filter((value) => value !== undefined && value !== null)
  if (literals.length > 0) return new Set(literals.map(kindOfValue))
  if (type === "string") return new Set([described.format === "date-time" ? "instant" : "text"] as const)
  return new Set([type === "number" || type === "integer" ? "number" : type === "boolean" ? "boolean" : "other"] as const)
}
