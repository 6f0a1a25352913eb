/** Reads a page of items. */
import type { PersistenceFailed } from "@detent/machine"
import { behind, type Row, type RowProblem } from "@detent/tables"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { ItemProblem } from "../item/ItemProblem.ts"
import type { ReadContent } from "../kind/ReadContent.ts"
import { type ItemText, type LimitNotes, memoryNotes } from "../reading/ItemReader.ts"
import { limitNotes } from "../store/Limits.ts"
import type { Item, Page } from "./Page.ts"
import type { Kind, Uploading } from "./Uploading.ts"

/** Reads raw items of a batch's file. Returns undefined for an empty list. */
export const readPage = (
  uploading: Uploading,
  kind: Kind,
  batch: number,
  raws: ReadonlyArray<Row>,
): Effect.Effect<Page | undefined, PersistenceFailed> =>
  Effect.gen(function* () {
    const first = raws[0]
    const last = raws.at(-1)
    if (first === undefined || last === undefined) return undefined
    const ingestedAt = Math.floor(yield* Clock.currentTimeMillis)
    const items = yield* readItems(uploading, kind, raws, limitNotes(uploading.store, batch, first.index, last.index))
    let length = 0
    for (const { text } of raws) length += text?.length ?? 0
    const validatedAt = Math.floor(yield* Clock.currentTimeMillis)
    return { items, from: first.index, end: behind(last), bytes: Math.max(length, last.endOffset - first.offset), ingestedAt, validatedAt }
  })

/** Reads rows of a file that is no batch. */
export const readRows = (uploading: Uploading, kind: Kind, raws: ReadonlyArray<Row>): Effect.Effect<ReadonlyArray<Item>> =>
  readItems(uploading, kind, raws, Effect.sync(memoryNotes))

const readItems = <E>(
  { reader, limits: { maxItemBytes } }: Uploading,
  kind: Kind,
  raws: ReadonlyArray<Row>,
  notes: Effect.Effect<LimitNotes<E>, E>,
): Effect.Effect<ReadonlyArray<Item>, E> =>
  Effect.map(reader.read(kind, raws.filter(isReadable), notes), (found) => {
    let next = 0
    return raws.map((raw): Item => {
      const { index, line, offset, text } = raw
      const read = (isReadable(raw) ? found[next++] : undefined) ?? unreadable(raw.problem, maxItemBytes)
      return { index, line, offset, read, text: read._tag === "Good" ? undefined : text }
    })
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
