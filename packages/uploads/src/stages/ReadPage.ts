/** Some items of a file, read: what each is, or what is wrong with it. */
import type { RawItem } from "../file/RawItem.ts"
import type { ReadTimes } from "../item/HNItemEntity.ts"
import type { ItemKind } from "../item/ItemKind.ts"
import type { ItemProblem } from "../item/ItemProblem.ts"
import { type ReadItem, readText } from "../item/ReadItem.ts"

/** An item of the file and what was read of it. */
export interface Item {
  readonly raw: RawItem
  readonly read: ReadItem<object>
}

export interface Page extends ReadTimes {
  readonly items: ReadonlyArray<Item>
}

/** How many items are read, checked and stored together. */
export const pageSize = 2000

/** An item as it is in the file, read; a problem that is known without reading it comes first. */
export const readRaw = ({ text, problem }: RawItem, maxItemBytes: number, kind: ItemKind): ReadItem<object> => {
  if (text !== undefined) return readText(text, kind)
  const found: ItemProblem =
    problem === "too_large"
      ? { reason: "too_large", message: `it has more than ${maxItemBytes} bytes` }
      : { reason: "not_text", message: "it is no UTF-8 text" }
  return { _tag: "Bad", problem: found }
}
