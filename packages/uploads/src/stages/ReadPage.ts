/** Reads a page of items. */
import type { PersistenceFailed } from "@detent/machine"
import { behind, type Row, type RowProblem } from "@detent/tables"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
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
  raws: ReadonlyArray<Row>,
): Effect.Effect<Page | undefined, PersistenceFailed> =>
  Effect.gen(function* () {
    const first = raws[0]
    const last = raws.at(-1)
    if (first === undefined || last === undefined) return undefined
    const ingestedAt = Math.floor(yield* Clock.currentTimeMillis)
    const texts = raws.filter(isReadable)
    const found = yield* reader.read(kind, texts, limitNotes(store, batch, first.index, last.index))
    let next = 0
    let length = 0
    const items = raws.map((raw): Item => {
      const { index, line, offset, text } = raw
      length += text?.length ?? 0
      const read = (isReadable(raw) ? found[next++] : undefined) ?? unreadable(raw.problem, maxItemBytes)
      return { index, line, offset, read, text: read._tag === "Good" ? undefined : text }
    })
    const validatedAt = Math.floor(yield* Clock.currentTimeMillis)
    return { items, from: first.index, end: behind(last), bytes: Math.max(length, last.endOffset - first.offset), ingestedAt, validatedAt }
  })

const isReadable = (raw: Row): raw is Row & ItemText => raw.text !== undefined && raw.problem === undefined

/** The problem of a row that is no item. */
export const unreadable = (problem: RowProblem | undefined, maxItemBytes: number): ReadContent => {
  const found: ItemProblem =
    problem === undefined || problem === "too_large"
      ? { reason: "too_large", message: `it has more than ${maxItemBytes} bytes` }
      : { reason: "bad_row", message: rowProblems[problem] }
  return { _tag: "Bad", problem: found }
}

const rowProblems: Readonly<Record<Exclude<RowProblem, "too_large">, string>> = {
  too_short: "it has fewer cells than the header",
  too_long: "it has more cells than the header",
  quote: "a quote is not closed, or text follows its end",
  header_repeated: "it is the header once more",
}
