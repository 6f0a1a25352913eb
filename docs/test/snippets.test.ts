/** Everything that a page shows as code is what it names, runs, and prints what the page says. */
import { execFile } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { format, promisify } from "node:util"
import { describe, expect, it, vi } from "vitest"
import { parseLine } from "../../packages/cli/src/line/parse.mjs"
import { blocksOf } from "../../scripts/markdown.mjs"
import { apiDescription } from "../generate/http.mjs"
import { pageOf, written } from "../pages.mjs"
import { codeOf, referenceIn, withoutLog } from "../snippets.mjs"

const root = join(import.meta.dirname, "..", "..")
const blocks = written.flatMap((page) => blocksOf(pageOf(page) ?? "").map((block) => ({ ...block, place: `${page}:${block.line}` })))

describe("code", () => {
  it.each(blocks.filter(({ language }) => language === "ts"))(
    "the TypeScript at $place is the file above it (npx node docs/fill.mjs renews it)",
    ({ comment, content }) => {
      const reference = referenceIn(comment)
      expect(reference, "a block of TypeScript stands under a comment that names its file").toHaveProperty("code")
      expect(content).toBe(codeOf((reference as { readonly code: string }).code))
    },
  )

  it.each(
    blocks.flatMap(({ comment, content, place }) => {
      const reference = referenceIn(comment)
      return reference !== undefined && "prints" in reference ? [{ place, file: reference.prints, content }] : []
    }),
  )("$file prints what stands at $place", async ({ file, content }) => {
    expect(withoutLog(await printedBy(file))).toBe(content)
  })
})

describe("commands", () => {
  const lines = blocks
    .filter(({ language }) => language === "sh")
    .flatMap(({ content, place }) => commandsIn(content).map((line) => ({ line, place })))

  it.each(lines.filter(({ line }) => /^(npx )?detent /.test(line)))("the command line accepts `$line` ($place)", ({ line }) => {
    const words = wordsOf(line.replace(/^(npx )?detent /, ""))
    expect(parseLine(words)).not.toHaveProperty("problem")
  })

  it.each(lines.filter(({ line }) => line.startsWith("npm run ")))("package.json has the script of `$line` ($place)", ({ line }) => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    expect(Object.keys(scripts)).toContain(line.split(" ")[2])
  })

  it.each(lines.filter(({ line }) => line.startsWith("npx node ")))("the file of `$line` exists ($place)", ({ line }) => {
    expect(existsSync(join(root, line.split(" ")[2] ?? ""))).toBe(true)
  })

  it.each(lines.filter(({ line }) => line.startsWith("curl ")))("the API has the address of `$line` ($place)", ({ line }) => {
    const path = /(?:localhost:\d+|\$URL)(\/[^\s'"?]*)/.exec(line)?.[1] ?? ""
    const known = [...Object.keys(apiDescription().paths), "/openapi.json", "/docs"]
    const patterns = known.map((one) => new RegExp(`^${one.replaceAll(/\{\w+\}/g, "[^/]+")}$`))
    expect(patterns.some((pattern) => pattern.test(path))).toBe(true)
  })
})

/** Commands with their continued lines joined, without comments and assignments in front. */
function commandsIn(script: string): ReadonlyArray<string> {
  return script
    .replaceAll(/\\\n\s*/g, "")
    .split(/\n| && /)
    .map((line) => line.replace(/\s+#\s.*$/, "").replace(/^\s*(?:[A-Z_]+=\S* )*/, ""))
    .filter((line) => line !== "" && !line.startsWith("#"))
}

/** As a shell splits a line; quotes group words, and nothing is expanded. */
function wordsOf(line: string): ReadonlyArray<string> {
  const words = line.split(/ [|>] | >> /)[0]?.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? []
  return words.map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, "$1$2"))
}

/** Runs a snippet here, or in a process and folder of its own where it writes a file. */
async function printedBy(file: string): Promise<string> {
  const path = join(root, file)
  if (readFileSync(path, "utf8").includes(".db")) return inProcess(path)
  const lines: Array<string> = []
  const log = vi.spyOn(console, "log").mockImplementation((...values: ReadonlyArray<unknown>) => {
    lines.push(format(...values))
  })
  try {
    await import(path)
  } finally {
    log.mockRestore()
  }
  return lines.join("\n")
}

async function inProcess(path: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "detent-docs-"))
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [path], { cwd: folder })
    return stdout
  } finally {
    rmSync(folder, { recursive: true })
  }
}
