/**
 * Reads Markdown as text: without markup, tables and front matter as records. Works line by line, so that every piece keeps its place in the
 * source.
 */

import { addValues, declaredLanguage, type Json } from "./Json.ts"
import { addRecord, type Cell, type CellPart, cellText, type Reading, TextBuilder } from "./Reading.ts"
import type { DecodedText } from "./TextDecoding.ts"

interface Line {
  readonly text: string
  /** The offset of the line in the source. */
  readonly start: number
}

/** `yaml` reads the front matter. */
export const readMarkdown = ({ text, encoding }: DecodedText, yaml: FrontMatterReader | undefined): Reading => {
  const builder = new TextBuilder()
  const all = linesOf(text)
  const front = yaml === undefined ? undefined : frontMatter(all, text, builder, yaml)
  let tables = 0
  for (let index = front?.next ?? 0; index < all.length; ) {
    const block = addBlock(builder, all, index, tables + 1)
    if (block.isTable) tables++
    index = block.next
  }
  return builder.build(encoding, front?.language)
}

/** Whether a text begins with front matter. */
export const hasFrontMatter = (text: string): boolean => /^---[^\S\n]*\r?\n/.test(text)

const linesOf = (text: string): ReadonlyArray<Line> =>
  [...text.matchAll(/[^\n]*\n|[^\n]+$/g)].map(({ 0: line, index }) => ({ text: line.replace(/\r?\n$/, ""), start: index }))

/** A value of YAML, and where each of its scalars is in the text. */
export interface FrontMatter {
  readonly value: Json
  readonly rangeOf: (path: ReadonlyArray<string | number>) => { readonly start: number; readonly end: number } | undefined
}

/** Reads YAML; undefined where a text is none, or has no keys. */
export type FrontMatterReader = (text: string) => FrontMatter | undefined

/**
 * Adds the front matter, YAML between two lines of hyphens at the very beginning; what is no YAML as it stands there. Returns the line after
 * it, and the language that it declares.
 */
const frontMatter = (all: ReadonlyArray<Line>, text: string, builder: TextBuilder, read: FrontMatterReader) => {
  if (all[0]?.text.trim() !== "---") return undefined
  const end = all.findIndex((line, index) => index > 0 && line.text.trim() === "---")
  const [first, last] = [all[1], all[end]]
  if (end === -1 || first === undefined || last === undefined) return undefined
  const found = read(text.slice(first.start, last.start))
  const wholePlace = { start: first.start, end: last.start }
  const place = (path: ReadonlyArray<string | number>) => {
    const range = found?.rangeOf(path)
    return range === undefined ? wholePlace : { start: first.start + range.start, end: first.start + range.end }
  }
  const isRead =
    found !== undefined &&
    addValues({ builder, table: frontMatterTable, placeOf: (path) => ({ _tag: "Characters", ...place(path) }) }, found.value)
  if (!isRead) for (const line of all.slice(1, end)) addVerbatim(builder, line)
  builder.breakLine(2)
  return { next: end + 1, language: found === undefined ? undefined : declaredLanguage(found.value) }
}

/** The table of a record that is front matter. */
export const frontMatterTable = "front matter"

interface Block {
  /** The line after it. */
  readonly next: number
  readonly isTable: boolean
}

/** Adds the block that begins at a line. `table` is the number of a table that it may be. */
const addBlock = (builder: TextBuilder, all: ReadonlyArray<Line>, index: number, table: number): Block => {
  const line = all[index]!
  const next = all[index + 1]
  const fence = /^\s*(```+|~~~+)/.exec(line.text)?.[1]
  if (fence !== undefined) return { next: addFenced(builder, all, index, fence), isTable: false }
  if (line.text.includes("|") && next !== undefined && isTableRule(next.text))
    return { next: addTable(builder, all, index, `table ${table}`), isTable: true }
  if (line.text.trim() === "") builder.breakLine(2)
  else if (!isRule(line.text)) addProse(builder, line)
  return { next: index + 1, isTable: false }
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

const addTable = (builder: TextBuilder, all: ReadonlyArray<Line>, index: number, table: string): number => {
  const columns = cellsOf(all[index]!).map(cellText)
  let end = index + 2
  for (let row = all[end]; row?.text.includes("|") === true && row.text.trim() !== ""; row = all[++end])
    addRecord(builder, { table, number: end - index - 1, columns }, cellsOf(row))
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
