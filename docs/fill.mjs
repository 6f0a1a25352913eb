/**
 * Puts snippets and what they print into the pages that name them, and the recorded figures into the documents that name them:
 * `npx node docs/fill.mjs`, after a snippet or `benchmarks.json` has changed.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { costFigures, withFigures } from "./generate/benchmarks.mjs"
import { written } from "./pages.mjs"
import { codeOf, referenceIn, withoutLog } from "./snippets.mjs"

const root = join(import.meta.dirname, "..")
/** @type {Map<string, string>} */
const printed = new Map()

for (const path of written) {
  const before = readFileSync(join(root, path), "utf8")
  const after = before.replaceAll(
    /(<!-- (\S+\.m?ts\S*(?: prints)?) -->\n+)```(\w+)\n(?:[\s\S]*?\n)??```$/gm,
    (block, above, comment, language) => {
      const reference = referenceIn(comment)
      if (reference === undefined) return block
      const content = "code" in reference ? codeOf(reference.code) : outputOf(reference.prints)
      return `${above}\`\`\`${language}\n${content}\n\`\`\``
    },
  )
  save(path, before, after)
}
const readme = readFileSync(join(root, "README.md"), "utf8")
save("README.md", readme, withFigures(readme))
const limits = readFileSync(join(root, "docs/guides/limits.md"), "utf8")
save("docs/guides/limits.md", limits, withFigures(limits, costFigures))

/**
 * @param {string} path
 * @param {string} before
 * @param {string} after
 */
function save(path, before, after) {
  if (after === before) return
  writeFileSync(join(root, path), after)
  console.log(path)
}

/** @param {string} file */
function outputOf(file) {
  const known = printed.get(file)
  if (known !== undefined) return known
  const folder = mkdtempSync(join(tmpdir(), "detent-docs-"))
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(root, file)], { cwd: folder, encoding: "utf8" })
  rmSync(folder, { recursive: true })
  if (status !== 0) throw new Error(`${file} failed:\n${stderr}`)
  const output = withoutLog(stdout)
  printed.set(file, output)
  return output
}
