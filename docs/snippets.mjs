/**
 * The code of the pages. A block of TypeScript stands under a comment that names its file, or a region of it
 * (`<!-- docs/snippets/define.ts#guard -->`), and is that file to the letter. A block under `<!-- docs/snippets/define.ts prints -->` is what
 * the file prints.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "..")
const marker = /^\s*\/\/ #(?:end)?region\b/

/**
 * @param {string} reference a file from the root of the repository, with `#region` where only a part of it is shown
 * @returns {string}
 */
export function codeOf(reference) {
  const [path = "", region] = reference.split("#")
  const lines = readFileSync(join(root, path), "utf8").trim().split("\n")
  const shown = region === undefined ? lines : regionOf(lines, region, path)
  return unindented(shown.filter((line) => !marker.test(line))).join("\n")
}

/**
 * @param {string | undefined} comment
 * @returns {{ readonly code: string } | { readonly prints: string } | undefined} undefined for a comment that names no file
 */
export function referenceIn(comment) {
  const match = /^(\S+\.m?ts(?:#[\w-]+)?)( prints)?$/.exec(comment ?? "")
  if (match === null) return undefined
  return match[2] === undefined ? { code: match[1] ?? "" } : { prints: match[1] ?? "" }
}

/**
 * @param {ReadonlyArray<string>} lines
 * @param {string} region
 * @param {string} path
 */
function regionOf(lines, region, path) {
  const start = lines.findIndex((line) => line.trim() === `// #region ${region}`)
  const end = lines.findIndex((line) => line.trim() === `// #endregion ${region}`)
  if (start < 0 || end < 0)
    throw new Error(`${path} has no region ${region}; mark it with // #region ${region} and // #endregion ${region}`)
  return lines.slice(start + 1, end)
}

/**
 * What a program printed, without the lines of its log: these carry the time.
 *
 * @param {string} output
 */
export function withoutLog(output) {
  return output
    .split("\n")
    .filter((line) => !/^\[\d\d:\d\d:\d\d\.\d+\]/.test(line))
    .join("\n")
    .replaceAll(/\b[0-9a-f]{12}\//g, `${databaseId}/`)
    .trimEnd()
}

/** Stands in the pages for the id of a database, which idempotency keys begin with and which is random. */
const databaseId = "3f9c27d1b8e4"

/** @param {ReadonlyArray<string>} lines */
function unindented(lines) {
  const depths = lines.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length)
  const depth = Math.min(...depths)
  return lines.map((line) => line.slice(depth))
}
