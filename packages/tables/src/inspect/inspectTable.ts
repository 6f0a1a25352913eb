/** Finds the format of a file by its first bytes. What its user says of it comes first; what the bytes contradict is refused. */
import { releasing } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import { fileProblem, unpackingOf } from "../bytes/FileBytes.ts"
import { TextBytes } from "../bytes/TextBytes.ts"
import { type FileStamp, memoryFile, type OpenedFile, type TableFile } from "../TableFile.ts"
import type { Compression, Encoding, Format, TableFormat, TableOptions } from "../TableFormat.ts"
import type { TableLimits } from "../TableLimits.ts"
import { FileInvalid, FileTooLarge, type TableProblem, UnsupportedContentType } from "../TableProblem.ts"
import { readSheet } from "../xlsx/SheetRows.ts"
import { Workbook } from "../xlsx/Workbook.ts"
import { columnsOf, delimitedOf, isDelimited } from "./delimited.ts"
import { encodingOf } from "./encoding.ts"

export interface Inspection extends FileStamp {
  readonly format: TableFormat
}

export const inspectTable = (file: TableFile, given: TableOptions, limits: TableLimits): Effect.Effect<Inspection, TableProblem> =>
  Effect.acquireUseRelease(
    failing(file.name, () => file.open()),
    (opened) =>
      Effect.gen(function* () {
        const { name } = file
        const stamp = yield* failing(name, () => opened.stamp())
        const { fileSize: bytes } = stamp
        if (bytes > limits.maxFileBytes)
          return yield* Effect.fail(new FileTooLarge({ file: name, bytes, limit: limits.maxFileBytes, what: "file" }))
        if (bytes === 0) return yield* Effect.fail(new FileInvalid({ file: name, problem: "it is empty" }))
        return { ...stamp, format: yield* failing(name, () => formatOf(name, opened, given, limits)) }
      }),
    (opened) => releasing(file.name, () => opened.close()),
  )

/** The names of the visible sheets of a workbook that have cells. */
export const sheetsOf = (file: TableFile, limits: TableLimits): Effect.Effect<ReadonlyArray<string>, TableProblem> =>
  Effect.acquireUseRelease(
    failing(file.name, () => file.open()),
    (opened) =>
      failing(file.name, async () => {
        const workbook = await Workbook.open(file.name, opened, limits)
        const named: Array<string> = []
        for (const { name, part } of workbook.sheets) if (await hasRows(workbook, part, limits)) named.push(name)
        return named
      }),
    (opened) => releasing(file.name, () => opened.close()),
  )

const hasRows = async (workbook: Workbook, part: string, limits: TableLimits): Promise<boolean> => {
  for await (const rows of readSheet(workbook, part, limits)) if (rows.length > 0) return true
  return false
}

const failing = <A>(file: string, run: () => Promise<A>): Effect.Effect<A, TableProblem> =>
  Effect.tryPromise({ try: run, catch: (cause) => fileProblem(file, cause) })

const headBytes = 64 * 1024

const formatOf = async (file: string, opened: OpenedFile, given: TableOptions, limits: TableLimits): Promise<TableFormat> => {
  const raw = await firstBytes(opened)
  const compression = compressionOf(raw)
  const head = compression === "none" ? raw : await unpackedHead(raw, compression)
  if (isArchive(head)) {
    if (given.format !== undefined && given.format !== "xlsx") throw notAs(file, given.format, "XLSX")
    if (compression === "none") return await workbookFormat(file, opened, given, limits)
    throw new FileInvalid({ file, problem: `it is XLSX packed with ${compression}`, next: "unpack it: XLSX is packed itself" })
  }
  if (head.subarray(0, 4).equals(oleMark))
    throw new UnsupportedContentType({ file, contentType: "an old Excel file (.xls) or one with a password; save it as XLSX or CSV" })
  if (given.format === "xlsx") throw notAs(file, "xlsx", "no ZIP archive, as XLSX is")
  const isWhole = compression === "none" && head.length < headBytes
  const encoding = encodingOf(file, head, isWhole, given.encoding)
  const text = (await textOf(file, head, encoding, limits)).replace(/^\ufeff/, "")
  return { compression, encoding, ...textFormat(file, text, isWhole, given, limits) }
}

const oleMark = Buffer.from([0xd0, 0xcf, 0x11, 0xe0])

const isArchive = (head: Buffer): boolean => head[0] === 0x50 && head[1] === 0x4b && head[2] === 3 && head[3] === 4

