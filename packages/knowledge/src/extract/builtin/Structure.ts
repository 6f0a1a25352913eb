/** Splits a chunk into the statements of its tables and key-value lines, and the remaining prose. */
import type { Span } from "../../fact/Fact.ts"
import { isPlaceholder } from "../../text/Placeholder.ts"
import { isVerbLike } from "../../text/Stem.ts"
import { auxiliaries, conjunctions, isFunctionWord, labelKey, nameConnectors, prepositions, pronouns, wordSet } from "../../text/Words.ts"
import type { PropertyNames } from "./OntologyView.ts"

export interface Structure {
  readonly statements: ReadonlyArray<StructuralStatement>
  /** The passages of prose, each with the topic that a heading above it names. */
  readonly prose: ReadonlyArray<{ readonly piece: Piece; readonly topic: Topic | undefined }>
  readonly unread: ReadonlyArray<UnreadRow>
}

/** A row of a table or a record that has values of the ontology's properties, and states nothing: what it is about has no name. */
export interface UnreadRow {
  readonly piece: Piece
  /** The first of those properties. */
  readonly property: string
}

export const readStructure = (text: string, offset: number, names: PropertyNames): Structure => {
  const lines = linesOf(text, offset)
  const statements: Array<StructuralStatement> = []
  const unread: Array<UnreadRow> = []
  const prose: Array<{ piece: Piece; topic: Topic | undefined }> = []
  let topic: Topic | undefined
  let before: Block | undefined
  let from = 0
  const endProse = (to: number) => {
    if (to > from) prose.push({ piece: joined(text, offset, lines, from, to), topic })
  }
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]!
    const heading = readHeading(line) ?? standingAlone(lines, at, names) ?? standingAbove(lines, at)
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
      unread.push(...table.unread)
      at += table.lines
      from = at
      continue
    }
    const block = blockAt(lines, at, names)
    if (block === undefined) {
      at++
      continue
    }
    const after = blockAt(lines, block.end + 1, names)
    const near = [before, after].filter((one): one is Block => one !== undefined && areApart(lines, one, block))
    const stated = blockStatements(block, near, nameAbove(lines, at) ?? topic, names)
    before = block
    if (stated.length > 0 || isRecord(block, names)) {
      endProse(at)
      statements.push(...stated)
      if (stated.length === 0) unread.push(...unreadRecord(block, joined(text, offset, lines, block.first, block.end), names))
      from = block.end
    }
    at = block.end
  }
  endProse(lines.length)
  return { statements, unread, prose: prose.filter(({ piece }) => piece.text.trim() !== "") }
}

/** A heading without marks: a short line between empty lines. "Dune: Part Two" is one, the field "Operator: Ada Sol" is none. */
const standingAlone = (lines: ReadonlyArray<Piece>, at: number, names: PropertyNames): Piece | undefined => {
  const isAlone = !isEmpty(lines[at]) && isEmpty(lines[at - 1]) && isEmpty(lines[at + 1]) && lines.length > 1
  const heading = isAlone ? readName(lines[at]!) : undefined
  const key = heading === undefined ? undefined : readKeyValue(heading)?.key.text
  const isField = key !== undefined && (namesTopic(key) || classOf(key, names) !== undefined || propertyOf(key, names) !== undefined)
  return isField ? undefined : heading
}

const isEmpty = (line: Piece | undefined): boolean => (line?.text.trim() ?? "") === ""

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
  const isOther = above === undefined || readHeading(above) !== undefined || readKeyValue(above) !== undefined
  const name = isOther ? undefined : readName(above)
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
const splitPiece = (whole: Piece, separator: RegExp): ReadonlyArray<Piece> => {
  const parts: Array<Piece> = []
  let from = 0
  for (const match of whole.text.matchAll(separator)) {
    parts.push(pieceOf(whole, from, match.index))
    from = match.index + match[0].length
  }
  parts.push(pieceOf(whole, from, whole.text.length))
  return parts.filter((part) => part.text !== "")
}

/** Forms of companies, without points. */
const legalForms = wordSet(`inc incorporated ltd limited llc llp lp plc co corp corporation company gmbh kg ag kgaa ohg gbr ug ev eg se mbh
  sa sas sarl sàrl sasu snc spa srl sl slu sau ltda bv nv cv vof ab as asa a/s aps oy oyj pty pte pvt kk kft zrt nyrt rt sro doo ooo oao zao
  lda zoo ans ks hf ehf`)

const isLegalForm = (word: string): boolean => legalForms.has(word.toLowerCase().replace(/[.()]/g, ""))

