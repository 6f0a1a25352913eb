/** Shortens the texts of the rows of a preview, which shows them. */
import { deepestNesting } from "@detent/tables"
import type * as Schema from "effect/Schema"
import type { PreviewRow } from "./Preview.ts"

/** The most characters of a text in a preview. */
export const longestText = 2_000

interface ShortRow {
  readonly row: PreviewRow
  /** Whether a text of it was cut. */
  readonly isCut: boolean
}

export const shortRow = (row: PreviewRow): ShortRow => {
  let isCut = false
  const textOf = (text: string): string => {
    if (text.length <= longestText) return text
    isCut = true
    return `${text.slice(0, longestText).replace(/[\ud800-\udbff]$/, "")}…`
  }
  const valueOf = (value: Schema.Json, levels: number): Schema.Json => {
    if (typeof value === "string") return textOf(value)
    if (typeof value !== "object" || value === null) return value
    // An item that is nested more deeply is refused.
    if (levels > deepestNesting) {
      isCut = true
      return "…"
    }
    if (Array.isArray(value)) return value.map((one) => valueOf(one, levels + 1))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, valueOf(one, levels + 1)]))
  }
  const { cells, item, problem } = row
  const short: PreviewRow = {
    ...row,
    ...(cells === undefined ? {} : { cells: valueOf(cells, 1) }),
    ...(item === undefined ? {} : { item: valueOf(item, 1) }),
    ...(problem === undefined ? {} : { problem: { ...problem, message: textOf(problem.message) } }),
  }
  return { row: short, isCut }
}
