/** Takes a chunk apart into what its lines state by their form, and the prose that is left. */
import { auxiliaries, conjunctions, isFunctionWord, nameConnectors, prepositions, pronouns, set } from "../language/FunctionWords.ts"
import { isVerbLike } from "../language/Verbs.ts"
import { keyValueStatements, readHeading, readKeyValue, readName, type StructuralStatement, type Topic } from "./KeyValues.ts"
import { linesOf, type Piece } from "./Lines.ts"
import type { PropertyNames } from "./PropertyNames.ts"
import { readTable } from "./Tables.ts"

export interface Structure {
  readonly statements: ReadonlyArray<StructuralStatement>
  /** The stretches of prose, each with the heading it stands under. */
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

/** A heading that has lost its marks: a short line between empty ones. */
const standingAlone = (lines: ReadonlyArray<Piece>, at: number): Piece | undefined => {
  const isEmpty = (index: number) => (lines[index]?.text.trim() ?? "") === ""
  return !isEmpty(at) && isEmpty(at - 1) && isEmpty(at + 1) && lines.length > 1 ? readName(lines[at]!) : undefined
}

/**
 * A heading directly above its text, as a PDF gives it: at the beginning of a paragraph, without a stop and without a verb, and
 * shorter than the line after it, so that it is no line of a text that is broken to a width.
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
  // "In the summer of that year the painter" goes on below.
  if (prepositions.has(opening) || conjunctions.has(opening) || pronouns.has(opening) || isFunctionWord(words.at(-1) ?? ""))
    return undefined
  const hasVerb = heading.text.split(/\s+/).some((word) => /^\p{Ll}/u.test(word) && (isVerbLike(word) || auxiliaries.has(word)))
  return hasVerb ? undefined : heading
}

/** What parts of documents are called: a heading that begins or ends with one of these names such a part. */
const sectionWords =
  set(`introduction overview summary abstract preface foreword contents background history biography profile details facts
  figures notes references sources bibliography appendix conclusion conclusions discussion results methods report reports review reviews
  chapter section page table figure index glossary acknowledgements contact contacts update updates schedule agenda minutes newsletter bulletin
  faq questions answers information description specifications reception plot synopsis demographics legacy career childhood years about`)

/** Words that name a part of a document only beside others such: "Early Life", "Press Releases"; not in "Northlight Press". */
const looseSectionWords =
  set(`life work works family education death early late later personal external links list lists gallery awards honours honors
  members founders annual monthly weekly press release releases programme program statement letter guide handbook manual news products
  services service team staff people events features cast production development design construction operation operations geography climate
  economy politics culture transport notable see also part our first new`)

/**
 * Whether a heading says what the lines under it are about. "Ada Lovelace" does; "Early Life", "Annual Report" and "Directors"
 * name a part of the document, or what the ontology has labels for. A single word has to stand in the text as well, unless it
 * is the title of the document.
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
