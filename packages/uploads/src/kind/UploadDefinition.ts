/**
 * The definition of an upload: a name, the schema of its items, their id, and their search index. Every kind of item has the same
 * states, correction, retry and search.
 *
 * ```ts
 * export const Products = defineUpload({
 *   name: "Products",
 *   schema: Schema.Struct({ sku: Schema.String, title: Schema.String, brand: Schema.String, price: Schema.Finite }),
 *   id: "sku",
 *   index: { text: ["title"], fields: ["brand"] },
 * })
 * ```
 */
import type { TypeOf } from "@detent/machine"
import { asSchema, checkSchema, issuesOf, issueText, type SchemaFailure, schemaProblem } from "@detent/machine/internal"
import { checkMapping, isoDateProblem, type Mapping, nestedValues } from "@detent/tables"
import type * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { StandardSchemaV1 } from "effect/StandardSchema"
import type { Notice } from "../batch/BatchWork.ts"
import { tokensOf } from "../item/FieldToken.ts"
import type { ItemProblem, ProblemReason } from "../item/ItemProblem.ts"
import { checkDeliver, type DeliverOptions } from "./DeliverOptions.ts"
import { columnsOf } from "./ItemColumns.ts"
import type { Integrity, ItemContent, ItemKind } from "./ItemKind.ts"
import { bad, kindOf } from "./ReadItem.ts"
import { filledCells, textCells } from "./TableKind.ts"
import { targetsOf } from "./Targets.ts"

/** The schema of items, of Effect or another library: an object whose decoding needs no services. */
export type ItemSchema = Schema.Codec<object, unknown> | StandardSchemaV1<unknown, object>

/** The fields whose values have this type or are absent. */
type FieldsOf<Item, Value> = { [K in keyof Item & string]: Exclude<Item[K], undefined> extends Value ? K : never }[keyof Item & string]

/** A field of an item, or a function of the item. */
type Picked<Item, Value> = FieldsOf<Item, Value> | ((item: Item) => Value | undefined)

type Comparable = string | number | boolean

/** The search index of stored items. */
export interface ItemIndex<Item, Field extends string> {
  /** The text that is searched for words: fields, joined by spaces, or a function. */
  readonly text?: ReadonlyArray<FieldsOf<Item, string>> | ((item: Item) => string)
  /** Fields that the `where` of a search can use. A list matches with any of its elements. */
  readonly fields?: ReadonlyArray<Field>
  /**
   * The number that `from` and `until` compare, and by which found items are ordered, largest first. Default: 0 for every item, so that
   * the items that were added last come first.
   */
  readonly time?: Picked<Item, number>
}

/** Settings that any upload can have. */
export interface UploadSettings<Item> {
  /** Checks every item that fits the schema. Returns the reason to refuse the item, or undefined. */
  readonly check?: (item: Item) => string | undefined
  /** Called when a batch of this kind is completed, partially completed or failed: at least once, always with the same `key`. */
  readonly notify?: (notice: Notice) => Effect.Effect<void, unknown>
  /**
   * Sends stored items in batches to where they belong, such as an API or another database: each delivery once, with the same key when it is
   * repeated. Items that were stored before it is given are not sent.
   */
  readonly deliver?: DeliverOptions<Item>
  /**
   * How extraction checks that the file has not changed since validation: by its size and modification time (`time`); by its size
   * alone (`size`), for file systems without reliable times; or also by its MD5 (`hash`), which reads the file once more.
   * Default: `time`.
   */
  readonly integrity?: Integrity
  /**
   * The module that exports this definition: `import.meta.url`. Worker processes then load it and read the items, each within a
   * limit of time and memory, so that an item that never ends fails alone. The module must be safe to import: worker processes have
   * no access to environment variables. Definitions in `detent.config.ts` do not need it. Default: the process itself reads the items.
   */
  readonly module?: string | URL
}

export interface UploadOptions<S extends ItemSchema, Field extends string> extends UploadSettings<TypeOf<S>> {
  /** The name of the kind in the API, on the command line and in the database: letters, digits, - and _. */
  readonly name: string
  readonly schema: S
  /**
   * The id of an item, unique in its kind: the same id in a later upload replaces the item. A whole number beyond 2^53 - 1 is refused,
   * because JSON numbers lose its last digits: use a string.
   */
  readonly id: Picked<TypeOf<S>, string | number>
  readonly index?: ItemIndex<TypeOf<S>, Field>
  /**
   * Which columns the fields are read from, and how, in files that have one of these columns. A mapping that is kept for the kind in the
   * database, or given with a file, replaces it. Default: each column is the field of its name.
   */
  readonly mapping?: Mapping
}

/** An upload whose items are of any type. */
export interface AnyUpload {
  readonly name: string
  /** Field names that the `where` of a search accepts. */
  readonly fields: ReadonlyArray<string>
  /** The kind of its items, made by {@link defineUpload}. */
  readonly kind: ItemKind
}

/**
 * @template Item the type of its items
 * @template Field the fields that a search can use
 */
