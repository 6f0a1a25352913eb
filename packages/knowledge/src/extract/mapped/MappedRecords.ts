/**
 * The facts of records whose file has a mapping. Each mapped cell is a fact with the words of its cell, or is reported with its text; a cell
 * without a rule is returned as not read. Nothing is guessed.
 */
import type { FoundRecord, RecordCell } from "../../document/Reading.ts"
import { columnOfKeys } from "../../document/Reading.ts"
import type { Fact, FactObject, Mention, Misfit, Span } from "../../fact/Fact.ts"
import type { CompiledFact, CompiledFile, CompiledList, CompiledRecord } from "../../mapping/CompiledMapping.ts"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { isPlaceholder } from "../../text/Placeholder.ts"
import { isNumeric, type Value, valueOf } from "../Values.ts"

/** The name of the extractor in the provenance of these facts. */
export const mappingName = "mapping"

export interface MappedFindings {
  /** The entities of the records, also of those without facts. */
  readonly mentions: ReadonlyArray<Mention>
  readonly facts: ReadonlyArray<Fact>
  /** Cells that do not have the value that their rule wants, and records without a name. */
  readonly misfits: ReadonlyArray<Misfit>
  /** Cells without a rule. */
  readonly notRead: ReadonlyArray<RecordCell>
}

/** A part of a document. */
export interface TextPart {
  readonly text: string
  /** Where the text begins in the document. */
  readonly offset: number
}

export const readMapped = (record: FoundRecord, rule: CompiledFile, ontology: OntologyIndex, part: TextPart): MappedFindings => {
  const reader = new MappedReader(ontology, part)
  const cells = record.cells.map((cell): ScopedCell => ({ cell, column: cell.column, keys: cell.keys ?? [cell.column] }))
  if (rule.each === undefined) reader.record(cells, rule.record, undefined)
  else reader.lists(cells, [{ each: rule.each, record: rule.record }], undefined)
  return reader
}

/** A cell with its path from the record that is read. */
interface ScopedCell {
  readonly cell: RecordCell
  readonly column: string
  readonly keys: ReadonlyArray<string | number>
}

class MappedReader implements MappedFindings {
  readonly mentions: Array<Mention> = []
  readonly facts: Array<Fact> = []
  readonly misfits: Array<Misfit> = []
  readonly notRead: Array<RecordCell> = []
  readonly #ontology: OntologyIndex
  readonly #part: TextPart

  constructor(ontology: OntologyIndex, part: TextPart) {
    this.#ontology = ontology
    this.#part = part
  }

  /** Reads a record, and returns its entity; undefined where it has no name. */
  record(cells: ReadonlyArray<ScopedCell>, rule: CompiledRecord, parent: Mention | undefined): Mention | undefined {
    const byColumn = Map.groupBy(cells, ({ column }) => column)
    const subject = this.#named(byColumn, rule)
    if (subject === undefined) this.#unnamed(cells, rule)
    else {
      this.mentions.push(subject)
      for (const fact of rule.facts) for (const { cell } of byColumn.get(fact.column) ?? []) this.#fact(subject, fact, cell, byColumn)
    }
    const used = new Set([
      rule.name,
      ...(rule.identifier === undefined ? [] : [rule.identifier]),
      ...rule.facts.flatMap(({ column, identifier }) => (identifier === undefined ? [column] : [column, identifier])),
    ])
    const isLeftOut = (column: string) => rule.leaveOut.some((one) => column === one || column.startsWith(`${one}.`))
    this.lists(
      cells.filter(({ column }) => !used.has(column) && !isLeftOut(column)),
      rule.nested,
      subject ?? parent,
    )
    return subject
  }

  /** Reads the lists of a record. Cells of no list are not read. */
  lists(cells: ReadonlyArray<ScopedCell>, lists: ReadonlyArray<CompiledList>, parent: Mention | undefined): void {
    const found = new Map<CompiledList, Map<string, Array<ScopedCell>>>()
    for (const scoped of cells) {
      const place = placeIn(scoped, lists)
      if (place === undefined) {
        if (!isPlaceholder(scoped.cell.text)) this.notRead.push(scoped.cell)
        continue
      }
      const items = found.get(place.list) ?? new Map<string, Array<ScopedCell>>()
      found.set(place.list, items)
      const item = items.get(place.item)
      if (item === undefined) items.set(place.item, [place.scoped])
      else item.push(place.scoped)
    }
    for (const [list, items] of found) for (const item of items.values()) this.#item(item, list, parent)
  }