const notAs = (file: string, given: Format, found: string): FileInvalid =>
  new FileInvalid({ file, problem: `it is ${found}, not ${given}`, next: "upload it without a format, or with the right one" })

/** The format of a text by its first characters. */
const textFormat = (
  file: string,
  text: string,
  isWhole: boolean,
  given: TableOptions,
  limits: TableLimits,
): Pick<TableFormat, "format"> & Partial<TableFormat> => {
  const json = jsonFormat(text)
  const format = given.format ?? formatByName(file) ?? json
  if (format === "json" || format === "json-lines") {
    if (json === undefined) throw new UnsupportedContentType({ file, contentType: "neither an array of JSON nor JSON lines" })
    return { format: json }
  }
  const isTable = format !== undefined || (isPrintable(text) && isDelimited(text, isWhole, given))
  if (!isTable || !isPrintable(text)) throw new UnsupportedContentType({ file, contentType: "no table and no JSON" })
  const found = delimitedOf(file, text, isWhole, given, limits.maxColumns)
  if (found.columns.length === 0) throw new FileInvalid({ file, problem: "it has no columns" })
  return { format: found.delimiter === "\t" ? "tsv" : "csv", ...found }
}

/** A text of white space has no items, as the splitter says later. */
const jsonFormat = (text: string): "json" | "json-lines" | undefined => {
  const first = text.trimStart().charAt(0)
  return first === "" || first === "[" ? "json" : first === "{" ? "json-lines" : undefined
}

const formatByName = (file: string): Format | undefined => {
  const name = file.toLowerCase().replace(/\.(gz|gzip|zst|zstd)$/, "")
  if (name.endsWith(".csv")) return "csv"
  if (name.endsWith(".tsv") || name.endsWith(".tab")) return "tsv"
  return /\.(json|jsonl|ndjson)$/.test(name) ? "json" : undefined
}

/** Whether a text has no characters that only binary files have. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for them.
const isPrintable = (text: string): boolean => !/[\u0000-\u0008\u000e-\u001a\ufffd]/.test(text)

const textOf = async (name: string, head: Buffer, encoding: Encoding, limits: TableLimits): Promise<string> => {
  // Without the bytes of a character that ends beyond the head.
  const whole = encoding.startsWith("utf-16") ? head.subarray(0, head.length - (head.length % 2)) : head
  const text = new TextBytes({ file: memoryFile(name, [whole]), compression: "none", encoding, limits, unhashed: true })
  const first = await text.next()
  return first?.toString("utf8") ?? ""
}

const workbookFormat = async (file: string, opened: OpenedFile, given: TableOptions, limits: TableLimits): Promise<TableFormat> => {
  const workbook = await Workbook.open(file, opened, limits)
  const sheet = workbook.sheet(given.sheet)
  for await (const [first, ...others] of readSheet(workbook, sheet.part, limits)) {
    const cells = first?.isTooLong === true ? tooMany(file, limits) : (first?.cells ?? [])
    const rest = others.map((row) => row.cells)
    return {
      format: "xlsx",
      compression: "none",
      encoding: "utf-8",
      ...columnsOf(file, cells, rest, given.header, limits.maxColumns),
      sheet: sheet.name,
      sheets: workbook.sheets.map(({ name }) => name),
    }
  }
  const next = `choose one of its sheets: ${workbook.sheets.map(({ name }) => name).join(", ")}`
  throw new FileInvalid({ file, problem: `its sheet ${sheet.name} is empty`, next })
}

const tooMany = (file: string, { maxColumns }: TableLimits): never => {
  throw new FileInvalid({ file, problem: `it has more than ${maxColumns} columns, ${maxColumns} are allowed`, next: "leave out columns" })
}

const compressionOf = (head: Buffer): Compression => {
  if (head[0] === 0x1f && head[1] === 0x8b) return "gzip"
  return head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd ? "zstd" : "none"
}

const firstBytes = async (opened: OpenedFile): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  let size = 0
  for await (const chunk of opened.read(0)) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= headBytes) break
  }
  return Buffer.concat(chunks).subarray(0, headBytes)
}

/** The first unpacked bytes of a packed file. */
const unpackedHead = (head: Buffer, compression: "gzip" | "zstd"): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const unpacking = unpackingOf(compression)
    const end = (bytes: Buffer) => {
      resolve(bytes.subarray(0, headBytes))
      unpacking.destroy()
    }
    unpacking.once("data", end)
    unpacking.once("end", () => end(Buffer.alloc(0)))
    unpacking.once("error", reject)
    unpacking.end(head)
  })
