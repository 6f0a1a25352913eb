/**
 * Reads the text of one item of Hacker News: returns the item, or its problem. Hand-written checks replace the schema, with the same
 * results, because they run for every item of every file: 0.6 µs of CPU against 1.8 µs.
 */
import { describe } from "@detent/machine/internal"
import { type HNItem, itemTypes } from "./HNItem.ts"
import type { ItemProblem, ProblemReason } from "./ItemProblem.ts"
import { isTooDeep, mayBeTooDeep, tooDeep } from "./Nesting.ts"

/** The user's check of every otherwise valid item. Returns the reason to refuse the item, or undefined. */
export type ItemCheck = (item: HNItem) => string | undefined

/** The identity of an item: `hnId` and `type` for Hacker News, `itemId` for every other kind. */
export interface Identity {
  readonly hnId?: number
  readonly type?: string
  readonly itemId?: string
}

/** An invalid item, with its id and type where they are valid. */
export interface BadItem extends Identity {
  readonly _tag: "Bad"
  readonly problem: ItemProblem
}

/** The result of reading. */
export type ReadItem<Item = HNItem> = { readonly _tag: "Good"; readonly item: Item } | BadItem

type Is = (value: unknown) => boolean

const isText: Is = (value) => typeof value === "string"
const isFlag: Is = (value) => typeof value === "boolean"
const isWhole: Is = Number.isSafeInteger
const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0
const isIds: Is = (value) => Array.isArray(value) && value.every(isId)

/** Every field but the id and the type. */
const fieldChecks: ReadonlyArray<readonly [name: keyof HNItem, is: Is]> = [
  ["by", isText],
  ["time", isId],
  ["text", isText],
  ["url", isText],
  ["title", isText],
  ["score", isWhole],
  ["kids", isIds],
  ["parent", isId],
  ["descendants", isWhole],
  ["deleted", isFlag],
  ["dead", isFlag],
  ["parts", isIds],
  ["poll", isId],
]

/** Reads an item of Hacker News. */
export const readItem = (text: string, check?: ItemCheck): ReadItem => {
  const parsed = parse(text)
  if (parsed._tag === "Bad") return parsed
  const found = readValue(parsed.value)
  if (check === undefined || found._tag === "Bad") return found
  const refused = refusalOf(check, found.item)
  return refused === undefined ? found : bad("rejected", refused, identify(found.item))
}

/** Parses the JSON of an item, and refuses one that is nested too deeply for the code that reads it. */
export const parse = (text: string): BadItem | { readonly _tag: "Parsed"; readonly value: unknown } => {
  try {
    const value: unknown = JSON.parse(text)
    return mayBeTooDeep(text) && isTooDeep(value) ? { _tag: "Bad", problem: tooDeep } : { _tag: "Parsed", value }
  } catch (cause) {
    return bad("not_json", `it is not JSON: ${describe(cause)}`)
  }
}

export const identify = ({ hnId, type }: HNItem): Identity => ({ hnId, type })

export const readValue = (parsed: unknown): ReadItem => {
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    return bad("not_an_object", `it is ${kindOf(parsed)}, not an object`)
  const given = parsed as Readonly<Record<string, unknown>>
  const hnId = given["hnId"] ?? given["id"]
  const type = given["type"] ?? undefined
  const known = { ...(isId(hnId) ? { hnId } : {}), ...(typeof type === "string" ? { type: type.slice(0, 100) } : {}) }
  if (hnId === undefined || hnId === null) return bad("missing_id", "it has no hnId and no id", known)
  if (!isId(hnId)) return bad("invalid_id", `its id is ${shown(hnId)}, not a whole number above 0`, known)
  if (given["hnId"] !== undefined && given["id"] !== undefined && given["id"] !== hnId)
    return bad("invalid_id", `its hnId is ${hnId} and its id ${shown(given["id"])}`, known)
  if (type === undefined) return bad("missing_type", "it has no type", known)
  if (!(itemTypes as ReadonlyArray<unknown>).includes(type))
    return bad("unknown_type", `its type is ${shown(type)}; the types are ${itemTypes.join(", ")}`, known)
  return readFields(given, { hnId, type: type as HNItem["type"] })
}

const readFields = (given: Readonly<Record<string, unknown>>, known: Pick<HNItem, "hnId" | "type">): ReadItem => {
  const item: Record<string, unknown> = { ...known }
  for (const [name, is] of fieldChecks) {
    const value = given[name]
    // Database exports have null where the public API omits a field.
    if (value === undefined || value === null) continue
    if (!is(value)) return bad("invalid_field", `its ${name} is ${shown(value)}`, known)
    if (typeof value === "string" && !isStorable(value)) return bad("not_text", `its ${name} has a character that cannot be stored`, known)
    item[name] = value
  }
  // Every field has been checked above.
  return { _tag: "Good", item: item as unknown as HNItem }
}

/** Returns why the check refuses the item. A check that throws refuses it; other items are not affected. */
export const refusalOf = <Item>(check: (item: Item) => string | undefined, item: Item): string | undefined => {
  try {
    return check(item)
  } catch (cause) {
    return `its check failed: ${describe(cause)}`
  }
}

/** PostgreSQL cannot store U+0000, and UTF-8 cannot encode half a surrogate pair. */
export const isStorable = (value: string): boolean => !value.includes("\u0000") && value.isWellFormed()

export const bad = (reason: ProblemReason, message: string, known: Identity = {}): BadItem => ({
  _tag: "Bad",
  // The message may quote the item, with any content, and the cut may leave half a surrogate pair.
  problem: { reason, message: message.slice(0, 500).replaceAll("\u0000", "\\0").toWellFormed() },
  ...known,
})

export const kindOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`)

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value)
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`
}