  #item(cells: ReadonlyArray<ScopedCell>, { link, record }: CompiledList, parent: Mention | undefined): void {
    const entity = this.record(cells, record, parent)
    const [name] = cells.filter(({ column }) => column === record.name)
    if (entity === undefined || link === undefined || parent === undefined || name === undefined) return
    const [subject, object] = link.isInverse ? [entity, parent] : [parent, entity]
    this.#state(subject, link.property, { _tag: "Entity", mention: object }, name.cell)
  }

  #named(byColumn: ReadonlyMap<string, ReadonlyArray<ScopedCell>>, { type, name, identifier }: CompiledRecord): Mention | undefined {
    const cell = byColumn.get(name)?.[0]?.cell
    return cell === undefined || !isName(cell) ? undefined : this.#mention(type, pieceOf(cell), identifierIn(byColumn, identifier))
  }

  /** Reports a record that nothing can be said about, with its cells. */
  #unnamed(cells: ReadonlyArray<ScopedCell>, { facts }: CompiledRecord): void {
    const said = cells.filter(({ cell }) => !isPlaceholder(cell.text))
    const [first] = facts
    if (said.length === 0 || first === undefined) return
    const start = Math.min(...said.map(({ cell }) => cell.line))
    const end = Math.max(...said.map(({ cell }) => cell.end))
    const text = said.map(({ column, cell }) => `${column}: ${cell.text}`).join("; ")
    this.misfits.push({ property: first.property, text, span: { start, end } })
  }

  #fact(subject: Mention, rule: CompiledFact, cell: RecordCell, byColumn: ReadonlyMap<string, ReadonlyArray<ScopedCell>>): void {
    for (const piece of piecesOf(cell, rule.separator)) {
      if (isPlaceholder(piece.text)) continue
      const meant = rule.meant(piece.text)
      const object = "problem" in meant ? undefined : this.#object(rule, meant.text, piece, cell, identifierIn(byColumn, rule.identifier))
      if (object === undefined)
        this.misfits.push({ property: rule.property, text: piece.text, span: { start: piece.start, end: piece.end } })
      else if (!rule.isInverse) this.#state(subject, rule.property, object, cell)
      else if (object._tag === "Entity") this.#state(object.mention, rule.property, { _tag: "Entity", mention: subject }, cell)
    }
  }

  #object(rule: CompiledFact, text: string, piece: Piece, cell: RecordCell, identifier: string | undefined): FactObject | undefined {
    const { type, property, language } = rule
    if (type !== undefined)
      return isName(cell) ? { _tag: "Entity", mention: this.#mention(type, { ...piece, text }, identifier) } : undefined
    const value = this.#value(property, text, language)
    if (value === undefined) return undefined
    return {
      _tag: "Value",
      text: piece.text,
      span: { start: piece.start, end: piece.end },
      ...value,
      ...(language === undefined ? {} : { language }),
    }
  }

  /** A number with a remark, such as "2013 (1888)", is no number. */
  #value(property: string, text: string, language: string | undefined): Value | undefined {
    const isNumber = this.#ontology.datatypesOf(property).some(isNumeric)
    return isNumber && text.includes("(") ? undefined : valueOf(this.#ontology, property, text, language)
  }

  #mention(type: string, { text, start, end }: Piece, identifier: string | undefined): Mention {
    return { type, text, span: { start, end }, confidence: 1, ...(identifier === undefined ? {} : { identifier }) }
  }

  /** The quote of a fact is its cell with the name of the column. */
  #state(subject: Mention, property: string, object: FactObject, { line, end }: RecordCell): void {
    const { text, offset } = this.#part
    const quote = text.slice(line - offset, end - offset)
    this.facts.push({ subject, property, object, quote, span: { start: line, end }, confidence: 1 })
  }
}

/** The list that a cell is in, its item, and the cell with its path from that item. */
const placeIn = (
  { cell, keys }: ScopedCell,
  lists: ReadonlyArray<CompiledList>,
): { readonly list: CompiledList; readonly item: string; readonly scoped: ScopedCell } | undefined => {
  for (let length = 1; length <= keys.length; length++) {
    const each = columnOfKeys(keys.slice(0, length))
    const list = lists.find((one) => one.each === each)
    if (list === undefined) continue
    const rest = keys.slice(length)
    return { list, item: JSON.stringify(keys.slice(0, length)), scoped: { cell, column: columnOfKeys(rest), keys: rest } }
  }
  return undefined
}

/** A number or a truth value of JSON is no name. */
const isName = ({ text, isText }: RecordCell): boolean => isText && !isPlaceholder(text)

interface Piece extends Span {
  readonly text: string
}

/** The text of a cell without space around it. */
const pieceOf = ({ text, start }: Pick<RecordCell, "text" | "start">): Piece => {
  const lead = text.length - text.trimStart().length
  const bare = text.trim()
  return { text: bare, start: start + lead, end: start + lead + bare.length }
}

const piecesOf = (cell: RecordCell, separator: string | undefined): ReadonlyArray<Piece> => {
  if (separator === undefined) return [pieceOf(cell)]
  let at = cell.start
  return cell.text.split(separator).map((text) => {
    const piece = pieceOf({ text, start: at })
    at += text.length + separator.length
    return piece
  })
}

const identifierIn = (byColumn: ReadonlyMap<string, ReadonlyArray<ScopedCell>>, column: string | undefined): string | undefined => {
  const text = column === undefined ? undefined : byColumn.get(column)?.[0]?.cell.text.trim()
  return text === undefined || isPlaceholder(text) ? undefined : text
}
