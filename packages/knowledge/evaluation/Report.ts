/** What the evaluation found, as a table for people and as JSON for programs. */
import type { Ablated, CurvePoint, Evaluated } from "./Evaluation.ts"
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
  /** The effect of each group of rules, on the data or, without it, on the corpus. Absent where it was not asked for. */
  readonly ablation?: ReadonlyArray<Ablated> | undefined
}

const scoreHeadings: ReadonlyArray<string> = [
  "",
  "texts",
  "facts",
  "found",
  "P",
  "R",
  "F1",
  "paper P",
  "R",
  "F1",
  "sure P",
  "R",
  "conform",
  "halluc.",
]

export const table = (title: string, { all, each }: Evaluated): string =>
  tableOf(title, [...each.map(({ name, scores }) => row(name, scores)), ...(each.length > 1 ? [row("all", all)] : [])])

export const curveTable = (title: string, curve: ReadonlyArray<CurvePoint>): string =>
  tableOf(
    title,
    curve.map(({ examples, scores }) => row(`${examples} examples`, scores)),
  )

const ablationHeadings = ["", "F1", "sure P", "found", "F1 taught", "sure P taught", "found taught"]

/** The first row has the scores of the whole extractor; each other one, the differences of leaving one thing out. */
export const ablationTable = (title: string, [whole, ...others]: ReadonlyArray<Ablated>): string => {
  if (whole === undefined) return title
  const figures = ({ untaught, taught }: Ablated) =>
    [untaught, taught].flatMap((scores) => [scores.strict.f1, scores.highPrecision.precision, scores.found])
  const base = figures(whole)
  const signed = (value: number, column: number) => `${value > 0 ? "+" : ""}${column % 3 === 2 ? value : value.toFixed(3)}`
  const rows = [
    [whole.name, ...base.map((value, column) => (column % 3 === 2 ? String(value) : shown(value)))],
    ...others.map((one) => [one.name, ...figures(one).map((value, column) => signed(value - (base[column] ?? 0), column))]),
  ]
  return tableOf(title, rows, ablationHeadings)
}

const tableOf = (title: string, rows: ReadonlyArray<ReadonlyArray<string>>, headings = scoreHeadings): string => {
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
  const plain = results.map(({ extractor, corpus, data, curve, ablation }) => ({
    extractor,
    ...(data?.all ?? corpus?.all),
    ...(data === undefined ? {} : { ontologies: Object.fromEntries(data.each.map(({ name, scores }) => [name, scores])) }),
    ...(corpus === undefined ? {} : { corpus: corpus.all }),
    ...(curve === undefined ? {} : { curve: curve.map(({ examples, scores }) => ({ examples, ...scores })) }),
    ...(ablation === undefined ? {} : { ablation }),
  }))
  const [first, ...others] = plain
  return JSON.stringify(others.length === 0 ? first : { ...first, others })
}
