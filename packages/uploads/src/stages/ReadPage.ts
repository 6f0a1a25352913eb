/** Some items of a file, read: what each is, or what is wrong with it. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { behind, type Position, type RawItem } from "../file/RawItem.ts"
import type { ReadTimes } from "../item/HNItemEntity.ts"
import type { ItemKind } from "../item/ItemKind.ts"
import type { ItemProblem } from "../item/ItemProblem.ts"
import { type ReadItem, readText } from "../item/ReadItem.ts"

/** An item of the file and what was read of it. */
export interface Item {
  readonly index: number
  readonly line: number
  readonly offset: number
  readonly read: ReadItem<object>
  /** Its JSON, where it is bad: it is stored for a retry. The text of a good one is not kept in memory. */
  readonly text: string | undefined
}

/** At least one item. */
export interface Page extends ReadTimes {
  readonly items: ReadonlyArray<Item>
  /** The index of the first. */
  readonly from: number
  /** Where the file continues behind the last. */
  readonly end: Position
  /** Bytes of text that the items were read from. */
  readonly bytes: number
}

/** How many items are read, checked and stored together. */
export const pageSize = 2000

/** Reads items that were taken from a file; undefined where there are none. */
export const readPage = (raws: ReadonlyArray<RawItem>, kind: ItemKind, maxItemBytes: number): Effect.Effect<Page | undefined> =>
  Effect.gen(function* () {
    const first = raws[0]
    const last = raws.at(-1)
    if (first === undefined || last === undefined) return undefined
    const ingestedAt = Math.floor(yield* Clock.currentTimeMillis)
    const items = raws.map((raw): Item => {
      const { index, line, offset, text } = raw
      const read = readRaw(raw, maxItemBytes, kind)
      return { index, line, offset, read, text: read._tag === "Bad" ? text : undefined }
    })
    const validatedAt = Math.floor(yield* Clock.currentTimeMillis)
    return { items, from: first.index, end: behind(last), bytes: last.endOffset - first.offset, ingestedAt, validatedAt }
  })

/** An item as it is in the file, read; a problem that is known without reading it comes first. */
const readRaw = ({ text, problem }: RawItem, maxItemBytes: number, kind: ItemKind): ReadItem<object> => {
  if (text !== undefined) return readText(text, kind)
  const found: ItemProblem =
    problem === "too_large"
      ? { reason: "too_large", message: `it has more than ${maxItemBytes} bytes` }
      : { reason: "not_text", message: "it is no UTF-8 text" }
  return { _tag: "Bad", problem: found }
}
