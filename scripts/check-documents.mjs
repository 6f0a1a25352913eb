/**
 * Checks that every file named in ARCHITECTURE.md exists, that every README names the Node version that the packages declare, and that
 * the figures of the README are the recorded ones.
 */
import { existsSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { withFigures } from "../docs/generate/benchmarks.mjs"
import { root } from "./projects.mjs"

const readmes = globSync(["README.md", "packages/*/README.md", "packages/cli/templates/*/README.md"], { cwd: root })
const { engines } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8"))
const node = engines.node.replace(">=", "")

const problems = [
  ...problemsIn("ARCHITECTURE.md", (line) => filesIn(line).filter((file) => !existsSync(join(root, "packages", file)))).map(
    ({ place, found }) => `${place}: packages/${found} does not exist`,
  ),
  ...readmes
    .flatMap((readme) => problemsIn(readme, (line) => versionsIn(line).filter((version) => version !== node)))
    .map(({ place, found }) => `${place}: the packages need Node ${node}, not ${found}`),
  ...figureProblems(),
]
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1

function figureProblems() {
  const readme = readFileSync(join(root, "README.md"), "utf8")
  return withFigures(readme) === readme
    ? []
    : ["README.md: its figures are not those of docs/benchmarks.json; update it with npx node docs/fill.mjs"]
}

/**
 * @param {string} document
 * @param {(line: string) => ReadonlyArray<string>} wrong
 */
function problemsIn(document, wrong) {
  const lines = readFileSync(join(root, document), "utf8").split("\n")
  return lines.flatMap((line, index) => wrong(line).map((found) => ({ place: `${document}:${index + 1}`, found })))
}

/**
 * @param {string} line
 * @returns {ReadonlyArray<string>}
 */
function versionsIn(line) {
  return [...line.matchAll(/\bNode (\d+\.\d+)/g)].map((match) => match[1] ?? "")
}

/**
 * Files are written as code, from below `packages`: `durable/src/Engine.ts`.
 *
 * @param {string} line
 * @returns {ReadonlyArray<string>}
 */
function filesIn(line) {
  return [...line.matchAll(/`([\w-]+(?:\/[\w.-]+)+\.(?:ts|mjs))`/g)].map((match) => match[1] ?? "")
}