export interface UploadDefinition<in out Item, out Field extends string> extends AnyUpload {
  readonly fields: ReadonlyArray<Field>
  readonly schema: Schema.Codec<Item, unknown>
  /** The same upload with these settings changed. */
  with(settings: UploadSettings<Item>): UploadDefinition<Item, Field>
}

const namePattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/** Defines an upload. Throws a TypeError for an invalid name. */
export const defineUpload = <
  const S extends ItemSchema,
  const Field extends FieldsOf<TypeOf<S>, Comparable | ReadonlyArray<Comparable>> = never,
>(
  options: UploadOptions<S, Field>,
): UploadDefinition<TypeOf<S>, Field> => {
  const { name, index } = options
  if (!namePattern.test(name))
    throw new TypeError(`${JSON.stringify(name)} cannot name an upload; use up to 64 letters, digits, - and _, with a letter first`)
  if (options.deliver !== undefined) checkDeliver(name, options.deliver)
  checkSchema(options.schema, `the item of upload ${name}`)
  const kind = itemKind(options)
  const problems = options.mapping === undefined ? [] : checkMapping(options.mapping, { fields: kind.targets })
  if (problems.length > 0) throw new TypeError(`the mapping of upload ${name} cannot be used: ${problems.join("; ")}`)
  return definitionOf(kind, asSchema(options.schema), index?.fields ?? [])
}

const itemCodec = (schema: ItemSchema): Schema.Codec<object, unknown> => asSchema(schema) as Schema.Codec<object, unknown>

/** The kind of an upload's items: how they are read, stored and found. */
const itemKind = <S extends ItemSchema, Field extends string>(options: UploadOptions<S, Field>): ItemKind => {
  const { name, index = {} } = options
  const schema = itemCodec(options.schema)
  const id = picked(options.id)
  const json = Schema.toCodecJson(schema)
  const encode = Schema.encodeUnknownSync(json) as ItemKind["encode"]
  const text = textOf(index.text as TextOf | undefined)
  const time = index.time === undefined ? () => 0 : numberOf(picked(index.time))
  const fields = index.fields ?? []
  const idField = typeof options.id === "string" ? options.id : undefined
  const read = reader(json, schema, id, idField)
  const targets = targetsOf(schema)
  return {
    name,
    read,
    readCells: cellReader(read, schema, id, idField, targets),
    isTable: false,
    idField,
    targets,
    mapping: options.mapping,
    unknownKeys: unknownKeys(json),
    encode,
    decode: Schema.decodeUnknownSync(json),
    contentOf: (item): ItemContent => ({
      id: String(id(item)),
      time: time(item),
      content: JSON.stringify(encode(item)),
      text: text(item),
      tokens: fields.flatMap((field) => tokensOf(field, (item as Readonly<Record<string, unknown>>)[field])),
    }),
    fields,
    columns: columnsOf(schema),
    ...settingsOf(options),
  }
}

/** A definition of a kind. */
const definitionOf = <Item, Field extends string>(
  kind: ItemKind,
  schema: Schema.Codec<Item, unknown>,
  fields: ReadonlyArray<Field>,
): UploadDefinition<Item, Field> => ({
  name: kind.name,
  fields,
  schema,
  kind,
  with: (settings) => definitionOf({ ...kind, ...changesOf(settings) }, schema, fields),
})

type Untyped = (item: object) => unknown
type TextOf = ReadonlyArray<string> | ((item: object) => string)

/** Erases the type of items: the functions only get items that the kind's own reader returned. */
const settingsOf = <Item>({
  check,
  notify,
  deliver,
  integrity,
  module,
}: UploadSettings<Item>): Pick<ItemKind, "check" | "notify" | "deliver" | "integrity" | "module"> => ({
  deliver: deliver as ItemKind["deliver"],
  check: check as ItemKind["check"],
  notify,
  integrity: integrity ?? "time",
  module: module === undefined ? undefined : String(module),
})

/** Keeps settings that are not given. A new check removes the module, whose definition has the old check. */
const changesOf = <Item>(settings: UploadSettings<Item>): Partial<ItemKind> => {
  const { check, notify, deliver, integrity, module } = settingsOf(settings)
  return {
    ...(settings.check === undefined ? {} : { check, module: undefined }),
    ...(settings.notify === undefined ? {} : { notify }),
    ...(settings.deliver === undefined ? {} : { deliver }),
    ...(settings.integrity === undefined ? {} : { integrity }),
    ...(settings.module === undefined ? {} : { module }),
  }
}

const picked = (field: string | ((item: never) => unknown)): Untyped =>
  typeof field === "string" ? (item) => (item as Readonly<Record<string, unknown>>)[field] : (field as Untyped)

const numberOf =
  (pick: Untyped) =>
  (item: object): number => {
    const value = pick(item)
    return typeof value === "number" && Number.isFinite(value) ? value : 0
  }

const textOf = (text: TextOf | undefined): ((item: object) => string) => {
  if (text === undefined) return () => ""
  if (typeof text === "function") return text
  const picks = text.map(picked)
  return (item) => picks.map((pick) => pick(item) ?? "").join(" ")
}

/** A longer id would not fit into an index of PostgreSQL. */
const longestId = 500

