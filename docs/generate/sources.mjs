/** What the sources declare, read as text: names with the comments above them. No source is loaded. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

export const root = join(import.meta.dirname, "..", "..")

/**
 * The TypeScript files of a package.
 *
 * @param {string} name
 * @returns {ReadonlyArray<string>} paths from the root of the repository
 */
export function filesOf(name) {
  return globSync(`packages/${name}/src/**/*.ts`, { cwd: root })
    .map((path) => path.replaceAll("\\", "/"))
    .sort()
}

/** @param {string} path from the root of the repository */
export function textOf(path) {
  return readFileSync(join(root, path), "utf8")
}

/**
 * The comment that ends right before a place, as one paragraph of text.
 *
 * @param {string} text
 * @param {number} place
 * @returns {string | undefined}
 */
export function commentBefore(text, place) {
  const before = text.slice(0, place).trimEnd()
  if (!before.endsWith("*/")) return undefined
  const start = before.lastIndexOf("/**")
  return start < 0 ? undefined : proseOf(before.slice(start))
}

/**
 * The prose of a comment without its marks, examples and tags.
 *
 * @param {string} comment
 */
export function proseOf(comment) {
  const lines = comment
    .replace(/^\/\*\*/, "")
    .replace(/\*\/$/, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trim())
  const end = lines.findIndex((line) => line.startsWith("```") || line.startsWith("@"))
  return (end < 0 ? lines : lines.slice(0, end))
    .join(" ")
    .replaceAll(/\{@link ([^}]+)\}/g, "`$1`")
    .replaceAll(/\s+/g, " ")
    .trim()
}
