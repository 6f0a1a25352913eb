/** Splits a chunk into the statements of its tables and key-value lines, and the remaining prose. */
import type { Span } from "../Fact.ts"
import { isVerbLike } from "../language/Stem.ts"
import { auxiliaries, conjunctions, isFunctionWord, labelKey, nameConnectors, prepositions, pronouns, wordSet } from "../language/Words.ts"
import type { PropertyNames } from "./OntologyView.ts"

export interface Structure {
  readonly statements: ReadonlyArray<StructuralStatement>
  /** The passages of prose, each with the topic that a heading above it names. */
  readonly prose: ReadonlyArray<{ readonly piece: Piece; readonly topic: Topic | undefined }>
}

export const readStructure = (text: string, offset: number, names: PropertyNames): Structure => {
  const lines = linesOf(text, offset)
  const statements: Array<StructuralStatement> = []
  const prose: Array<{ piece: Piece; topic: Topic | undefined }> = []
  let topic: Topic | undefined
  let from = 0
  const endProse = (to: number) => {
    if (to > from) prose.push({ piece: joined(text, offset, lines, from, to), topic })
  }
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]!
    const heading = readHeading(line) ?? standingAlone(lines, at) ?? standingAbove(lines, at)
    if (heading !== undefined) {
      endProse(at)
      if (namesTopicOf(heading.text, text, names, topic === undefined)) topic = { name: heading, type: undefined }
      from = ++at
      continue
    }
    const table = readTable(lines, at, names)
    if (table !== undefined) {
      endProse(at)
      statements.push(...table.statements)
      at += table.lines
      from = at
      continue
    }
    const pairs = pairsFrom(lines, at)
    const about = pairs.length === 0 ? undefined : (nameAbove(lines, at) ?? topic)
    const stated = keyValueStatements(pairs, about, names)
    if (stated.length === 0) {
      at += Math.max(1, pairs.length)
      continue
    }
    endProse(at)
    statements.push(...stated)
    at += pairs.length
    from = at
  }
  endProse(lines.length)
  return { statements, prose: prose.filter(({ piece }) => piece.text.trim() !== "") }
}

/** A heading without marks: a short line between empty lines. */
const standingAlone = (lines: ReadonlyArray<Piece>, at: number): Piece | undefined => {
  const isEmpty = (index: number) => (lines[index]?.text.trim() ?? "") === ""
  return !isEmpty(at) && isEmpty(at - 1) && isEmpty(at + 1) && lines.length > 1 ? readName(lines[at]!) : undefined
}

/**
 * A heading directly above its text, as in the text of a PDF: at the beginning of a paragraph, without a full stop and without a verb,
 * and shorter than the line after it, so that it is not a line of wrapped text.
 */
