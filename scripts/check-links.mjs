/** Checks that every relative link of the documents leads to an existing file, and its anchor to a heading of that file. */
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { pageOf } from "../docs/pages.mjs"
import { anchorsOf, linksOf } from "./markdown.mjs"
import { root } from "./projects.mjs"

const documents = globSync(["*.md", "docs/**/*.md", "packages/*/README.md", "packages/cli/templates/*/README.md", "examples/README.md"], {
  cwd: root,
  exclude: (name) => name === "node_modules" || name === ".vitepress",
})

const problems = documents.sort().flatMap((document) => {
  const text = readFileSync(join(root, document), "utf8")
  return linksOf(text).flatMap(({ line, target }) => {
    const problem = problemOf(document, text, target)
    return problem === undefined ? [] : [`${document}:${line}: ${target}: ${problem}`]
  })
})
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1

/**
 * @param {string} document
 * @param {string} text of the document
 * @param {string} target
 * @returns {string | undefined}
 */
function problemOf(document, text, target) {
  const [path = "", anchor] = target.split("#")
  const file = path === "" ? document : relative(root, join(root, dirname(document), decodeURI(path)))
  const inDocs = document.startsWith("docs/")
  if (inDocs && !file.startsWith("docs/")) return "a page of the site links to pages of the site only; name the file as code instead"
  // Pages that the build generates are not in the repository.
  const linked = path === "" ? text : (pageOf(file) ?? textOf(file))
  if (linked === undefined) return existsSync(join(root, file)) ? undefined : "there is no such file"
  return anchor === undefined || anchorsOf(linked).has(anchor) ? undefined : `${file} has no heading #${anchor}`
}

/**
 * @param {string} file
 * @returns {string | undefined} undefined for anything but a Markdown file
 */
function textOf(file) {
  return file.endsWith(".md") && existsSync(join(root, file)) ? readFileSync(join(root, file), "utf8") : undefined
}
