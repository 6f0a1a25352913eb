/** The table of questions.md. */
import { readFileSync } from "node:fs"

/**
 * @typedef {{ readonly question: string, readonly page: string, readonly words: ReadonlyArray<string>, readonly search: string }} Question
 *
 * @type {ReadonlyArray<Question>}
 */
export const questions = readFileSync(new URL("questions.md", import.meta.url), "utf8")
  .split("\n")
  .map((line) => /^\| (.*?) +\| \[.*?\]\(\.\.\/(.*?)\) +\| (.*?) +\| (.*?) +\|$/.exec(line))
  .flatMap((row) => {
    if (row === null) return []
    const [, question = "", page = "", words = "", search = ""] = row
    return [{ question, page: `docs/${page}`, words: words.split(", "), search }]
  })
