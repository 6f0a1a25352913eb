/** The page about ontologies: its files are written to a folder, its commands run there, and they print what the page shows. */
import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import { blocksOf } from "../../scripts/markdown.mjs"
import { pageOf } from "../pages.mjs"

const cli = join(import.meta.dirname, "..", "..", "packages", "cli", "bin", "detent.mjs")
const blocks = blocksOf(pageOf("docs/ontology.md") ?? "")
const folder = mkdtempSync(join(tmpdir(), "detent-ontology-"))
const printed = new Map<string, string>()

/** Confidences change with the extractor; what the facts are does not. */
const withoutConfidence = (output: string) => output.trimEnd().replaceAll(/\b[01]\.\d\d\b/g, "0.00")

beforeAll(async () => {
  for (const { comment = "", content } of blocks) {
    if (!/^[\w/]+\.\w+$/.test(comment)) continue
    mkdirSync(dirname(join(folder, comment)), { recursive: true })
    writeFileSync(join(folder, comment), `${content}\n`)
  }
  for (const line of blocks.filter(({ language }) => language === "sh").flatMap(({ content }) => content.split("\n"))) {
    const words = line.replace("npx detent ", "").split(" ")
    const { stdout } = await promisify(execFile)(process.execPath, [cli, ...words], { cwd: folder })
    printed.set(line.replace("npx ", ""), stdout)
  }
})

afterAll(() => rmSync(folder, { recursive: true }))

it.each(blocks.flatMap(({ comment = "", content }) => (comment.endsWith(" prints") ? [{ command: comment.slice(0, -7), content }] : [])))(
  "`$command` prints what the page shows",
  ({ command, content }) => {
    expect(withoutConfidence(printed.get(command) ?? "")).toBe(withoutConfidence(content))
  },
)
