/** Takes a chunk apart into what its lines state by their form, and the prose that is left. */
import { nameConnectors } from "../language/FunctionWords.ts"
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
    const heading = readHeading(line) ?? standingAlone(lines, at)
    if (heading !== undefined) {
      endProse(at)
      if (topic === undefined || isProperName(heading.text)) topic = { name: heading, type: undefined }
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
      at++
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

/** "Ada Lovelace" begins something new; "Early life" and "History" go on with what the document is about. */
const isProperName = (text: string): boolean => {
  const words = text.split(/\s+/).filter((word) => !nameConnectors.has(word.toLowerCase()))
  return words.length > 1 && words.every((word) => /^["“(]?[\p{Lu}\p{Lo}\p{N}]/u.test(word))
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
