/** Reads the text of one item of any kind: returns its content for the table, or its problem. */
import { describe } from "@detent/machine/internal"
import type { Reading } from "../item/ItemEntity.ts"
import type { ItemContent, ItemKind } from "./ItemKind.ts"
import { type BadItem, bad, parse, refusalOf } from "./ReadItem.ts"

/** A valid item of any kind, as plain data: the process that reads the item evaluates its definition. */
export interface GoodContent {
  readonly _tag: "Good"
  readonly content: ItemContent
}

/** The result of reading an item of any kind. An item that the check of its definition refused also has its content. */
export type ReadContent = GoodContent | (BadItem & { readonly unchecked?: GoodContent })

/** The part of a kind that reading needs. */
export type Reader = Pick<ItemKind, "read" | "contentOf" | "check" | "unknownKeys">

/** Reads the text of an item: JSON, then the schema of its kind, then the check of the user. */
export const readContent = (text: string, kind: Reader): ReadContent => {
  const parsed = parse(text)
  return parsed._tag === "Bad" ? parsed : contentOf(parsed.value, kind)
}

/** Like `readContent`, for a corrected item: also refuses unknown keys, which are mistakes of the user. */
export const readStrictly = (text: string, kind: Reader): ReadContent => {
  const parsed = parse(text)
  if (parsed._tag === "Bad") return parsed
  const { value } = parsed
  const unknown = typeof value === "object" && value !== null ? unknownKeysOf(kind, value) : undefined
  return unknown === undefined ? contentOf(value, kind) : bad("invalid_field", unknown)
}

/** Refuses an item if the code of its definition throws. Other items are not affected. */
const contentOf = (value: unknown, kind: Reader): ReadContent => {
  try {
    const found = kind.read(value)
    if (found._tag === "Bad") return found
    const { item } = found
    const good: GoodContent = { _tag: "Good", content: kind.contentOf(item) }
    if (!isStorable(good.content.content)) return bad("not_text", "it has a character that cannot be stored", good.content.id)
    const refused = kind.check === undefined ? undefined : refusalOf(kind.check, item)
    return refused === undefined ? good : { ...bad("rejected", refused, good.content.id), unchecked: good }
  } catch (cause) {
    return bad("rejected", `its definition failed: ${describe(cause)}`)
  }
}

/** PostgreSQL cannot store U+0000 in JSON, nor half a surrogate pair. `JSON.stringify` escapes both. */
const isStorable = (json: string): boolean => !/\\u(?:0000|d[89a-f])/.test(json) || areStorable(JSON.parse(json))

const areStorable = (value: unknown): boolean => {
  if (typeof value === "string") return !value.includes("\u0000") && value.isWellFormed()
  return typeof value !== "object" || value === null || Object.entries(value).flat().every(areStorable)
}

const unknownKeysOf = (kind: Reader, value: object): string | undefined => {
  try {
    return kind.unknownKeys(value)
  } catch {
    // The schema throws for this value: reading the item reports the reason.
    return undefined
  }
}

/** When an item was read, and when it was checked. */
export interface ReadTimes {
  readonly ingestedAt: number
  readonly validatedAt: number
}

/** The input of an attempt of the item's instance. */
export const readingOf = (read: ReadContent, duplicateOf: number | undefined, { ingestedAt, validatedAt }: ReadTimes): Reading => {
  if (read._tag === "Bad") {
    const { problem, itemId } = read
    return { ...(itemId === undefined ? {} : { itemId }), problem, ingestedAt }
  }
  const known = { itemId: read.content.id, ingestedAt, validatedAt }
  return duplicateOf === undefined ? known : { ...known, duplicateOf }
}
