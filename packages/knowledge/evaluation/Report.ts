/** What the evaluation found, as a table for people and as JSON for programs. */
import type { CurvePoint, Evaluated } from "./Evaluation.ts"
import type { Scores } from "./Score.ts"

/** What one extractor reached on the corpus and on the data. */
export interface Result {
  readonly extractor: string
  /** Absent when the corpus is not there. */
  readonly corpus: Evaluated | undefined
  /** Absent without a folder to evaluate on. */
  readonly data: Evaluated | undefined
  /** With 0, 5, 20 and 40 examples, on the data or, without it, on the corpus. Absent for an extractor that does not learn. */
  readonly curve: ReadonlyArray<CurvePoint> | undefined
}

const headings = ["", "texts", "facts", "found", "P", "R", "F1", "paper P", "R", "F1", "sure P", "R", "conform", "halluc."]

export const table = (title: string, { all, each }: Evaluated): string =>
  tableOf(title, [...each.map(({ name, scores }) => row(name, scores)), ...(each.length > 1 ? [row("all", all)] : [])])

export const curveTable = (title: string, curve: ReadonlyArray<CurvePoint>): string =>
  tableOf(
    title,
    curve.map(({ examples, scores }) => row(`${examples} examples`, scores)),
  )

const tableOf = (title: string, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = headings.map((heading, column) => Math.max(heading.length, ...rows.map((cells) => cells[column]?.length ?? 0)))
  const line = (cells: ReadonlyArray<string>) =>
    cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join("  ")
  return [title, line(headings), ...rows.map(line)].map((one) => one.trimEnd()).join("\n")
}

const row = (name: string, scores: Scores): ReadonlyArray<string> => {
  const { strict, paper, highPrecision } = scores
  const shares = [
    strict.precision,
    strict.recall,
    strict.f1,
    paper.precision,
    paper.recall,
    paper.f1,
    highPrecision.precision,
    highPrecision.recall,
  ]
  return [
    name,
    String(scores.texts),
    String(scores.expected),
    String(scores.found),
    ...shares.map(shown),
    shown(scores.conformance),
    shown(scores.subjectHallucination),
  ]
}

const shown = (share: number): string => share.toFixed(3)

/** The scores on the data, or on the corpus where there is no data, at the top; everything by name below. */
export const json = (results: ReadonlyArray<Result>): string => {
  const plain = results.map(({ extractor, corpus, data, curve }) => ({
    extractor,
    ...(data?.all ?? corpus?.all),
    ...(data === undefined ? {} : { ontologies: Object.fromEntries(data.each.map(({ name, scores }) => [name, scores])) }),
    ...(corpus === undefined ? {} : { corpus: corpus.all }),
    ...(curve === undefined ? {} : { curve: curve.map(({ examples, scores }) => ({ examples, ...scores })) }),
  }))
  const [first, ...others] = plain
  return JSON.stringify(others.length === 0 ? first : { ...first, others })
}
