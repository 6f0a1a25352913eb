/** Every file that ARCHITECTURE.md names exists, so that the document moves with the code. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./projects.mjs"

const document = "ARCHITECTURE.md"
const lines = readFileSync(join(root, document), "utf8").split("\n")

const problems = lines.flatMap((line, index) =>
  filesIn(line)
    .filter((file) => !existsSync(join(root, "packages", file)))
    .map((file) => `${document}:${index + 1}: packages/${file} does not exist`),
)
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1

/**
 * Files are written as code, from below `packages`: `durable/src/Engine.ts`.
 *
 * @param {string} line
 * @returns {ReadonlyArray<string>}
 */
function filesIn(line) {
  return [...line.matchAll(/`([\w-]+(?:\/[\w.-]+)+\.(?:ts|mjs))`/g)].map((match) => match[1] ?? "")
}
