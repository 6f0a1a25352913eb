/** Searches the index of the built site for the questions of `test/questions.md`, with the engine and the settings of the site's search box. */
import { globSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { questions } from "./test/questions.mjs"

/** A reader looks at this many pages of the results. */
const seen = 5

/**
 * @param {string} base of the built site
 * @returns {Promise<ReadonlyArray<string>>} one problem for each question whose page the search does not find
 */
export async function searchProblems(base) {
  const [chunk] = globSync("assets/chunks/@localSearchIndexroot*.js", { cwd: join(import.meta.dirname, ".vitepress", "dist") })
  if (chunk === undefined) return ["the built site has no search index"]
  const { default: index } = await import(pathToFileURL(join(import.meta.dirname, ".vitepress", "dist", chunk)).href)
  const require = createRequire(createRequire(import.meta.url).resolve("vitepress/package.json"))
  const { default: MiniSearch } = await import(pathToFileURL(require.resolve("minisearch")).href)
  const engine = MiniSearch.loadJSON(index, {
    fields: ["title", "titles", "text"],
    storeFields: ["title", "titles"],
    searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } },
  })
  return questions.flatMap(({ question, page, search }) => {
    const found = [...new Set(engine.search(search).map((/** @type {{ readonly id: string }} */ { id }) => pageOf(id, base)))].slice(
      0,
      seen,
    )
    return found.includes(page) ? [] : [`"${search}" does not find ${page}, which answers "${question}"; it finds ${found.join(", ")}`]
  })
}

/**
 * @param {string} id the address of a section
 * @param {string} base
 */
function pageOf(id, base) {
  const address = (id.split("#")[0] ?? "").slice(base.length).replace(/\.html$/, "")
  return `docs/${address}.md`
}
