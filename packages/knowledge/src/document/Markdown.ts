/** Reads Markdown as text: without markup, tables as records. Works line by line, so that every piece keeps its place in the source. */

import { addRecord, type Cell, type CellPart, cellText, type Reading, TextBuilder } from "./Reading.ts"
import type { DecodedText } from "./TextDecoding.ts"

interface Line {
  readonly text: string
  /** The offset of the line in the source. */
  readonly start: number
}

export const readMarkdown = ({ text, encoding }: DecodedText): Reading => {
  const builder = new TextBuilder()
  const all = linesOf(text)
  const body = frontMatter(all, builder)
  for (let index = body; index < all.length; ) index = addBlock(builder, all, index)
  return builder.build(encoding, declaredLanguage(all.slice(0, body)))
}

/** `lang: de` in the front matter. */
const declaredLanguage = (front: ReadonlyArray<Line>): string | undefined => {
  for (const { text } of front) {
    const found = /^(?:lang|language|locale)\s*:\s*["']?([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*)["']?\s*$/i.exec(text)?.[1]
    if (found !== undefined) return found
  }
  return undefined
}

const linesOf = (text: string): ReadonlyArray<Line> =>
  [...text.matchAll(/[^\n]*\n|[^\n]+$/g)].map(({ 0: line, index }) => ({ text: line.replace(/\r?\n$/, ""), start: index }))

/** Adds the front matter, lines `key: value` between two lines of hyphens at the very beginning. Returns the line after it. */
const frontMatter = (all: ReadonlyArray<Line>, builder: TextBuilder): number => {
  if (all[0]?.text.trim() !== "---") return 0
  const end = all.findIndex((line, index) => index > 0 && line.text.trim() === "---")
  if (end === -1) return 0
  for (const line of all.slice(1, end)) addVerbatim(builder, line)
  builder.breakLine(2)
  return end + 1
}

/** Adds the block that begins at a line, and returns the line after it. */
const addBlock = (builder: TextBuilder, all: ReadonlyArray<Line>, index: number): number => {
  const line = all[index]!
  const next = all[index + 1]
  const fence = /^\s*(```+|~~~+)/.exec(line.text)?.[1]
  if (fence !== undefined) return addFenced(builder, all, index, fence)
  if (line.text.includes("|") && next !== undefined && isTableRule(next.text)) return addTable(builder, all, index)
  if (line.text.trim() === "") builder.breakLine(2)
  else if (!isRule(line.text)) addProse(builder, line)
  return index + 1
}

/** A line of hyphens, stars or equals signs: a thematic break, or the underline of a heading. */
const isRule = (text: string): boolean => /^\s*([-*_=]\s*){3,}$/.test(text)

/** Whether all cells are hyphens. Checked cell by cell: one pattern for the whole line would backtrack over the space between marks. */
const isTableRule = (text: string): boolean => {
  const cells = text.trim().split("|")
  if (cells.length > 1 && cells[0] === "") cells.shift()
  if (cells.length > 1 && cells.at(-1) === "") cells.pop()
  return cells.every((cell) => /^:?-+:?$/.test(cell.trim()))
}

const addFenced = (builder: TextBuilder, all: ReadonlyArray<Line>, index: number, fence: string): number => {
  const end = all.findIndex((line, at) => at > index && line.text.trim().startsWith(fence))
  builder.breakLine(2)
  for (const line of all.slice(index + 1, end === -1 ? all.length : end)) addVerbatim(builder, line)
  builder.breakLine(2)
  return end === -1 ? all.length : end + 1
}

const addVerbatim = (builder: TextBuilder, { text, start }: Line): void => {
  builder.add(text, { _tag: "Characters", start, end: start + text.length })
  builder.breakLine()
}

const addProse = (builder: TextBuilder, { text, start }: Line): void => {
  const marks = /^(?:\s*>)*\s*(?:(#{1,6})\s+|(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)?/.exec(text)
  const isHeading = marks?.[1] !== undefined
  if (isHeading) builder.breakLine(2)
  const from = marks?.[0].length ?? 0
  const body = isHeading ? withoutClosingMarks(text.slice(from)) : text.slice(from).trimEnd()
  addCellParts(builder, inlineParts(body, start + from))
  builder.breakLine(isHeading ? 2 : 1)
}

/** A heading may end with closing `#` marks. */
const withoutClosingMarks = (heading: string): string => {
  const text = heading.trimEnd()
  let end = text.length
  while (end > 0 && text[end - 1] === "#") end--
  const isClosed = end < text.length && /\s/.test(text[end - 1] ?? "")
  return isClosed ? text.slice(0, end).trimEnd() : heading
}

const addCellParts = (builder: TextBuilder, parts: Cell): void => {
  for (const { text, place } of parts) builder.add(text, place)
}

const addTable = (builder: TextBuilder, all: ReadonlyArray<Line>, index: number): number => {
  const columns = cellsOf(all[index]!).map(cellText)
  let end = index + 2
  for (let row = all[end]; row?.text.includes("|") === true && row.text.trim() !== ""; row = all[++end])
    addRecord(builder, columns, cellsOf(row))
  return end
}

const cellsOf = ({ text, start }: Line): ReadonlyArray<Cell> => {
  const from = /^\s*\|?/.exec(text)?.[0].length ?? 0
  const inner = text.slice(from).replace(/(?<!\\)\|\s*$/, "")
  let at = start + from
  return inner.split(/(?<!\\)\|/).map((cell) => {
    const lead = cell.length - cell.trimStart().length
    const parts = inlineParts(cell.trim(), at + lead)
    at += cell.length + 1
    return parts
  })
}

/**
 * Matches inline markup, with a named group for each alternative. Every repetition is bounded, so that a line of unclosed marks is
 * read in linear time.
 */
const marks = new RegExp(
  [
    "(?<escaped>\\\\[!-/:-@[-`{-~])",
    "(?<code>`{1,8}(?!`))(?<codeText>.{1,1000}?)(?<!`)\\k<code>(?!`)",
    "!?\\[(?<label>(?:[^\\[\\]\\\\]|\\\\.){0,1000})\\](?:\\([^()\\s]{0,2000}(?:\\([^()]{0,500}\\)[^()\\s]{0,500})?(?:\\s{1,20}[\"'(][^)]{0,500})?\\)|\\[[^\\]]{0,500}\\])",
    "<(?<address>https?://[^>\\s]{1,2000}|[^>\\s@]{1,100}@[^>\\s]{1,300})>",
    "(?<tag></?[A-Za-z][^<>]{0,2000}>|<!--.{0,2000}?-->)",
    "(?<emphasis>\\*{1,3}(?=\\S)|(?<=\\S)\\*{1,3}|~~|(?<![\\p{L}\\p{N}_])_{1,3}(?=\\S)|(?<=\\S)_{1,3}(?![\\p{L}\\p{N}_]))",
  ].join("|"),
  "gu",
)

/** The text of a line, without emphasis, link addresses and other markup. */
const inlineParts = (line: string, start: number): Cell => {
  const parts: Array<CellPart> = []
  const keep = (from: number, to: number) => {
    if (to > from) parts.push({ text: line.slice(from, to), place: { _tag: "Characters", start: start + from, end: start + to } })
  }
  let done = 0
  for (const match of line.matchAll(marks)) {
    keep(done, match.index)
    done = match.index + match[0].length
    const groups = match.groups ?? {}
    if (groups["escaped"] !== undefined) keep(match.index + 1, done)
    const code = groups["code"]
    if (code !== undefined) keep(match.index + code.length, done - code.length)
    if (groups["address"] !== undefined) keep(match.index + 1, done - 1)
    const label = groups["label"]
    // The label of a link may contain markup.
    if (label !== undefined) parts.push(...inlineParts(label, start + match.index + match[0].indexOf("[") + 1))
  }
  keep(done, line.length)
  return parts
}
