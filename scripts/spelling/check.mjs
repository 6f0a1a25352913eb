/**
 * Checks the spelling and the wording of the documents, and of the comments in the sources of the packages. English is British, as in the API.
 * Correct words that are not in the dictionary are listed in `words.txt`; `--accept` adds all unknown words, to be reviewed before the commit.
 *
 * The dictionary is installed here on first use (three small packages), so that no installation of the workspace waits for it.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { installOnDemand } from "../install-on-demand.mjs"
import { proseLines } from "../markdown.mjs"
import { root } from "../projects.mjs"

/** Words of the project that are not in the dictionary, one per line. */
const wordsFile = join(import.meta.dirname, "words.txt")

/** Phrases that name neither the actor nor the action. The style is in CONTRIBUTING.md. */
const unclear =
  /\b(whoever|somebody|nobody|those who|(?:is|are|be|was|were|been) told|(?:go|goes|gone|going) on|unless told|what (?:is|was) left|has to be looked)\b/i

if (!installOnDemand(import.meta.dirname, "the dictionary of the spelling check")) process.exit(1)
const speller = await loadSpeller()
const lines = [...documents(), ...comments()]
const unknown = lines.flatMap(({ place, text }) => unknownWords(text).map((word) => ({ place, word })))

if (process.argv.includes("--accept")) {
  const known = readFileSync(wordsFile, "utf8").split("\n").filter(Boolean)
  const all = new Set([...known, ...unknown.map(({ word }) => word)])
  writeFileSync(wordsFile, `${[...all].sort().join("\n")}\n`)
} else {
  const problems = [
    ...unknown.map(({ place, word }) => `${place}: ${word} is not in the dictionary; correct it, or add it to scripts/spelling/words.txt`),
    ...lines.flatMap(({ place, text }) => {
      const found = unclear.exec(text)?.[0]
      return found === undefined ? [] : [`${place}: "${found}" leaves open who acts or what happens; name it`]
    }),
  ]
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}

/** @typedef {{ readonly place: string, readonly text: string }} Line */

/** @returns {Promise<(word: string) => boolean>} */
async function loadSpeller() {
  const { resolve } = createRequire(import.meta.url)
  const { default: nspell } = await import(pathToFileURL(resolve("nspell")).href)
  const { default: dictionary } = await import(pathToFileURL(resolve("dictionary-en-gb")).href)
  const checker = nspell(dictionary)
  checker.personal(readFileSync(wordsFile, "utf8"))
  return (word) => checker.correct(word)
}

/** @returns {ReadonlyArray<Line>} */
function documents() {
  const files = globSync(["*.md", "docs/**/*.md", "packages/*/README.md", "examples/README.md", "infra/**/*.md"], {
    cwd: root,
    exclude: (name) => name === "node_modules" || name === ".vitepress" || name === "reference" || name === "test",
  })
  return files
    .sort()
    .flatMap((file) =>
      proseLines(readFileSync(join(root, file), "utf8")).map(({ number, content }) => ({ place: `${file}:${number}`, text: content })),
    )
}

/** The comments of the sources, line by line, without their examples. @returns {ReadonlyArray<Line>} */
function comments() {
  const files = globSync("packages/*/src/**/*.{ts,tsx,mjs}", { cwd: root })
  return files.sort().flatMap((file) => {
    let isBlock = false
    let isExample = false
    return readFileSync(join(root, file), "utf8")
      .split("\n")
      .flatMap((line, index) => {
        const place = `${file}:${index + 1}`
        const starts = /^\s*\/\*\*/.test(line)
        if (!isBlock && !starts) {
          const comment = /(?:^|\s)\/\/ (.*)$/.exec(line)?.[1]
          return comment === undefined || /@effect-diagnostics|biome-ignore|@ts-expect-error/.test(comment)
            ? []
            : [{ place, text: comment }]
        }
        isBlock = !line.includes("*/")
        if (line.includes("```")) isExample = !isExample
        if (!isBlock) isExample = false
        return isExample || line.includes("```") ? [] : [{ place, text: line }]
      })
  })
}

/**
 * The unknown words of a text. Skips code, addresses and tags, and words with inner capitals, digits or symbols, which are names of code.
 *
 * @param {string} text
 */
function unknownWords(text) {
  const prose = text
    .replaceAll(/`[^`]*`/g, " ")
    .replaceAll(/\{@link [^}]*\}/g, " ")
    .replaceAll(/\]\([^)]*\)/g, "] ")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\S*[/@_.:$#=\\]\S*[\w]\S*/g, (part) => (/[\w][/@_:$#=\\.][\w]/.test(part) || /^[/@$#.-]/.test(part) ? " " : part))
  const words = prose.matchAll(/(?<![\p{L}\d_$-])\p{L}+(?:[’']\p{Ll}+)?(?![\p{L}\d_$])/gu)
  return [...new Set([...words].map(([word]) => word.replace(/[’']s$/, "")))].filter(
    (word) => word.length > 2 && !/.\p{Lu}/u.test(word) && !speller(word) && !speller(word.toLowerCase()),
  )
}