/** "& Partners", "and Sons", `und Söhne`: the words of a firm's name that join several names. */
const joinsNames =
  /\s&\s|\s(?:and|und|et|y|e|og|och|en)\s+(?:partners?|sons?|daughters?|brothers|associates|company|co|söhne|sohn|töchter|brüder|gebrüder|fils|frères|associés|compagnie|cie|hijos|hermanos|asociados|socios|compañía|zonen|zoon|sønner|söner|figli)(?![\p{L}])/iu

/**
 * The names in a field: "Acme, Inc., Gale, Ross & Partners; Ada Sol" are three. Undefined for "Ada Sol, Jon Bray", whose comma may separate
 * two names or be a part of one, as in "Paris, France". A comma inside the name of a company separates nothing: before its legal form, or
 * between its names if they are joined. After a legal form it separates two names.
 */
export const readNames = (field: Piece): ReadonlyArray<Piece> | undefined => {
  const lists = splitPiece(field, /;/g).map(namesBetweenCommas)
  return lists.includes(undefined) ? undefined : lists.flatMap((names = []) => names)
}

const namesBetweenCommas = (list: Piece): ReadonlyArray<Piece> | undefined => {
  const names: Array<Array<NamePart>> = []
  for (const part of splitPiece(list, /,/g).map(partOf)) {
    const name = names.at(-1)
    if (name === undefined || name.at(-1)?.endsInLegalForm === true) {
      if (name !== undefined && part.isLegalForm) name.push(part)
      else names.push([part])
    } else if (isOfName(part, name)) name.push(part)
    else return undefined
  }
  return names.map((name) => pieceOf(list, name[0]!.piece.start - list.start, name.at(-1)!.piece.end - list.start))
}

/** The text between two commas of a list. */
interface NamePart {
  readonly piece: Piece
  readonly isLegalForm: boolean
  readonly endsInLegalForm: boolean
  readonly joinsNames: boolean
}

const partOf = (piece: Piece): NamePart => {
  const words = piece.text.split(/[\s&]+/).filter((word) => word !== "")
  return {
    piece,
    isLegalForm: words.length > 0 && words.every(isLegalForm),
    endsInLegalForm: isLegalForm(words.at(-1) ?? ""),
    joinsNames: joinsNames.test(piece.text),
  }
}

