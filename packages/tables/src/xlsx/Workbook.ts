/** The workbook of an XLSX file: its sheets, its shared texts, and which styles are dates. */
import type { OpenedFile } from "../TableFile.ts"
import type { TableLimits } from "../TableLimits.ts"
import { FileInvalid, isTableProblem } from "../TableProblem.ts"
import { Archive, damaged } from "./Archive.ts"
import { attribute, type XmlHandler, XmlScanner } from "./XmlScanner.ts"

interface Sheet {
  readonly name: string
  readonly part: string
  readonly isVisible: boolean
}

export class Workbook {
  readonly name: string
  readonly archive: Archive
  /** Visible sheets, or all where none is visible. */
  readonly sheets: ReadonlyArray<Sheet>
  /** Whether days are counted from 1904. */
  readonly isFrom1904: boolean
  readonly #limits: TableLimits

  private constructor(name: string, archive: Archive, sheets: ReadonlyArray<Sheet>, isFrom1904: boolean, limits: TableLimits) {
    this.name = name
    this.archive = archive
    this.sheets = sheets
    this.isFrom1904 = isFrom1904
    this.#limits = limits
  }

  static async open(name: string, opened: OpenedFile, limits: TableLimits): Promise<Workbook> {
    const archive = await Archive.open(name, opened, limits)
    const targets = new Map<string, string>()
    await readXml(name, archive, "xl/_rels/workbook.xml.rels", {
      ...ignoring,
      open: (tag, source) => {
        const id = attribute(source, "Id")
        const target = attribute(source, "Target")
        if (tag === "Relationship" && id !== undefined && target !== undefined) targets.set(id, partOf(target))
      },
    })
    const sheets: Array<Sheet> = []
    let isFrom1904 = false
    await readXml(name, archive, "xl/workbook.xml", {
      ...ignoring,
      open: (tag, source) => {
        if (tag === "workbookPr") isFrom1904 = ["1", "true"].includes(attribute(source, "date1904") ?? "")
        if (tag !== "sheet") return
        const part = targets.get(attribute(source, "r:id") ?? attribute(source, "id") ?? "")
        const title = attribute(source, "name")
        const isVisible = (attribute(source, "state") ?? "visible") === "visible"
        if (part !== undefined && title !== undefined && archive.has(part)) sheets.push({ name: title, part, isVisible })
      },
    })
    const visible = sheets.filter(({ isVisible }) => isVisible)
    if (sheets.length === 0) throw new FileInvalid({ file: name, problem: "it has no sheet of cells" })
    return new Workbook(name, archive, visible.length === 0 ? sheets : visible, isFrom1904, limits)
  }

  /** The sheet with this name or number; the first one where none is given. */
  sheet(wanted: string | number | undefined): Sheet {
    const { sheets } = this
    const found = wanted === undefined ? sheets[0] : typeof wanted === "number" ? sheets[wanted - 1] : this.#named(wanted)
    if (found !== undefined) return found
    const known = sheets.map((one) => one.name).join(", ")
    throw new FileInvalid({ file: this.name, problem: `it has no sheet ${wanted}`, next: `choose one of its sheets: ${known}` })
  }

  #named(wanted: string): Sheet | undefined {
    return this.sheets.find(({ name }) => name === wanted) ?? (/^\d{1,4}$/.test(wanted) ? this.sheets[Number(wanted) - 1] : undefined)
  }

  /** The texts that cells refer to by number. */
  async sharedTexts(): Promise<ReadonlyArray<string>> {
    const texts: Array<string> = []
    const part = "xl/sharedStrings.xml"
    if (!this.archive.has(part)) return texts
    const limit = this.#limits.maxSharedBytes
    let text = ""
    let bytes = 0
    let isText = false
    let isSound = false
    await readXml(this.name, this.archive, part, {
      open: (tag) => {
        if (tag === "si") text = ""
        else if (tag === "rPh") isSound = true
        else if (tag === "t") isText = !isSound
      },
      close: (tag) => {
        if (tag === "si") texts.push(text)
        else if (tag === "rPh") isSound = false
        else if (tag === "t") isText = false
      },
      text: (more) => {
        if (!isText) return
        bytes += 2 * more.length
        const problem = `its texts have more than ${limit} bytes, which a sheet needs in memory`
        if (bytes > limit) throw new FileInvalid({ file: this.name, problem, next: "save the sheet as CSV and upload that" })
        text += more
      },
    })
    return texts
  }

  /** By number of a cell's style, whether it shows a date or time. */
  async dateStyles(): Promise<ReadonlyArray<boolean>> {
    const styles: Array<boolean> = []
    const part = "xl/styles.xml"
    if (!this.archive.has(part)) return styles
    const formats = new Map<number, boolean>()
    let isCellStyles = false
    await readXml(this.name, this.archive, part, {
      text: () => {},
      open: (tag, source) => {
        if (tag === "cellXfs") isCellStyles = true
        if (tag === "numFmt") formats.set(Number(attribute(source, "numFmtId")), isDateFormat(attribute(source, "formatCode") ?? ""))
        if (tag !== "xf" || !isCellStyles) return
        const format = Number(attribute(source, "numFmtId") ?? 0)
        styles.push(formats.get(format) ?? isBuiltInDate(format))
      },
      close: (tag) => {
        if (tag === "cellXfs") isCellStyles = false
      },
    })
    return styles
  }
}

const ignoring: XmlHandler = { open: () => {}, close: () => {}, text: () => {} }

/** Reads a small part completely. */
const readXml = async (file: string, archive: Archive, part: string, handler: XmlHandler): Promise<void> => {
  const scanner = new XmlScanner(handler)
  for await (const chunk of archive.read(part)) pushXml(file, scanner, chunk)
}

/** Pushes a chunk. Text that is no XML is a damaged file. */
export const pushXml = (file: string, scanner: XmlScanner, chunk: Buffer) => {
  try {
    scanner.push(chunk)
  } catch (cause) {
    throw isTableProblem(cause) ? cause : damaged(file)
  }
}

/** The part that a relationship of the workbook points to. */
const partOf = (target: string): string => (target.startsWith("/") ? target.slice(1) : `xl/${target.replace(/^\.\//, "")}`)

/** The formats of dates and times that every workbook has. */
const isBuiltInDate = (format: number): boolean =>
  (format >= 14 && format <= 22) || (format >= 27 && format <= 36) || (format >= 45 && format <= 47) || (format >= 50 && format <= 58)

/** Whether a format has a day, month, year, hour or second outside of its literal texts. */
const isDateFormat = (format: string): boolean => {
  let isLiteral = false
  for (let at = 0; at < format.length; at++) {
    const one = format.charAt(at).toLowerCase()
    if (one === '"') isLiteral = !isLiteral
    else if (isLiteral) continue
    else if (one === "\\" || one === "_" || one === "*") at++
    else if (one === "[") {
      // Colours, conditions and currencies are in brackets, and hours beyond a day.
      const end = format.indexOf("]", at)
      if (/^\[(h|m|s)+\]/i.test(format.slice(at, end + 1))) return true
      if (end > at) at = end
    } else if (one === "g" && format.slice(at, at + 7).toLowerCase() === "general") at += 6
    else if ("dmyhs".includes(one)) return true
  }
  return false
}