const standingAbove = (lines: ReadonlyArray<Piece>, at: number): Piece | undefined => {
  const line = lines[at]!
  const below = lines[at + 1]
  if (below === undefined || (at > 0 && lines[at - 1]?.text.trim() !== "")) return undefined
  const heading = readName(line)
  if (heading === undefined || below.text.trim().length < 1.2 * heading.text.length || !/[.!?]["”’)]*(?:\s|$)/.test(below.text))
    return undefined
  if (!/^\s*["“(]?[\p{Lu}\p{Lo}]/u.test(below.text) || readKeyValue(below) !== undefined || readHeading(below) !== undefined)
    return undefined
  const words = heading.text.split(/\s+/).map((word) => word.toLowerCase())
  const opening = words[0] ?? ""
  // "In the summer of that year the painter" continues on the next line.
  if (prepositions.has(opening) || conjunctions.has(opening) || pronouns.has(opening) || isFunctionWord(words.at(-1) ?? ""))
    return undefined
  const hasVerb = heading.text.split(/\s+/).some((word) => /^\p{Ll}/u.test(word) && (isVerbLike(word) || auxiliaries.has(word)))
  return hasVerb ? undefined : heading
}

/** A heading that begins or ends with one of these words names a section of the document. */
const sectionWords =
  wordSet(`introduction overview summary abstract preface foreword contents background history biography profile details facts
  figures notes references sources bibliography appendix conclusion conclusions discussion results methods report reports review reviews
  chapter section page table figure index glossary acknowledgements contact contacts update updates schedule agenda minutes newsletter bulletin
  faq questions answers information description specifications reception plot synopsis demographics legacy career childhood years about
  legal notice notices privacy policy terms conditions imprint disclaimer copyright cookie cookies announcement announcements welcome
  directions prices tickets jobs careers help login archive readme changelog licence license`)

/** Words that name a section only together with others of this list: "Early Life", "Press Releases"; not in "Northlight Press". */
const looseSectionWords =
  wordSet(`life work works family education death early late later personal external links list lists gallery awards honours honors
  members founders annual monthly weekly press release releases programme program statement letter guide handbook manual news products
  services service team staff people events features cast production development design construction operation operations geography climate
  economy politics culture transport notable see also part our first new`)

/**
 * Whether a heading names the topic of the lines under it. "Ada Lovelace" does; "Early Life", "Annual Report" and "Directors"
 * name a section of the document or a label of the ontology. A single word must occur in the text again, unless it is the title
 * of the document.
 */
const namesTopicOf = (heading: string, text: string, names: PropertyNames, isTitle: boolean): boolean => {
  const words = heading.split(/\s+/).filter((word) => !nameConnectors.has(word.toLowerCase()) && /[\p{L}\p{N}]/u.test(word))
  const plain = words.map((word) => word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "")).filter((word) => !/^\d+$/.test(word))
  const [first = "", last = ""] = [plain[0], plain.at(-1)]
  const isPart = (word: string) => looseSectionWords.has(word) || names.isLabelWord(word)
  if (sectionWords.has(first) || sectionWords.has(last) || plain.every(isPart)) return false
  if (words.length > 1) return words.every((word) => /^["“(]?[\p{Lu}\p{Lo}\p{N}]/u.test(word)) && !isFunctionWord(first)
  return isTitle || text.indexOf(heading) !== text.lastIndexOf(heading)
}

const joined = (text: string, offset: number, lines: ReadonlyArray<Piece>, from: number, to: number): Piece => {
  const start = lines[from]?.start ?? offset
  const end = lines[to - 1]?.end ?? start
  return { text: text.slice(start - offset, end - offset), start, end }
}

const pairsFrom = (lines: ReadonlyArray<Piece>, at: number) => {
  const pairs: Array<NonNullable<ReturnType<typeof readKeyValue>>> = []
  for (let next = at; next < lines.length; next++) {
    const pair = readKeyValue(lines[next]!)
    if (pair === undefined) break
    pairs.push(pair)
  }
  return pairs
}

/** The line right above a block, or with one empty line between, if it reads like a name. */
const nameAbove = (lines: ReadonlyArray<Piece>, at: number): Topic | undefined => {
  const above = lines[at - 1]?.text.trim() === "" ? lines[at - 2] : lines[at - 1]
  const name = above === undefined || readHeading(above) !== undefined ? undefined : readName(above)
  return name === undefined ? undefined : { name, type: undefined }
}

// Lines and parts of lines, each with its exact span.

/** A part of the text with its span. */
export interface Piece extends Span {
  readonly text: string
}

const linesOf = (text: string, offset: number): ReadonlyArray<Piece> => {
  const lines: Array<Piece> = []
  for (let start = 0; start <= text.length; ) {
    const newline = text.indexOf("\n", start)
    const end = newline === -1 ? text.length : newline
    lines.push({ text: text.slice(start, end), start: offset + start, end: offset + end })
    if (newline === -1) break
    start = newline + 1
  }
  return lines
}

/** The part of a piece from `from` to `to`, trimmed. */
const pieceOf = (whole: Piece, from: number, to: number): Piece => {
  const part = whole.text.slice(from, to)
  const left = part.length - part.trimStart().length
  const text = part.trim()
  const start = whole.start + from + left
  return { text, start, end: start + text.length }
}

/** Splits a piece at each match of a pattern; leaves out empty parts. */
export const splitPiece = (whole: Piece, separator: RegExp): ReadonlyArray<Piece> => {
  const parts: Array<Piece> = []
  let from = 0
  for (const match of whole.text.matchAll(separator)) {
    parts.push(pieceOf(whole, from, match.index))
    from = match.index + match[0].length
  }
  parts.push(pieceOf(whole, from, whole.text.length))
  return parts.filter((part) => part.text !== "")
}

// Lines that state one fact each: "Born: 10 December 1815" under a heading that names the subject.

export interface KeyValue {
  readonly key: Piece
  readonly value: Piece
}

/** The subject of a block of lines: a heading, a name, or the value of a key like "Name". */
export interface Topic {
  readonly name: Piece
  /** The class that its key names: the class "Author" for "Author: Jane Austen". */
  readonly type: string | undefined
}

/** A statement from a table or a key-value line rather than from a sentence. */
export interface StructuralStatement {
  readonly topic: Topic
  readonly property: string
  readonly value: Piece
  /** From 0 to 1: how surely the key means the property. */
  readonly match: number
}

const keyValueLine = /^(\s*(?:[-*•+]\s+)?(?:\*\*|__)?)([^\s:=|][^:=|\n]{0,48}?)((?:\*\*|__)?\s*[:=]\s*(?:\*\*|__)?\s*)(\S.*)$/u

const readKeyValue = (line: Piece): KeyValue | undefined => {
  const match = keyValueLine.exec(line.text.trimEnd())
  if (match === null) return undefined
  const [, lead = "", key = "", middle = ""] = match
  // Not a pair: a web address, a time of day, or a sentence with a colon in it.
  if (key.trim().split(/\s+/).length > 5 || /^\/\//.test(match[4] ?? "") || /\d$/.test(key) || /[.!?;,"]/.test(key)) return undefined
  const from = lead.length + key.length + middle.length
  return { key: pieceOf(line, lead.length, lead.length + key.length), value: withoutPoint(pieceOf(line, from, line.text.length)) }
}

/** Drops the full stop that ends the line, but not that of an abbreviation. */
const withoutPoint = (piece: Piece): Piece =>
  /^[^.\s]{3}\.$/.test(piece.text.slice(-4)) ? { text: piece.text.slice(0, -1), start: piece.start, end: piece.end - 1 } : piece

/** The text between the marks of "# Ada Sol" or "== Ada Sol ==". */
export const readHeading = (line: Piece): Piece | undefined => {
  const from = /^\s*(?:#{1,6}|={2,})\s+/.exec(line.text)?.[0].length
  if (from === undefined) return undefined
  const end = line.text.trimEnd().length
  const mark = line.text[end - 1]
  let closing = end
  while ((mark === "#" || mark === "=") && closing > from && line.text[closing - 1] === mark) closing--
  const heading = pieceOf(line, from, /\s/.test(line.text[closing - 1] ?? "") ? closing : end)
  return heading.text === "" ? undefined : heading
}

/** The line as a name if it is short and has no end mark: such a line can stand above the lines about it. */
const readName = (line: Piece): Piece | undefined => {
  const piece = pieceOf(line, 0, line.text.length)
  const isName =
    piece.text !== "" && piece.text.split(/\s+/).length <= 8 && !/[.!?;:,|]$/.test(piece.text) && /^["“\p{Lu}\p{Lo}\p{N}]/u.test(piece.text)
  return isName ? piece : undefined
}

const nameKeys: ReadonlySet<string> = new Set([
  ...["name", "title", "full name", "label"],
  ...["titel", "bezeichnung", "vollständiger name"],
  ...["nom", "titre", "nom complet", "intitulé"],
  ...["nombre", "título", "nombre completo", "denominación"],
])

const namesTopic = (key: string): boolean => nameKeys.has(labelKey(key))

/** The statements of one block of key-value lines; none if the block has no subject. */
const keyValueStatements = (
  pairs: ReadonlyArray<KeyValue>,
  heading: Topic | undefined,
  names: PropertyNames,
): ReadonlyArray<StructuralStatement> => {
  // A key that names a class is a property only if a property has exactly this label.
  const isProperty = ({ key }: KeyValue) => (names.find(key.text)?.match ?? 0) > (names.classNamed(key.text) === undefined ? 0 : 0.9)
  const named =
    pairs.find(({ key }) => namesTopic(key.text)) ??
    pairs.find((pair) => names.classNamed(pair.key.text) !== undefined && !isProperty(pair))
  const [first] = pairs
  // The first field of a record mostly identifies it.
  const own = named ?? (heading === undefined && first !== undefined && !isProperty(first) ? first : undefined)
  const topic = own === undefined ? heading : { name: own.value, type: names.classNamed(own.key.text) }
  if (topic === undefined) return []
  return pairs.flatMap((pair) => {
    if (pair === own) return []
    const found = names.find(pair.key.text)
    return found === undefined ? [] : [{ topic, property: found.property, value: pair.value, match: found.match }]
  })
}

// Tables with a header row, delimited by bars, tabs, commas or semicolons: each cell in the column of a property states a fact.

export interface FoundTable {
  /** How many lines it takes. */
  readonly lines: number
  readonly statements: ReadonlyArray<StructuralStatement>
}

/** The table that begins at a line, if its header names a property of the ontology. */
const readTable = (lines: ReadonlyArray<Piece>, at: number, names: PropertyNames): FoundTable | undefined => {
  for (const delimiter of ["|", "\t", ";", ","] as const) {
    const found = tableWith(delimiter, lines, at, names)
    if (found !== undefined) return found
  }
  return undefined
}

const tableWith = (delimiter: string, lines: ReadonlyArray<Piece>, at: number, names: PropertyNames): FoundTable | undefined => {
  const header = cellsOf(lines[at], delimiter)
  if (header.length < 2 || header.some((cell) => cell.text.split(/\s+/).length > 6)) return undefined
  const columns = header.map((cell) => names.find(cell.text))
  const subject = subjectColumn(header, columns, names)
  const certain = columns.some((column, index) => index !== subject && column !== undefined && column.match > 0.8)
  if (subject === -1 || !certain) return undefined
  const hasRule = isRule(lines[at + 1])
  // Lines with bars or commas need not be a table: it ends at the first line with another number of cells.
  const rows: Array<ReadonlyArray<Piece>> = []
  let next = hasRule ? at + 2 : at + 1
  for (; next < lines.length; next++) {
    const cells = cellsOf(lines[next], delimiter)
    if (cells.length !== header.length) break
    rows.push(cells)
  }
  if (rows.length === 0) return undefined
  const type = names.classNamed(header[subject]?.text ?? "")
  const statements = rows.flatMap((cells) => {
    const name = cells[subject]
    if (name === undefined || name.text === "") return []
    return cells.flatMap((value, index): ReadonlyArray<StructuralStatement> => {
      const column = columns[index]
      if (index === subject || column === undefined || value.text === "" || /^[-–—?]$|^n\/?a$/i.test(value.text)) return []
      return [{ topic: { name, type }, property: column.property, value, match: column.match }]
    })
  })
  return { lines: next - at, statements }
}

/** The column of the rows' subjects: the one named for a class or "Name", else the first if it is not a property, else -1. */
const subjectColumn = (
  header: ReadonlyArray<Piece>,
  columns: ReadonlyArray<{ readonly match: number } | undefined>,
  names: PropertyNames,
): number => {
  const named = header.findIndex(
    (cell, index) => namesTopic(cell.text) || ((columns[index]?.match ?? 0) < 0.9 && names.classNamed(cell.text) !== undefined),
  )
  if (named !== -1) return named
  return columns[0] === undefined ? 0 : -1
}

const isRule = (line: Piece | undefined): boolean => line !== undefined && /^[\s|:+=-]+$/.test(line.text) && line.text.includes("--")

const cellsOf = (line: Piece | undefined, delimiter: string): ReadonlyArray<Piece> => {
  if (line === undefined || !line.text.includes(delimiter)) return []
  const { text } = line
  const cells: Array<Piece> = []
  let from = 0
  let quoted = false
  for (let at = 0; at <= text.length; at++) {
    if (text[at] === '"' && delimiter !== "|") quoted = !quoted
    if (at < text.length && (quoted || text[at] !== delimiter)) continue
    cells.push(unquoted(pieceOf(line, from, at)))
    from = at + 1
  }
  if (delimiter !== "|") return cells
  // The bars at both ends of a row have no cell outside them.
  const first = /^\s*\|/.test(text) ? 1 : 0
  return cells.slice(first, /\|\s*$/.test(text) ? -1 : undefined)
}

const unquoted = (piece: Piece): Piece =>
  /^".*"$/.test(piece.text) && piece.text.length > 1 ? { text: piece.text.slice(1, -1), start: piece.start + 1, end: piece.end - 1 } : piece
