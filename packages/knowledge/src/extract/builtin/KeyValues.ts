/** Lines that state one fact each: "Born: 10 December 1815" under a heading that says of whom. */
import { labelKey } from "../language/Words.ts"
import { type Piece, pieceOf } from "./Lines.ts"
import type { PropertyNames } from "./PropertyNames.ts"

export interface KeyValue {
  readonly key: Piece
  readonly value: Piece
}

/** What a stretch of lines is about: a heading, a name, or what the key "Name" gives. */
export interface Topic {
  readonly name: Piece
  /** The class its key names, as in "Author: Jane Austen" where authors are a class. */
  readonly type: string | undefined
}

/** A statement of the structure rather than of a sentence. */
export interface StructuralStatement {
  readonly topic: Topic
  readonly property: string
  readonly value: Piece
  /** From 0 to 1: how surely the key means the property. */
  readonly match: number
}

const keyValueLine = /^(\s*(?:[-*•+]\s+)?(?:\*\*|__)?)([^\s:=|][^:=|\n]{0,48}?)((?:\*\*|__)?\s*[:=]\s*(?:\*\*|__)?\s*)(\S.*)$/u

export const readKeyValue = (line: Piece): KeyValue | undefined => {
  const match = keyValueLine.exec(line.text.trimEnd())
  if (match === null) return undefined
  const [, lead = "", key = "", middle = ""] = match
  // A web address, a time of day, or a sentence with a colon in it.
  if (key.trim().split(/\s+/).length > 5 || /^\/\//.test(match[4] ?? "") || /\d$/.test(key) || /[.!?;,"]/.test(key)) return undefined
  const from = lead.length + key.length + middle.length
  return { key: pieceOf(line, lead.length, lead.length + key.length), value: withoutPoint(pieceOf(line, from, line.text.length)) }
}

/** The point that ends the line is not of the value, but that of an abbreviation is. */
const withoutPoint = (piece: Piece): Piece =>
  /^[^.\s]{3}\.$/.test(piece.text.slice(-4)) ? { text: piece.text.slice(0, -1), start: piece.start, end: piece.end - 1 } : piece

/** "# Ada Sol", "== Ada Sol ==": what stands between the marks. */
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

/** A short line without a stop, such as stands above the lines about it. */
export const readName = (line: Piece): Piece | undefined => {
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

export const namesTopic = (key: string): boolean => nameKeys.has(labelKey(key))

/** The statements of one block of key-value lines. Without anything they could be about there are none. */
export const keyValueStatements = (
  pairs: ReadonlyArray<KeyValue>,
  heading: Topic | undefined,
  names: PropertyNames,
): ReadonlyArray<StructuralStatement> => {
  // A key that names a class is a property only if a property is called exactly so.
  const isProperty = ({ key }: KeyValue) => (names.find(key.text)?.match ?? 0) > (names.classNamed(key.text) === undefined ? 0 : 0.9)
  const named =
    pairs.find(({ key }) => namesTopic(key.text)) ??
    pairs.find((pair) => names.classNamed(pair.key.text) !== undefined && !isProperty(pair))
  const [first] = pairs
  // The first column of a table mostly says which record it is.
  const own = named ?? (heading === undefined && first !== undefined && !isProperty(first) ? first : undefined)
  const topic = own === undefined ? heading : { name: own.value, type: names.classNamed(own.key.text) }
  if (topic === undefined) return []
  return pairs.flatMap((pair) => {
    if (pair === own) return []
    const found = names.find(pair.key.text)
    return found === undefined ? [] : [{ topic, property: found.property, value: pair.value, match: found.match }]
  })
}
