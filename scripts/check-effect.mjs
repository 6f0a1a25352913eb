/** Finds uses of Effect that compile and have a meaning other than the one they look like. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { packages, root } from "./projects.mjs"

/**
 * @typedef {{ readonly use: RegExp, readonly reason: string }} Rule
 * @type {ReadonlyArray<Rule>}
 */
const rules = [
  {
    use: /\b(?:Arr|Array|Effect|Option|Record|Iterable|Chunk|Stream)\.(?:partition|partitionMap|separate)\(/g,
    reason: "it returns what passes first in some versions of Effect and last in others, and both may have one type: filter twice",
  },
  {
    use: /\bisPattern\(\s*\/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n[])+\/(?![a-z]*u)/g,
    reason: "without the flag u, the pattern is missing in JSON Schema and OpenAPI",
  },
]

const problems = packages.flatMap((name) =>
  ["src", "testing", "generators", "evaluation"].flatMap((part) =>
    sourceFiles(join(root, "packages", name, part)).flatMap((file) => {
      const source = readFileSync(file, "utf8")
      return rules.flatMap(({ use, reason }) =>
        [...source.matchAll(use)].map(({ 0: found, index }) => {
          const line = source.slice(0, index).split("\n").length
          return `${relative(root, file)}:${line}: ${found.split("\n")[0]}: ${reason}`
        }),
      )
    }),
  ),
)
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1

/** @param {string} folder */
function sourceFiles(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path))
    .map((path) => join(folder, path))
}
