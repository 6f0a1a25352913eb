/** Writes XLSX files for tests, as Excel does: shared texts, styles of dates, and sheets. */
import { crc32, deflateRawSync } from "node:zlib"

export type TestCell = string | number | boolean | null | { readonly date: number } | { readonly inline: string } | { readonly raw: string }

export interface TestSheet {
  readonly name: string
  readonly rows: ReadonlyArray<ReadonlyArray<TestCell>>
  readonly state?: string
}

const escape = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")

export const columnLetters = (column: number): string => {
  let letters = ""
  for (let left = column + 1; left > 0; left = Math.floor((left - 1) / 26)) letters = String.fromCharCode(65 + ((left - 1) % 26)) + letters
  return letters
}

export const workbook = (sheets: ReadonlyArray<TestSheet>): Buffer => {
  const texts = new Map<string, number>()
  const shared = (text: string): number => {
    const known = texts.get(text)
    if (known !== undefined) return known
    texts.set(text, texts.size)
    return texts.size - 1
  }
  const cellXml = (cell: TestCell, place: string): string => {
    if (cell === null) return ""
    if (typeof cell === "string") return `<c r="${place}" t="s"><v>${shared(cell)}</v></c>`
    if (typeof cell === "number") return `<c r="${place}"><v>${cell}</v></c>`
    if (typeof cell === "boolean") return `<c r="${place}" t="b"><v>${cell ? 1 : 0}</v></c>`
    if ("date" in cell) return `<c r="${place}" s="1"><v>${cell.date}</v></c>`
    if ("inline" in cell) return `<c r="${place}" t="inlineStr"><is><t>${escape(cell.inline)}</t></is></c>`
    return cell.raw.replaceAll("PLACE", place)
  }
  const sheetXml = ({ rows }: TestSheet) =>
    `<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>${rows
      .map(
        (row, index) =>
          `<row r="${index + 1}">${row.map((cell, column) => cellXml(cell, `${columnLetters(column)}${index + 1}`)).join("")}</row>`,
      )
      .join("")}</sheetData></worksheet>`
  const parts = sheets.map(sheetXml)
  return zip([
    [
      "xl/workbook.xml",
      `<workbook xmlns:r="r"><sheets>${sheets
        .map(
          ({ name, state = "visible" }, index) =>
            `<sheet name="${escape(name)}" sheetId="${index + 1}" state="${state}" r:id="rId${index + 1}"/>`,
        )
        .join("")}</sheets></workbook>`,
    ],
    [
      "xl/_rels/workbook.xml.rels",
      `<Relationships>${sheets
        .map((_, index) => `<Relationship Id="rId${index + 1}" Target="worksheets/sheet${index + 1}.xml"/>`)
        .join("")}</Relationships>`,
    ],
    [
      "xl/styles.xml",
      `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[$-407]d. mmm yyyy"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
    ],
    [
      "xl/sharedStrings.xml",
      `<sst>${[...texts.keys()].map((text) => `<si><t xml:space="preserve">${escape(text)}</t></si>`).join("")}</sst>`,
    ],
    ...parts.map((part, index): readonly [string, string] => [`xl/worksheets/sheet${index + 1}.xml`, part]),
  ])
}

/** A ZIP archive. */
export const zip = (parts: ReadonlyArray<readonly [name: string, content: string | Buffer]>): Buffer => {
  const files: Array<Buffer> = []
  const list: Array<Buffer> = []
  let offset = 0
  for (const [name, content] of parts) {
    const bytes = Buffer.from(content)
    const packed = deflateRawSync(bytes)
    const head = Buffer.alloc(26)
    head.writeUInt16LE(20, 0)
    head.writeUInt16LE(8, 4)
    head.writeUInt32LE(crc32(bytes), 10)
    head.writeUInt32LE(packed.length, 14)
    head.writeUInt32LE(bytes.length, 18)
    head.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from("PK\u0003\u0004"), head, Buffer.from(name), packed])
    const entry = Buffer.alloc(16)
    entry.writeUInt32LE(offset, 12)
    list.push(Buffer.concat([Buffer.from("PK\u0001\u0002"), Buffer.from([20, 0]), head, entry.subarray(2), Buffer.from(name)]))
    files.push(local)
    offset += local.length
  }
  const names = Buffer.concat(list)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(parts.length, 4)
  end.writeUInt16LE(parts.length, 6)
  end.writeUInt32LE(names.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...files, names, Buffer.from("PK\u0005\u0006"), end])
}
