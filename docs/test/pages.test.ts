/** The site has every page in its sidebar, answers the questions of its readers, and speaks plainly. */
import { expect, it } from "vitest"
import { variables } from "../../infra/check/variables.ts"
import { blocksOf, proseLines } from "../../scripts/markdown.mjs"
import { errorsOf, kindsOf, nextStepsOf, packages } from "../generate/errors.mjs"
import { nextSteps } from "../generate/nextSteps.mjs"
import { generated, pageOf, written } from "../pages.mjs"
import { sidebar } from "../sidebar.mjs"
import { questions } from "./questions.mjs"

const linked = sidebar.flatMap(({ items }) => items.map(({ link }) => `docs${link}.md`))

it("the sidebar has every page once", () => {
  expect([...linked].sort()).toEqual([...written, ...Object.keys(generated)].filter((page) => page !== "docs/index.md").sort())
})

it.each(Object.keys(generated))("%s has no empty section", (page) => {
  const text = pageOf(page) ?? ""
  expect(text).not.toMatch(/\[object/)
  expect(text.length).toBeGreaterThan(2000)
})

const errors = Object.keys(packages).flatMap((name) => errorsOf(name))

it("every error has a next step: after a semicolon in its message, in the registry, or in docs/generate/nextSteps.mjs", () => {
  const kinds = kindsOf()
  expect(errors.filter((error) => nextStepsOf(error, kinds.get(error.tag)).length === 0).map(({ tag }) => tag)).toEqual([])
})

it("docs/generate/nextSteps.mjs names errors that exist", () => {
  const tags = new Set(errors.map(({ tag }) => tag))
  expect(Object.keys(nextSteps).filter((tag) => !tags.has(tag))).toEqual([])
})

it("there are twenty questions", () => {
  expect(questions.length).toBeGreaterThanOrEqual(20)
})

it.each(questions)("$page answers: $question", ({ page, words }) => {
  const text = (pageOf(page) ?? "").replaceAll(/\s+/g, " ").toLowerCase()
  expect(words.filter((word) => !text.includes(word.replaceAll("`", "").toLowerCase()))).toEqual([])
})

it("the configuration names every environment variable", () => {
  const page = pageOf("docs/reference/configuration.md") ?? ""
  const read = Object.keys(variables).filter((name) => name !== "NODE_ENV") // for libraries; Detent does not read it
  expect(read.filter((name) => !new RegExp(`\\b${name}\\b`).test(page))).toEqual([])
})

const unclear =
  /\b(whoever|somebody|nobody|those who|is told|goes on|unless told|what is left of|so many|simply|easily|blazing|seamless)\b/i

it.each(written)("%s uses plain words", (page) => {
  const found = proseLines(pageOf(page) ?? "").filter(({ content }) => unclear.test(content))
  expect(found).toEqual([])
})

it.each(written)("%s closes every block and names a language for each", (page) => {
  const blocks = blocksOf(pageOf(page) ?? "")
  expect(blocks.filter(({ language }) => language === "")).toEqual([])
})
