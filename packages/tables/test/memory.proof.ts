/** A cell that is larger than the memory of the process that reads it: its row is refused alone, in each format. */
import { execFile } from "node:child_process"
import { createWriteStream } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import { zip } from "./support/workbook.ts"

/** Of the process that reads, in MB. The cell is larger. */
const heapMb = 64
const cellMb = 200

let folder = ""
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "detent-tables-"))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const megabyte = "x".repeat(1_000_000)

function* cell(before: string, after: string): Generator<string, void> {
  yield before
  for (let written = 0; written < cellMb; written++) yield megabyte
  yield after
}

const reader = join(import.meta.dirname, "support/reading.ts")

const read = async (path: string): Promise<unknown> => {
  const { stdout } = await promisify(execFile)(process.execPath, [`--max-old-space-size=${heapMb}`, reader, path])
  return JSON.parse(stdout)
}

it.each([
  ["plain.csv", 'id,name\n1,a\n2,"', '"\n3,c\n'],
  ["items.jsonl", '{"id":"1","name":"a"}\n{"id":"2","name":"', '"}\n{"id":"3","name":"c"}\n'],
  ["items.json", '[{"id":"1","name":"a"},{"id":"2","name":"', '"},{"id":"3","name":"c"}]'],
])("%s", async (name, before, after) => {
  const path = join(folder, name)
  await pipeline(cell(before, after), createWriteStream(path))
  expect(await read(path)).toEqual(["1", "too_large", "3"])
})

it("sheet.xlsx", async () => {
  const path = join(folder, "sheet.xlsx")
  const inline = (text: string) => `<c t="inlineStr"><is><t>${text}</t></is></c>`
  const row = (id: string, name: string) => `<row>${inline(id)}${inline(name)}</row>`
  const before = `<worksheet><sheetData>${row("id", "name")}${row("1", "a")}<row>${inline("2")}<c t="inlineStr"><is><t>`
  const after = `</t></is></c></row>${row("3", "c")}</sheetData></worksheet>`
  const book = zip([
    ["xl/workbook.xml", '<workbook><sheets><sheet name="S" r:id="a"/></sheets></workbook>'],
    ["xl/_rels/workbook.xml.rels", '<Relationships><Relationship Id="a" Target="/xl/s.xml"/></Relationships>'],
    ["xl/s.xml", Buffer.concat([...cell(before, after)].map((part) => Buffer.from(part)))],
  ])
  await pipeline([book], createWriteStream(path))
  expect(await read(path)).toEqual(["1", "too_large", "3"])
})
