/**
 * Reads HTML as the text that a reader of the page sees, block by block. Tables become records; scripts, styles, embedded objects
 * and form controls are left out.
 */

import { describe } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { DocumentMalformed, DocumentWronglyEncoded } from "./ReadError.ts"
import { addCell, addRecord, type Cell, type CellPart, cellText, isHeader, type Reading, TextBuilder } from "./Reading.ts"
import { type DecodedText, type DecodingError, decodeBytes } from "./TextDecoding.ts"

const skipped = new Set(["script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "select", "textarea"])

const paragraphs = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "ul", "ol", "dl", "title", "figure", "hr"])

const lines = new Set(
  "address article aside body br dd details div dt fieldset figcaption footer form header html legend li main nav option section summary tr".split(
    " ",
  ),
)

/** Deeper than any real page; the parser takes longer for each level. */
const deepest = 2000

export const readHtml = (source: string, { text, encoding }: DecodedText): Effect.Effect<Reading, DocumentMalformed> =>
  Effect.flatMap(
    Effect.promise(() => import("htmlparser2")),
    ({ Parser }) =>
      Effect.try({
        try: () => {
          const page = new Page()
          let depth = 0
          let language: string | undefined
          const parser = new Parser(
            {
              onopentagname: (name) => {
                // Thrown through the parser, which has no other way to be stopped.
                if (++depth > deepest) throw new Error(`its elements are nested more than ${deepest} deep`)
                page.open(name)
              },
              // The language of the page, not of a part of it.
              onattribute: (name, value) => {
                if (name === "lang" || name === "xml:lang") language ??= depth <= 2 ? value : undefined
              },
              ontext: (piece) => page.text(piece, parser.startIndex, parser.endIndex + 1),
              onclosetag: (name) => {
                depth--
                page.close(name)
              },
            },
            { decodeEntities: true, lowerCaseTags: true },
          )
          parser.end(text)
          return page.builder.build(encoding, language)
        },
        catch: (error) => new DocumentMalformed({ source, format: "html", problem: describe(error) }),
      }),
  )

class Page {
  readonly builder = new TextBuilder()
  #hidden = 0
  #preformatted = 0
  #table: HtmlTable | undefined
  #tables = 0
  /** A space is only written when something follows on the same line. */
  #space: { readonly start: number; readonly end: number } | undefined

