/**
 * Finds the places of a schema whose values JSON would lose or change: dates, big integers, maps, and transformations, whose results
 * the schema does not read again. Each library describes its schemas in its own way; those that are not known here are checked on
 * every value instead.
 */
import type { StandardSchemaV1 } from "effect/StandardSchema"

/** A place that cannot be stored as JSON and read back equal. */
export interface UnstorablePlace {
  readonly path: ReadonlyArray<string>
  /** What is there, as in "a date". */
  readonly what: string
  readonly nextStep: string
}

/** The first place of a schema that cannot be stored; undefined where none is known. */
export const unstorablePlace = (schema: StandardSchemaV1<unknown, unknown>): UnstorablePlace | undefined => {
  const find = finders.get(schema["~standard"].vendor)
  return find?.(schema, [], new Set())
}

/** The kind of a schema, and the schemas inside it. */
interface Described {
  readonly kind: string
  readonly parts: ReadonlyArray<Part>
}

type Find = (schema: unknown, path: ReadonlyArray<string>, seen: Set<unknown>) => UnstorablePlace | undefined

interface Part {
  readonly schema: unknown
  readonly at?: string
}

const lost: { readonly [kind: string]: string } = {
  date: "a date",
  bigint: "a bigint",
  map: "a map",
  set: "a set",
  symbol: "a symbol",
  function: "a function",
  file: "a file",
  blob: "a blob",
  promise: "a promise",
  nan: "NaN",
  instance: "an instance of a class",
}

const place = (kind: string, path: ReadonlyArray<string>): UnstorablePlace | undefined => {
  if (kind === "transform")
    return { path, what: "a transformation, whose result it does not read again", nextStep: "transform the value in a decision instead" }
  const what = Object.hasOwn(lost, kind) ? lost[kind] : undefined
  if (what === undefined) return undefined
  const nextStep = kind === "date" ? "keep an ISO string or milliseconds" : kind === "bigint" ? "keep a string" : "keep plain data"
  return { path, what, nextStep }
}

/** Searches the parts of a schema. A schema that contains itself is searched once. */
const searching =
  (describe: (schema: unknown) => Described): Find =>
  (schema, path, seen) => {
    if (seen.has(schema)) return undefined
    if (typeof schema === "object" && schema !== null) seen.add(schema)
    const { kind, parts } = describe(schema)
    const here = place(kind, path)
    if (here !== undefined) return here
    for (const part of parts) {
      const inside = searching(describe)(part.schema, part.at === undefined ? path : [...path, part.at], seen)
      if (inside !== undefined) return inside
    }
    return undefined
  }

type Shape = Readonly<Record<string, unknown>>

const shape = (value: unknown): Shape =>
  (typeof value === "object" && value !== null) || typeof value === "function" ? (value as Shape) : {}

const list = (value: unknown): ReadonlyArray<unknown> =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]

const named = (fields: unknown): ReadonlyArray<Part> => Object.entries(shape(fields)).map(([at, schema]) => ({ schema, at }))

const all = (...schemas: ReadonlyArray<unknown>): ReadonlyArray<Part> => schemas.flatMap(list).map((schema) => ({ schema }))

const ofZod = (schema: unknown): Described => {
  const def = shape(shape(shape(schema)["_zod"])["def"])
  const kind = String(def["type"])
  // Reading `getter` of another kind than lazy would run a function of the user.
  const lazy = kind === "lazy" && typeof def["getter"] === "function" ? def["getter"]() : undefined
  const literals = kind === "literal" ? list(def["values"]).map((value) => typeof value) : []
  return {
    // A codec is a pipe with functions.
    kind: literals.includes("bigint") ? "bigint" : typeof def["transform"] === "function" ? "transform" : kind,
    parts: [
      ...named(def["shape"]),
      ...list(def["element"]).map((element) => ({ schema: element, at: "[]" })),
      ...list(def["items"]).map((item, index) => ({ schema: item, at: String(index) })),
      ...list(def["valueType"]).map((value) => ({ schema: value, at: "*" })),
      ...all(def["catchall"], def["rest"], def["options"], def["left"], def["right"], def["innerType"], def["in"], def["out"], lazy),
    ],
  }
}

/** Actions of valibot that return their own results unchanged. */
const idempotent = new Set([
  "trim",
  "trim_start",
  "trim_end",
  "to_lower_case",
  "to_upper_case",
  "normalize",
  "readonly",
  "to_min_value",
  "to_max_value",
])

const ofValibot = (schema: unknown): Described => {
  const def = shape(schema)
  const type = String(def["type"])
  const isChange = def["kind"] === "transformation" && !idempotent.has(type)
  const kind = type === "literal" ? typeof def["literal"] : type
  return {
    kind: isChange ? "transform" : kind,
    parts: [
      ...named(def["entries"]),
      ...list(def["item"]).map((item) => ({ schema: item, at: "[]" })),
      ...list(def["items"]).map((item, index) => ({ schema: item, at: String(index) })),
      ...(type === "record" ? list(def["value"]).map((value) => ({ schema: value, at: "*" })) : []),
      ...all(def["rest"], def["wrapped"], type === "variant" || type === "union" || type === "intersect" ? def["options"] : []),
      // The first element of a pipe is the schema itself, without the pipe.
      ...list(def["pipe"])
        .slice(1)
        .map((schema) => ({ schema })),
    ],
  }
}

/** Of the description that arktype writes as JSON: names of domains and classes, lists of branches, or nodes. */
const ofArk = (node: unknown): Described => {
  if (typeof node === "string") return { kind: node === "Array" || node === "object" ? "object" : node.toLowerCase(), parts: [] }
  if (Array.isArray(node)) return { kind: "union", parts: all(node) }
  const def = shape(node)
  const fields = [...list(def["required"]), ...list(def["optional"])].map(shape)
  const proto = def["proto"] ?? def["builtin"]
  const isClass = typeof proto === "string" && proto !== "Array" && proto !== "Object"
  const unit = typeof def["unit"] === "string" && /^-?\d+n$/.test(def["unit"]) ? "bigint" : "unit"
  return {
    kind:
      "morphs" in def
        ? "transform"
        : isClass && Object.hasOwn(lost, proto.toLowerCase())
          ? proto.toLowerCase()
          : isClass
            ? "instance"
            : unit,
    parts: [
      ...fields.map(({ key, value }) => ({ schema: value, at: String(key) })),
      ...list(def["index"]).map((entry) => ({ schema: shape(entry)["value"], at: "*" })),
      ...list(def["sequence"])
        .flatMap(elementsOfArk)
        .map((element) => ({ schema: element, at: "[]" })),
      ...all(def["domain"], def["branches"]),
    ],
  }
}

/** The elements of a list or tuple: one node for all, or nodes by their place, such as `prefix` and `variadic`. */
const elementsOfArk = (sequence: unknown): ReadonlyArray<unknown> => {
  const isNode = typeof sequence === "string" || ["domain", "proto", "unit", "branches", "morphs"].some((key) => key in shape(sequence))
  return isNode ? [sequence] : Object.values(shape(sequence)).flatMap(list)
}

const inArk = searching(ofArk)

const finders: ReadonlyMap<string, Find> = new Map<string, Find>([
  ["zod", searching(ofZod)],
  ["valibot", searching(ofValibot)],
  ["arktype", (schema, path, seen) => inArk(shape(schema)["json"], path, seen)],
])
