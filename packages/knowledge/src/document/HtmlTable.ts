/** A table of a page, gathered until it is whole and then written as records. A table within a cell is text of that cell. */
import type { TextBuilder } from "./Reading.ts"
import { addCell, addRecord, type Cell, type CellPart, cellText, isHeader } from "./Records.ts"

interface TableCell {
  readonly isHeading: boolean
  readonly parts: Array<CellPart>
}

export class HtmlTable {
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

  addTo(builder: TextBuilder): void {
    if (this.#caption !== undefined) {
      addCell(builder, trimmed(this.#caption))
      builder.breakLine(2)
    }
    const rows = this.#rows.filter((row) => row.some((cell) => cellText(trimmed(cell)) !== ""))
    const head = rows[0] ?? []
    const columns = head.map((cell) => cellText(trimmed(cell)))
    const namesColumns = rows.length > 1 && (head.every(({ isHeading }) => isHeading) || this.#allPlain(rows)) && isHeader(columns)
    if (namesColumns) for (const row of rows.slice(1)) addRecord(builder, columns, row.map(trimmed))
    else for (const row of rows) addRow(builder, row)
    builder.breakLine(2)
  }

  /** A table without any headings mostly names its columns in its first row, if it has more than two of them. */
  #allPlain(rows: ReadonlyArray<ReadonlyArray<TableCell>>): boolean {
    return (rows[0]?.length ?? 0) > 2 && rows.every((row) => row.every(({ isHeading }) => !isHeading))
  }
}

/** A heading beside its values, or cells beside each other. */
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

/** Without the white space around and the breaks within. */
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