/** Whether a part belongs to the same company as the parts before it. */
const isOfName = (part: NamePart, name: ReadonlyArray<NamePart>): boolean => {
  const last = name.at(-1)
  return part.isLegalForm || part.joinsNames || (last?.joinsNames === true && part.endsInLegalForm)
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

/** In UTF-16 code units. */
const longestKey = 49

const isEmphasis = (text: string): boolean => text === "**" || text === "__"

const readKeyValue = (line: Piece): KeyValue | undefined => {
  const text = line.text.trimEnd()
  const lead = /^\s*(?:[-*•+]\s+)?(?:\*\*|__)?/.exec(text)?.[0].length ?? 0
  const key = /^[^:=|\n]+(?=[:=])/.exec(text.slice(lead))?.[0] ?? ""
  const name = isEmphasis(key.trimEnd().slice(-2)) ? key.trimEnd().slice(0, -2) : key.trimEnd()
  if (name.trim() === "" || name.length > longestKey) return undefined
  const rest = text.slice(lead + key.length + 1).trimStart()
  const value = isEmphasis(rest.slice(0, 2)) ? rest.slice(2).trimStart() : rest
  if (value === "" || /[\n\r\u2028\u2029]/.test(value)) return undefined
  // Not a pair: a web address, a time of day, or a sentence with a colon in it.
  if (name.trim().split(/\s+/).length > 5 || value.startsWith("//") || /\d$/.test(name) || /[.!?;,"]/.test(name)) return undefined
  return {
    key: pieceOf(line, lead, lead + name.length),
    value: withoutPoint(pieceOf(line, text.length - value.length, line.text.length)),
  }
}

/** Drops the full stop that ends the line, but not that of an abbreviation. */
const withoutPoint = (piece: Piece): Piece =>
  /^[^.\s]{3}\.$/.test(piece.text.slice(-4)) && !isLegalForm(piece.text.slice(piece.text.lastIndexOf(" ") + 1))
    ? { text: piece.text.slice(0, -1), start: piece.start, end: piece.end - 1 }
    : piece

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

/** Numbers and booleans are no names, except under a key that says so: a title may be 1984. */
const mayBeName = (text: string): boolean => /\p{L}/u.test(text) && !/^(?:true|false)$/i.test(text)

const namesTopic = (key: string): boolean => nameKeys.has(labelKey(key))

/** The property that a key means. Words of programs are split, and the word "name" is ignored: "hubHeight", "operator name". */
const propertyOf = (key: string, names: PropertyNames): ReturnType<PropertyNames["find"]> => {
  const found = names.find(key)
  if (found !== undefined) return found
  const plain = withSpaces(key)
  const owner = ownerOf(plain)
  return (plain === key ? undefined : names.find(plain)) ?? (owner === undefined ? undefined : names.find(owner))
}

/** The class that a key names: "windFarm", "wind farm". */
const classOf = (key: string, names: PropertyNames): string | undefined => names.classNamed(key) ?? names.classNamed(withSpaces(key))

/** "windFarm" as "wind Farm" */
const withSpaces = (key: string): string => key.replace(/(?<=\p{Ll})(?=\p{Lu}\p{Ll})/gu, " ")

/** "location" of "location name", the key of a nested object's name */
const ownerOf = (key: string): string | undefined => {
  const words = key.split(/[\s_]+/)
  const at = words.findIndex((_, index) => index > 0 && namesTopic(words.slice(index).join(" ")))
  return at === -1 ? undefined : words.slice(0, at).join(" ")
}

/** The keys of the objects that a field may be nested in, the innermost first: "maker seat" and "maker" of "maker seat city". */
const ownersIn = (key: string): ReadonlyArray<string> => {
  const words = key.split(" ")
  return words.slice(1).map((_, index) => words.slice(0, words.length - 1 - index).join(" "))
}

/** Key-value lines without an empty line between them: the fields of a record, or of a heading's subject. */
interface Block {
  readonly pairs: ReadonlyArray<KeyValue>
  readonly keys: ReadonlySet<string>
  /** The first line, and the one after the last. */
  readonly first: number
  readonly end: number
  /** The field that identifies the record. */
  readonly subject: KeyValue | undefined
  /** Whether the key of `subject` says so: "Name", or a class. The first field of other records mostly identifies them. */
  readonly isNamed: boolean
}

const blockAt = (lines: ReadonlyArray<Piece>, first: number, names: PropertyNames): Block | undefined => {
  const pairs = pairsFrom(lines, first)
  const [opening] = pairs
  if (opening === undefined) return undefined
  // A key that names a class is a property only if a property has exactly this label.
  const isProperty = ({ key }: KeyValue) => (propertyOf(key.text, names)?.match ?? 0) > (classOf(key.text, names) === undefined ? 0 : 0.9)
  const named =
    pairs.find(({ key }) => namesTopic(key.text)) ??
    pairs.find((pair) => classOf(pair.key.text, names) !== undefined && !isProperty(pair) && mayBeName(pair.value.text))
  const isSubject =
    mayBeName(opening.value.text) &&
    (classOf(opening.key.text, names) !== undefined || (!isProperty(opening) && classOf(opening.value.text, names) === undefined))
  return {
    pairs,
    keys: new Set(pairs.map(({ key }) => key.text)),
    first,
    end: first + pairs.length,
    subject: named ?? (isSubject ? opening : undefined),
    isNamed: named !== undefined,
  }
}

/** Whether a block without statements is no prose either: it has a field of the ontology and no sentence. */
const isRecord = ({ pairs }: Block, names: PropertyNames): boolean =>
  pairs.some(({ key }) => propertyOf(key.text, names) !== undefined) &&
  pairs.every(({ value }) => value.text.split(/\s+/).length <= longestFieldOfRecord)

/** In words. */
const longestFieldOfRecord = 8

const unreadRecord = ({ pairs, subject }: Block, piece: Piece, names: PropertyNames): ReadonlyArray<UnreadRow> => {
  const values = pairs.filter((pair) => pair !== subject && !isPlaceholder(pair.value.text))
  const property = values.map(({ key }) => propertyOf(key.text, names)).find((found) => found !== undefined)?.property
  return property === undefined ? [] : [{ piece, property }]
}

/** Whether one empty line stands between two blocks, as between the records of a table. */
const areApart = (lines: ReadonlyArray<Piece>, one: Block, other: Block): boolean => {
  const [above, below] = one.first < other.first ? [one, other] : [other, one]
  return above.end + 1 === below.first && isEmpty(lines[above.end])
}

/** The statements of one block; none if it has no subject. `near` are the records before and after it. */
const blockStatements = (
  block: Block,
  near: ReadonlyArray<Block>,
  heading: Topic | undefined,
  names: PropertyNames,
): ReadonlyArray<StructuralStatement> => {
  const isTable = near.some(({ pairs }) => pairs[0]?.key.text === block.pairs[0]?.key.text)
  const { subject } = block
  const isOwn =
    subject !== undefined && (block.isNamed || heading === undefined || (isTable && classOf(subject.key.text, names) !== undefined))
  if (!block.isNamed && near.some((one) => lacksSubjectOf(block, one, isOwn))) return []
  const topic = isOwn ? { name: subject.value, type: classOf(subject.key.text, names) } : heading
  if (topic === undefined || isPlaceholder(topic.name.text)) return []
  return statementsAbout(topic, isOwn ? block.pairs.filter((pair) => pair !== subject) : block.pairs, names)
}

/** Whether another record of the same table has a subject in a field that this one lacks. */
const lacksSubjectOf = ({ subject, keys }: Block, other: Block, isOwn: boolean): boolean => {
  if (other.subject === undefined || keys.has(other.subject.key.text)) return false
  return isOwn && subject !== undefined ? other.keys.has(subject.key.text) : [...keys].some((key) => other.keys.has(key))
}

/** The fields of a nested object are about the object that its name names: "maker name: Halcyon", "maker headquarters: Oslo". */
const statementsAbout = (topic: Topic, pairs: ReadonlyArray<KeyValue>, names: PropertyNames): ReadonlyArray<StructuralStatement> => {
  const named = new Map<string, KeyValue>()
  for (const pair of pairs) {
    const owner = ownerOf(pair.key.text)
    if (owner !== undefined && !isPlaceholder(pair.value.text) && propertyOf(owner, names) !== undefined) named.set(owner, pair)
  }
  return pairs.flatMap((pair): ReadonlyArray<StructuralStatement> => {
    const { key, value } = pair
    if (isPlaceholder(value.text)) return []
    const owner = ownersIn(key.text).find((one) => named.has(one) && named.get(one) !== pair)
    const name = named.get(owner ?? "")?.value
    const found = propertyOf(owner === undefined ? key.text : key.text.slice(owner.length + 1), names)
    if (found === undefined) return []
    return [{ topic: name === undefined ? topic : { name, type: undefined }, property: found.property, value, match: found.match }]
  })
}

// Tables with a header row, delimited by bars, tabs, commas or semicolons: each cell in the column of a property states a fact.

export interface FoundTable {
  /** How many lines it takes. */
  readonly lines: number
  readonly statements: ReadonlyArray<StructuralStatement>
  readonly unread: ReadonlyArray<UnreadRow>
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
  const columns = header.map((cell) => propertyOf(cell.text, names))
  const subject = subjectColumn(header, columns, names)
  const hasRule = isRule(lines[at + 1])
  const property = columns.find((column, index) => index !== subject && column !== undefined)?.property
  // Without a rule under it, a line of cells need not be a header, unless one of its cells names the rows.
  if (property === undefined || (subject === -1 && !hasRule)) return undefined
  // Lines with bars or commas need not be a table: it ends at the first line with another number of cells.
  const rows: Array<ReadonlyArray<Piece>> = []
  let next = hasRule ? at + 2 : at + 1
  for (; next < lines.length; next++) {
    const cells = cellsOf(lines[next], delimiter)
    if (cells.length !== header.length) break
    rows.push(cells)
  }
  if (rows.length === 0) return undefined
  const type = classOf(header[subject]?.text ?? "", names)
  const isNamed = (cells: ReadonlyArray<Piece>): boolean => {
    const name = cells[subject]?.text ?? ""
    return !isPlaceholder(name) && (mayBeName(name) || namesTopic(header[subject]?.text ?? ""))
  }
  const unread = rows.flatMap((cells, row) => {
    const isEmptyRow = cells.every(({ text }) => isPlaceholder(text))
    const piece = lines[next - rows.length + row]
    return isNamed(cells) || isEmptyRow || piece === undefined ? [] : [{ piece, property }]
  })
  const statements = rows.filter(isNamed).flatMap((cells) => {
    const name = cells[subject]
    if (name === undefined) return []
    return cells.flatMap((value, index): ReadonlyArray<StructuralStatement> => {
      const column = columns[index]
      if (index === subject || column === undefined || isPlaceholder(value.text)) return []
      return [{ topic: { name, type }, property: column.property, value, match: column.match }]
    })
  })
  return { lines: next - at, statements, unread }
}

/** The column of the rows' subjects: the one named for a class or "Name", else the first if it is not only a property, else -1. */
const subjectColumn = (
  header: ReadonlyArray<Piece>,
  columns: ReadonlyArray<{ readonly match: number } | undefined>,
  names: PropertyNames,
): number => {
  const named = header.findIndex(
    (cell, index) => namesTopic(cell.text) || ((columns[index]?.match ?? 0) < 0.9 && classOf(cell.text, names) !== undefined),
  )
  if (named !== -1) return named
  return columns[0] === undefined || classOf(header[0]?.text ?? "", names) !== undefined ? 0 : -1
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