  open(name: string): void {
    if (skipped.has(name)) this.#hidden++
    if (name === "pre") this.#preformatted++
    if (this.#hidden > 0) return
    if (this.#table !== undefined) this.#table.open(name)
    else if (name === "table") {
      this.#breakLine(2)
      this.#table = new HtmlTable()
    } else this.#breakAt(name)
  }

  close(name: string): void {
    if (skipped.has(name)) this.#hidden = Math.max(0, this.#hidden - 1)
    if (name === "pre") this.#preformatted = Math.max(0, this.#preformatted - 1)
    if (this.#hidden > 0) return
    if (this.#table === undefined) this.#breakAt(name)
    else if (this.#table.close(name)) {
      this.#table.addTo(this.builder, ++this.#tables)
      this.#table = undefined
    }
  }

  text(piece: string, start: number, end: number): void {
    if (this.#hidden > 0) return
    const text = piece.toWellFormed()
    if (this.#table !== undefined) this.#table.text(text, start, end)
    else if (this.#preformatted > 0) this.builder.add(text, { _tag: "Characters", start, end })
    else this.#prose(text, start, end)
  }

  #prose(text: string, start: number, end: number): void {
    // A piece that was decoded from another spelling, such as an entity, cannot be mapped character by character.
    const isLiteral = end - start === text.length
    for (const { 0: part, index } of text.matchAll(/\s+|\S+/gu)) {
      const place = isLiteral ? { start: start + index, end: start + index + part.length } : { start, end }
      if (/^\s/u.test(part)) this.#space = place
      else this.#word(part, place)
    }
  }

  #word(word: string, place: { readonly start: number; readonly end: number }): void {
    if (this.#space !== undefined && this.builder.isInLine) this.builder.add(" ", { _tag: "Characters", ...this.#space })
    this.#space = undefined
    this.builder.add(word, { _tag: "Characters", ...place })
  }

  #breakAt(name: string): void {
    if (paragraphs.has(name)) this.#breakLine(2)
    else if (lines.has(name)) this.#breakLine(1)
  }

  #breakLine(breaks: 1 | 2): void {
    this.#space = undefined
    this.builder.breakLine(breaks)
  }
}

/** Decodes a page by the encoding that it declares, unless it begins with a byte order mark. */
export const decodeHtml = (source: string, bytes: Uint8Array): Result.Result<DecodedText, DecodingError> => {
  const declared = declaredEncoding(bytes)
  if (declared === undefined || hasMark(bytes) || /^utf-?8$/i.test(declared)) return decodeBytes(source, bytes)
  const decoder = decoderFor(declared)
  if (decoder === undefined) {
    return Result.fail(new DocumentWronglyEncoded({ source, problem: `it declares the encoding ${declared}, which is unknown` }))
  }
  // `decodeBytes` decodes Windows-1252 itself.
  if (decoder.encoding === "windows-1252") return decodeBytes(source, bytes)
  try {
    return Result.succeed({ text: decoder.decode(bytes), encoding: `declared ${decoder.encoding}` })
  } catch {
    // The decoder gives no reason.
    return Result.fail(new DocumentWronglyEncoded({ source, problem: `it declares the encoding ${declared}, but is not valid in it` }))
  }
}

const declaredEncoding = (bytes: Uint8Array): string | undefined => {
  for (const { 1: attributes = "" } of Buffer.from(bytes.subarray(0, 2048))
    .toString("latin1")
    .matchAll(/<meta([^>]*)/gi)) {
    const found = /charset\s*=\s*(?:["']\s*)?([A-Za-z0-9_:-]+)/i.exec(attributes)
    if (found !== null) return found[1]
  }
  return undefined
}

const hasMark = (bytes: Uint8Array): boolean =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff) || (bytes[0] === 0xef && bytes[1] === 0xbb)

const decoderFor = (label: string): TextDecoder | undefined => {
  try {
    return new TextDecoder(label, { fatal: true })
  } catch {
    // A label the platform does not know.
    return undefined
  }
}

interface TableCell {
  readonly isHeading: boolean
  readonly parts: Array<CellPart>
}

/** Collects a table of a page until it is complete, then writes it as records. A table inside a cell is text of that cell. */
class HtmlTable {
  readonly #rows: Array<Array<TableCell>> = []
  #depth = 1
  #cell: TableCell | undefined
  #caption: TableCell | undefined

  open(name: string): void {
    if (name === "table") this.#depth++
    if (this.#depth > 1) return
    if (name === "tr") this.#rows.push([])
    if (name === "caption") this.#caption = this.#cell = { isHeading: true, parts: [] }
    if (name !== "td" && name !== "th") return
    this.#cell = { isHeading: name === "th", parts: [] }
    if (this.#rows.length === 0) this.#rows.push([])
    this.#rows.at(-1)?.push(this.#cell)
  }

  /** Whether the table itself was closed. */
  close(name: string): boolean {
    if (name === "table") return --this.#depth === 0
    if (this.#depth === 1 && ["td", "th", "caption"].includes(name)) this.#cell = undefined
    return false
  }

  text(text: string, start: number, end: number): void {
    this.#cell?.parts.push({ text, place: { _tag: "Characters", start, end } })
  }

  /** `position`: of the table in its page, counted from 1. */
  addTo(builder: TextBuilder, position: number): void {
    const caption = this.#caption === undefined ? "" : cellText(trimmed(this.#caption))
    const table = caption === "" ? `table ${position}` : caption
    if (this.#caption !== undefined) {
      addCell(builder, trimmed(this.#caption))
      builder.breakLine(2)
    }
    const rows = this.#rows.filter((row) => row.some((cell) => cellText(trimmed(cell)) !== ""))
    const head = rows[0] ?? []
    const columns = head.map((cell) => cellText(trimmed(cell)))
    const namesColumns = rows.length > 1 && (head.every(({ isHeading }) => isHeading) || this.#allPlain(rows)) && isHeader(columns)
    if (namesColumns)
      for (const [index, row] of rows.slice(1).entries()) addRecord(builder, { table, number: index + 1, columns }, row.map(trimmed))
    else for (const row of rows) addRow(builder, row)
    builder.breakLine(2)
  }

  /** A table without heading cells usually names its columns in its first row, if it has more than two columns. */
  #allPlain(rows: ReadonlyArray<ReadonlyArray<TableCell>>): boolean {
    return (rows[0]?.length ?? 0) > 2 && rows.every((row) => row.every(({ isHeading }) => !isHeading))
  }
}

/** Adds a row: a heading with its values, or cells separated by commas. */
const addRow = (builder: TextBuilder, row: ReadonlyArray<TableCell>): void => {
  const [first, ...rest] = row
  if (first === undefined) return
  const isNamed = rest.length > 0 && (first.isHeading || row.length === 2)
  addCell(builder, trimmed(first))
  for (const [index, cell] of rest.entries()) {
    builder.put(isNamed && index === 0 ? ": " : ", ")
    addCell(builder, trimmed(cell))
  }
  builder.breakLine()
}

/** The cell without surrounding white space and line breaks. */
const trimmed = ({ parts }: TableCell): Cell => {
  const kept: Array<CellPart> = []
  for (const { text, place } of parts) {
    const follows = kept.length > 0 && !/\s$/u.test(kept.at(-1)?.text ?? "")
    const words = text.replace(/\s+/gu, " ")
    const tidy = follows ? words : words.trimStart()
    if (tidy !== "") kept.push({ text: tidy, place })
  }
  const last = kept.at(-1)
  if (last !== undefined) kept[kept.length - 1] = { ...last, text: last.text.trimEnd() }
  return kept.filter(({ text }) => text !== "")
}
