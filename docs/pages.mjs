/** The pages of the site: written ones, and those that are generated from the sources. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { apiPage } from "./generate/api.mjs"
import { architecturePage } from "./generate/architecture.mjs"
import { benchmarksPage } from "./generate/benchmarks.mjs"
import { cliPage } from "./generate/cli.mjs"
import { errorsPage } from "./generate/errors.mjs"
import { httpPage } from "./generate/http.mjs"

const root = join(import.meta.dirname, "..")

/**
 * Generated pages, by their path from the root of the repository.
 *
 * @type {Readonly<Record<string, () => string>>}
 */
export const generated = {
  "docs/benchmarks.md": () => benchmarksPage(),
  "docs/architecture.md": architecturePage,
  "docs/reference/cli.md": cliPage,
  "docs/reference/http.md": httpPage,
  "docs/reference/errors.md": errorsPage,
  "docs/reference/api.md": apiPage,
}

/** Paths of the written pages from the root of the repository. */
export const written = globSync("docs/**/*.md", {
  cwd: root,
  exclude: (name) => name === "node_modules" || name === ".vitepress" || name === "test",
})
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => generated[path] === undefined)
  .sort()

/** @type {Map<string, string>} */
const made = new Map()

/**
 * @param {string} path from the root of the repository
 * @returns {string | undefined} the text of a page; undefined where there is no such page
 */
export function pageOf(path) {
  const make = generated[path]
  if (make === undefined) return written.includes(path) ? readFileSync(join(root, path), "utf8") : undefined
  const text = made.get(path) ?? make()
  made.set(path, text)
  return text
}