/** Finds the keys that a schema does not know, at any depth. The reader reports other problems of the value. */
const unknownKeys = (json: Schema.Codec<object, unknown>): ItemKind["unknownKeys"] => {
  const decode = Schema.decodeUnknownResult(json, { onExcessProperty: "error", errors: "all" })
  return (value) => {
    const decoded = decode(value)
    if (Result.isSuccess(decoded)) return undefined
    const unknown = issuesOf(decoded.failure).flatMap(({ path, problem }) => (problem._tag === "Unknown" ? [issueText(path, problem)] : []))
    return unknown.length === 0 ? undefined : unknown.join("; ")
  }
}

/** `idField` is the field of the id, if it is one: its problems have reasons of their own. */
const reader = (
  codec: Schema.Codec<object, unknown>,
  schema: Schema.Codec<object, unknown>,
  id: Untyped,
  idField: string | undefined,
): ItemKind["read"] => {
  const decode = Schema.decodeUnknownResult(codec)
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return bad("not_an_object", `it is ${kindOf(value)}, not an object`)
    const decoded = decode(value)
    if (Result.isFailure(decoded)) {
      const given = idField === undefined ? undefined : (value as Readonly<Record<string, unknown>>)[idField]
      return bad(reasonOf(decoded.failure, idField), schemaProblem(schema, decoded.failure), shownId(given))
    }
    const item = decoded.success
    const found = idProblem(id(item))
    return found === undefined ? { _tag: "Good", item } : bad(found.reason, found.message)
  }
}

/** Values that fit the schema as they are stay so; of others, the schema reads the texts. */
const cellReader = (
  read: ItemKind["read"],
  schema: Schema.Codec<object, unknown>,
  id: Untyped,
  idField: string | undefined,
  targets: ItemKind["targets"],
): ItemKind["read"] => {
  const readTexts = reader(Schema.toCodecStringTree(schema) as Schema.Codec<object, unknown>, schema, id, idField)
  /** Fields whose JSON is no text: a row with a text in one of them does not fit as it is. */
  const typed = new Set(
    (targets ?? []).flatMap(({ path, type }) => (type === "number" || type === "boolean" || type === "list" ? [path] : [])),
  )
  const dates = new Set((targets ?? []).flatMap(({ path, type }) => (type === "date" ? [path] : [])))
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return read(value)
    const entries = filledCells(value)
    if (dates.size > 0) {
      // JavaScript reads 2026-02-30 as a day of March, and 1/2/2026 as one of January.
      const misread = entries.find(([name, cell]) => typeof cell === "string" && dates.has(name) && isoDateProblem(cell) !== undefined)
      if (misread !== undefined) {
        const given = entries.find(([name]) => name === idField)?.[1]
        return bad("invalid_field", `${misread[0]}: ${isoDateProblem(String(misread[1]))}`, shownId(given))
      }
    }
    const isNested = entries.some(([name]) => name.includes("."))
    const cells = isNested ? nestedValues(entries) : Object.fromEntries(entries)
    if (!entries.some(([name, cell]) => typeof cell === "string" && typed.has(name))) {
      const found = read(cells)
      if (found._tag === "Good") return found
    }
    return readTexts(entries.every(([, cell]) => typeof cell === "string") ? cells : textCells(cells))
  }
}

/** The id of an invalid item, if it can be used to find the item again. */
export const shownId = (id: unknown): string | undefined =>
  idProblem(id) === undefined && typeof id !== "boolean" ? String(id) : undefined

/** The reason of the first issue of an item. */
const reasonOf = (failure: SchemaFailure, idField: string | undefined): ProblemReason => {
  const [first] = issuesOf(failure)
  const isMissing = first?.problem._tag === "Missing"
  if (idField !== undefined && first?.path[0] === idField) return isMissing ? "missing_id" : "invalid_id"
  return isMissing ? "missing_field" : "invalid_field"
}

/** PostgreSQL cannot store U+0000, and UTF-8 cannot encode half a surrogate pair. */
const isStorable = (value: string): boolean => !value.includes("\u0000") && value.isWellFormed()

const idProblem = (id: unknown): ItemProblem | undefined => {
  const refused = (reason: ProblemReason, message: string): ItemProblem => ({ reason, message })
  if (id === undefined || id === null || id === "") return refused("missing_id", "it has no id")
  if (typeof id !== "string" && !(typeof id === "number" && Number.isFinite(id)))
    return refused("invalid_id", `its id is ${kindOf(id)}, not a text or a number`)
  // Parsing the JSON has rounded the number: another item would get the same id.
  if (Number.isInteger(id) && !Number.isSafeInteger(id)) {
    const limit = Number.MAX_SAFE_INTEGER
    const next = "write the id as a string, and define it as one"
    return refused("invalid_id", `its id is a whole number beyond ${limit}, whose last digits are lost; ${next}`)
  }
  const text = String(id)
  if (text.length > longestId) return refused("invalid_id", `its id has ${text.length} characters, ${longestId} are allowed`)
  return isStorable(text) ? undefined : refused("not_text", "its id has a character that cannot be stored")
}
