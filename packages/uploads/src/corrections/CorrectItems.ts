/** Replaces the content of failed items, for the next retry, after checking that it would not fail again. */
import type { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { duplicateProblem, type ItemProblem } from "../item/ItemProblem.ts"
import { isTooDeep, tooDeep } from "../item/Nesting.ts"
import type { ReadContent } from "../kind/ReadContent.ts"
import { kindOfTable } from "../kind/TableKind.ts"
import type { Kind, Uploading } from "../stages/Uploading.ts"
import { findStored } from "../store/Entries.ts"
import { contentsOf, type Replacement, replaceContents, sizedEntries } from "../store/FailedEntries.ts"
import type { EntryRow } from "../store/Rows.ts"
import { correctedItem, fieldsOf } from "./Cells.ts"

/** Why the correction of an item is not used. */
export const CorrectionRefusal = Schema.Literals([
  /** The row is damaged, or does not say which item it corrects. */
  "bad_row",
  /** The batch has no such item. */
  "no_such_item",
  /** The item is stored. */
  "stored",
  /** The item is being retried. */
  "retrying",
  /** An earlier row of the file corrects the same item. */
  "repeated",
  /** The item would fail again. */
  "still_invalid",
  /** The item has another id: the row is from the failures of another upload. */
  "other_item",
])
export type CorrectionRefusal = typeof CorrectionRefusal.Type

/**
 * A correction: a whole item; the content of an item in a file of corrections, which may be as it was; or cells of a table, which replace
 * those of the item.
 */
export type Correction = {
  readonly index: number
  /** The id that the failed item had in the file of failures. Undefined: it had none, or it is not known. */
  readonly id?: string
} & ({ readonly item: object } | { readonly content: object } | { readonly cells: ReadonlyMap<string, string> })

export type CorrectionResult =
  | { readonly _tag: "Corrected" }
  /** The item is as it was, and fails for the same reason; or it was corrected like this before. */
  | { readonly _tag: "Unchanged" }
  | { readonly _tag: "Refused"; readonly refusal: CorrectionRefusal; readonly message: string; readonly problem?: ItemProblem }

/** The bytes of originals that are in memory at a time. */
const originalBytes = 4_000_000

/** Corrects items of a batch, at most one correction for each. Returns the result of each, in their order. */
export const correctItems = (
  uploading: Uploading,
  kind: Kind,
  batch: number,
  corrections: ReadonlyArray<Correction>,
): Effect.Effect<ReadonlyArray<CorrectionResult>, PersistenceFailed> =>
  Effect.gen(function* () {
    const indices = corrections.map(({ index }) => index)
    const entries = new Map((yield* sizedEntries(uploading.store, batch, indices)).map((entry) => [entry.item_index, entry]))
    const results: Array<CorrectionResult> = []
    let next: Array<Correction> = []
    let bytes = 0
    for (const correction of corrections) {
      next.push(correction)
      bytes += entries.get(correction.index)?.bytes ?? 0
      if (bytes < originalBytes) continue
      results.push(...(yield* correctSome(uploading, kind, batch, next, entries)))
      next = []
      bytes = 0
    }
    results.push(...(yield* correctSome(uploading, kind, batch, next, entries)))
    return results
  })

/** A correction that is tried: its content, if reading it succeeds. */
interface Candidate {
  readonly position: number
  readonly index: number
  readonly item: object
  readonly isChanged: boolean
  /** The item with the values that changed cells are JSON of, where the items of the batch are JSON. */
  readonly parsedItem: object | undefined
  /** Whether its values may be texts of cells, although the items of the batch are JSON. */
  readonly ofCells: boolean
  readonly original: string | undefined
}

const correctSome = (
  uploading: Uploading,
  kind: Kind,
  batch: number,
  corrections: ReadonlyArray<Correction>,
  entries: ReadonlyMap<number, EntryRow>,
): Effect.Effect<ReadonlyArray<CorrectionResult>, PersistenceFailed> =>
  Effect.gen(function* () {
    if (corrections.length === 0) return []
    const { store } = uploading
    const originals = yield* contentsOf(
      store,
      batch,
      corrections.map(({ index }) => index),
    )
    const results = new Array<CorrectionResult>(corrections.length)
    const candidates: Array<Candidate> = []
    for (const [position, correction] of corrections.entries()) {
      const { index } = correction
      const entry = entries.get(index)
      const refusal = entry?.state === "failed" ? undefined : notFailed(index, entry)
      if (entry === undefined || refusal !== undefined) {
        results[position] = refusal ?? notFailed(index, entry)
        continue
      }
      if (correction.id !== undefined && entry.item_id !== null && correction.id !== entry.item_id) {
        results[position] = otherItem(index, entry.item_id, correction.id)
        continue
      }
      const original = originals.get(index)
      const candidate = { position, index, original, ...itemOf(kind, correction, original) }
      // A damaged row would be stored with the wrong cells if its item were valid by chance.
      if (!candidate.isChanged && entry.reason === "bad_row" && entry.corrected_at === null) results[position] = { _tag: "Unchanged" }
      else candidates.push(candidate)
    }
    const read = yield* readCandidates(uploading, kind, candidates)
    const ids = [...read.values()].flatMap(({ found }) => (found._tag === "Good" ? [found.content.id] : []))
    const taken = new Map(yield* findStored(store, batch, ids))
    const replacements: Array<Replacement & { readonly position: number }> = []
    for (const { position, index, original, isChanged } of candidates) {
      const one = read.get(position)
      if (one === undefined) continue
      const { text, found } = one
      const problem = found._tag === "Bad" ? found.problem : duplicateOf(taken, found.content.id, index)
      if (problem !== undefined)
        results[position] = isChanged || original === undefined ? stillInvalid(index, problem) : { _tag: "Unchanged" }
      else if (text === original && entries.get(index)?.corrected_at !== null) results[position] = { _tag: "Unchanged" }
      else replacements.push({ position, index, content: text })
      if (problem === undefined && found._tag === "Good") taken.set(found.content.id, index)
    }
    const at = Math.floor(yield* Clock.currentTimeMillis)
    const replaced = replacements.length === 0 ? new Set<number>() : yield* replaceContents(store, batch, replacements, at)
    for (const { position, index } of replacements)
      results[position] = replaced.has(index) ? { _tag: "Corrected" } : refused("retrying", `item ${index} is being retried`)
    return results
  })

/** The corrected item. The cells of a table replace those of the original; what they leave out stays. */
const itemOf = (
  { isTable }: Kind,
  correction: Correction,
  original: string | undefined,
): Pick<Candidate, "item" | "parsedItem" | "isChanged" | "ofCells"> => {
  if ("cells" in correction) return { ...correctedItem(fieldsOf(original) ?? new Map(), correction.cells, !isTable), ofCells: !isTable }
  if ("item" in correction) return { item: correction.item, parsedItem: undefined, isChanged: true, ofCells: false }
  const { content } = correction
  return { item: content, parsedItem: undefined, isChanged: isTooDeep(content) || !isSame(content, original), ofCells: false }
}

const isSame = (item: object, original: string | undefined): boolean => {
  if (original === undefined) return false
  try {
    return JSON.stringify(item) === JSON.stringify(JSON.parse(original))
  } catch {
    // The original is not JSON.
    return false
  }
}

interface ReadCandidate {
  /** The content to store. */
  readonly text: string
  readonly found: ReadContent
}

/**
 * Reads the items of corrections. Where cells correct an item of JSON, the schema also reads values from their texts: then the JSON of
 * the item is stored, which a retry reads.
 */
const readCandidates = (
  { reader, limits: { maxItemBytes } }: Uploading,
  kind: Kind,
  candidates: ReadonlyArray<Candidate>,
): Effect.Effect<ReadonlyMap<number, ReadCandidate>> =>
  Effect.gen(function* () {
    const results = new Map<number, ReadCandidate>()
    const texts = new Map<number, string>()
    for (const { position, item } of candidates) {
      // Writing the JSON of such an item would overflow the stack.
      const text = isTooDeep(item) ? undefined : textOf(item)
      if (text === undefined) results.set(position, { text: "", found: { _tag: "Bad", problem: tooDeep } })
      else if (Buffer.byteLength(text) > maxItemBytes)
        results.set(position, { text, found: { _tag: "Bad", problem: tooLarge(maxItemBytes) } })
      else texts.set(position, text)
    }
    const readAll = (asKind: Kind, given: ReadonlyMap<number, string>) =>
      Effect.map(reader.readStrictly(asKind, [...given.values()]), (found) =>
        [...given].flatMap(([position, text], at) => {
          const one = found[at]
          return one === undefined ? [] : [{ position, text, found: one }]
        }),
      )
    for (const { position, text, found } of yield* readAll(kind, texts)) results.set(position, { text, found })
    const ofCells = candidates.filter(({ position, ofCells: is }) => is && texts.has(position))
    const cells = new Map(ofCells.map(({ position }) => [position, texts.get(position) ?? ""]))
    const values = new Map(
      ofCells.flatMap(({ position, parsedItem }) =>
        parsedItem === undefined || isTooDeep(parsedItem) ? [] : [[position, textOf(parsedItem)] as const],
      ),
    )
    const asTable = kindOfTable(kind)
    const stillBad = (given: ReadonlyMap<number, string>) =>
      new Map([...given].filter(([position]) => results.get(position)?.found._tag === "Bad"))
    for (const [asKind, given] of [
      [kind, values],
      [asTable, cells],
      [asTable, values],
    ] as const)
      for (const { position, found } of yield* readAll(asKind, stillBad(given)))
        if (found._tag === "Good") results.set(position, { text: found.content.content, found })
    return results
  })

const tooLarge = (bytes: number): ItemProblem => ({ reason: "too_large", message: `it has more than ${bytes} bytes` })

/** PostgreSQL cannot store U+0000 in a text. */
const textOf = (item: object): string => JSON.stringify(item).replaceAll("\u0000", "\ufffd")

const duplicateOf = (taken: ReadonlyMap<string, number>, id: string, index: number): ItemProblem | undefined => {
  const first = taken.get(id)
  return first === undefined || first === index ? undefined : duplicateProblem(first, id)
}

const refused = (refusal: CorrectionRefusal, message: string): CorrectionResult => ({ _tag: "Refused", refusal, message })

const stillInvalid = (index: number, problem: ItemProblem): CorrectionResult => ({
  _tag: "Refused",
  refusal: "still_invalid",
  message: `item ${index} would fail again (${problem.reason}): ${problem.message}`,
  problem,
})

const otherItem = (index: number, id: string, given: string): CorrectionResult =>
  refused(
    "other_item",
    `item ${index} has the id ${id.slice(0, 200)}, not ${given.slice(0, 200)}; take the file of failures of this upload`,
  )

const notFailed = (index: number, entry: EntryRow | undefined): CorrectionResult => {
  if (entry === undefined) return refused("no_such_item", `the upload has no item ${index}`)
  return entry.state === "stored"
    ? refused("stored", `item ${index} is stored; upload it in a file of its own to replace it`)
    : refused("retrying", `item ${index} is being retried; correct it after that`)
}
