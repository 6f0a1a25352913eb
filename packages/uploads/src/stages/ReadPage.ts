/** Reads a page of items. */
import type { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { behind, type RawItem } from "../file/RawItem.ts"
import type { ItemProblem } from "../item/ItemProblem.ts"
import type { ReadContent } from "../kind/ReadContent.ts"
import type { ItemText } from "../reading/ItemReader.ts"
import { limitNotes } from "../store/Limits.ts"
import type { Item, Page } from "./Page.ts"
import type { Kind, Uploading } from "./Uploading.ts"

/** Reads raw items of a batch's file. Returns undefined for an empty list. */
export const readPage = (
  { reader, store, limits: { maxItemBytes } }: Uploading,
  kind: Kind,
  batch: number,
  raws: ReadonlyArray<RawItem>,
): Effect.Effect<Page | undefined, PersistenceFailed> =>
  Effect.gen(function* () {
    const first = raws[0]
    const last = raws.at(-1)
    if (first === undefined || last === undefined) return undefined
    const ingestedAt = Math.floor(yield* Clock.currentTimeMillis)
    const texts = raws.filter(hasText)
    const found = yield* reader.read(kind, texts, limitNotes(store, batch, first.index, last.index))
    let next = 0
    const items = raws.map(({ index, line, offset, text, problem }): Item => {
      const read = text === undefined ? undefined : found[next++]
      return { index, line, offset, read: read ?? unreadable(problem, maxItemBytes), text: read?._tag === "Good" ? undefined : text }
    })
    const validatedAt = Math.floor(yield* Clock.currentTimeMillis)
    return { items, from: first.index, end: behind(last), bytes: last.endOffset - first.offset, ingestedAt, validatedAt }
  })

const hasText = (raw: RawItem): raw is RawItem & ItemText => raw.text !== undefined

/** The problem of an item without text. */
const unreadable = (problem: RawItem["problem"], maxItemBytes: number): ReadContent => {
  const found: ItemProblem =
    problem === "too_large"
      ? { reason: "too_large", message: `it has more than ${maxItemBytes} bytes` }
      : { reason: "not_text", message: "it is not UTF-8 text" }
  return { _tag: "Bad", problem: found }
}
