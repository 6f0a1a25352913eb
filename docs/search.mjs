/**
 * Searches the index of the built site for the questions of `test/questions.md`, with the engine and the options of the site's search box.
 * `npx node docs/search.mjs` prints the rank of each page.
 */
import { globSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { searchOptions } from "./searchOptions.mjs"
import { questions } from "./test/questions.mjs"

/** The search box shows this many sections. */
const shownSections = 16
/** A reader looks at this many of their pages. */
const seenPages = 5

/** Where `detent serve` has the site. */
export const servedAt = "/docs/guide/"

/**
 * @param {string} base of the built site
 * @returns {Promise<ReadonlyArray<string>>} one problem for each question whose page the search does not find
 */
export async function searchProblems(base) {
  const pagesFor = await searchOf(base)
  return questions.flatMap(({ question, page, search }) => {
    const found = pagesFor(search).slice(0, seenPages)
    return found.includes(page) ? [] : [`"${search}" does not find ${page}, which answers "${question}"; it finds ${found.join(", ")}`]
  })
}

/**
 * @param {string} base of the built site
 * @returns {Promise<(words: string) => ReadonlyArray<string>>} the pages of the sections that the search box shows, best first
 */
async function searchOf(base) {
  const dist = join(import.meta.dirname, ".vitepress", "dist")
  const [chunk] = globSync("assets/chunks/@localSearchIndexroot*.js", { cwd: dist })
  if (chunk === undefined) throw new Error("the built site has no search index; build it with npm run docs")
  const { default: index } = await import(pathToFileURL(join(dist, chunk)).href)
  const require = createRequire(createRequire(import.meta.url).resolve("vitepress/package.json"))
  const { default: MiniSearch } = await import(pathToFileURL(require.resolve("minisearch")).href)
  const engine = MiniSearch.loadJSON(index, { fields: ["title", "titles", "text"], storeFields: ["title", "titles"], searchOptions })
  return (words) => {
    const sections = engine.search(words).slice(0, shownSections)
    return [...new Set(sections.map((/** @type {{ readonly id: string }} */ { id }) => pageOf(id, base)))]
  }
}

/**
 * @param {string} id the address of a section
 * @param {string} base
 */
function pageOf(id, base) {
  const address = (id.split("#")[0] ?? "").slice(base.length).replace(/\.html$/, "")
  return `docs/${address}.md`
}

if (import.meta.main) {
  const pagesFor = await searchOf(servedAt)
  for (const { page, search } of questions) {
    const pages = pagesFor(search)
    const rank = pages.indexOf(page) + 1
    console.log(
      `${rank === 0 ? "-" : rank} of ${pages.length}  ${search}  ${page}${rank > 3 || rank === 0 ? `  (${pages.slice(0, 3).join(", ")})` : ""}`,
    )
  }
}
