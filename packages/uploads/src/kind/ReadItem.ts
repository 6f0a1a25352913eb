/** The result of reading the JSON of one item: the item, or its problem. */
import { describe } from "@detent/machine/internal"
import type { ItemProblem, ProblemReason } from "../item/ItemProblem.ts"
import { isTooDeep, mayBeTooDeep, tooDeep } from "../item/Nesting.ts"

/** An invalid item, with its id where it is known. */
export interface BadItem {
  readonly _tag: "Bad"
  readonly problem: ItemProblem
  readonly itemId?: string
}

/** The result of reading. */
export type ReadItem<Item> = { readonly _tag: "Good"; readonly item: Item } | BadItem

/** Parses the JSON of an item, and refuses one that is nested too deeply for the code that reads it. */
export const parse = (text: string): BadItem | { readonly _tag: "Parsed"; readonly value: unknown } => {
  try {
    const value: unknown = JSON.parse(text)
    return mayBeTooDeep(text) && isTooDeep(value) ? { _tag: "Bad", problem: tooDeep } : { _tag: "Parsed", value }
  } catch (cause) {
    return bad("not_json", `it is not JSON: ${describe(cause)}`)
  }
}

/** Returns why the check refuses the item. A check that throws refuses it; other items are not affected. */
export const refusalOf = <Item>(check: (item: Item) => string | undefined, item: Item): string | undefined => {
  try {
    return check(item)
  } catch (cause) {
    return `its check failed: ${describe(cause)}`
  }
}

export const bad = (reason: ProblemReason, message: string, itemId?: string): BadItem => ({
  _tag: "Bad",
  // The message may quote the item, with any content, and the cut may leave half a surrogate pair.
  problem: { reason, message: message.slice(0, 500).replaceAll("\u0000", "\\0").toWellFormed() },
  ...(itemId === undefined ? {} : { itemId }),
})

export const kindOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`)
