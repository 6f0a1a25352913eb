/** Text made to take long: each step between a document and its facts takes a time that grows with the length of the text. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { chunkText, splitSentences } from "../../src/document/Sentences.ts"
import * as BuiltIn from "../../src/extract/builtin/BuiltIn.ts"
import { documentLanguage } from "../../src/extract/language/DocumentLanguage.ts"
import { loadOntology } from "../../src/ontology/OntologyLoading.ts"
import { nameForm } from "../../src/text/NameForm.ts"
import { ontology } from "./language/breweries.ts"

const loaded = loadOntology({ name: "brew.ttl", text: ontology })

const combining = "\u0301"

/** By name, the part that is repeated and the text around it. */
const texts: Readonly<Record<string, (length: number) => string>> = {
  "combining marks": (length) => `e${combining.repeat(length)} ends.`,
  "combining marks without a letter": (length) => combining.repeat(length),
  "joined emoji": (length) => "👩‍".repeat(length / 3),
  "spaces before a word": (length) => `${" ".repeat(length)}x`,
  "spaces before a colon": (length) => `name${" ".repeat(length)}: x`,
  "spaces after a colon": (length) => `name:${" ".repeat(length)}\u2028x`,
  "tabs on many lines": (length) => "\t \t x\n".repeat(length / 6),
  "a word": (length) => "a".repeat(length),
  "a word in capitals": (length) => "A".repeat(length),
  "an address": (length) => "a-".repeat(length / 2),
  digits: (length) => "1".repeat(length),
  "grouped digits": (length) => "1,".repeat(length / 2),
  "names in a row": (length) => "Ada ".repeat(length / 4),
  initials: (length) => "A.".repeat(length / 2),
  "full stops": (length) => ". ".repeat(length / 2),
  quotation: (length) => '"a '.repeat(length / 3),
  brackets: (length) => "(".repeat(length),
  hyphens: (length) => `${"-".repeat(length)}x`,
  colons: (length) => "a:".repeat(length / 2),
  "list items": (length) => "- a: ".repeat(length / 5),
  "table cells": (length) => "| a ".repeat(length / 4),
  "lines of one letter": (length) => "a\n".repeat(length / 2),
  "commas and": (length) => "a, and ".repeat(length / 7),
  "Ada Sol founded": (length) => "Halgrim was founded by ".repeat(length / 23),
}

/** In milliseconds of processor time, to which the machine's other work does not add. */
const timeOf = (work: () => unknown): number => {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

/** Twice the text may take three times as long. Square time takes four times as long, and far more than the milliseconds that are allowed. */
const growsWithItsLength = (text: (length: number) => string, work: (text: string) => unknown, length = 60_000) => {
  work(text(600))
  const once = timeOf(() => work(text(length / 2)))
  const twice = timeOf(() => work(text(length)))
  assert.isBelow(twice, once * 3 + 300, `${length} characters take ${twice} ms, half of them ${once} ms`)
}

describe("a text made to take long", () => {
  for (const [name, text] of Object.entries(texts)) {
    it(`is split into sentences and chunks: ${name}`, () => {
      growsWithItsLength(text, splitSentences)
      growsWithItsLength(text, (one) => chunkText(one))
    })

    it.live(`has a language: ${name}`, () =>
      Effect.map(loaded, (index) => growsWithItsLength(text, (one) => documentLanguage(one, undefined, index))),
    )

    it(`is a name: ${name}`, () => growsWithItsLength(text, nameForm))

    it.live(`is read by the built-in extractor: ${name}`, () =>
      Effect.gen(function* () {
        const index = yield* loaded
        const extractor = BuiltIn.make()
        const read = (one: string) =>
          Effect.runSync(
            Effect.flatMap(extractor.entities({ index: 0, offset: 0, text: one }, index), ({ mentions }) =>
              extractor.facts({ index: 0, offset: 0, text: one }, mentions, index),
            ),
          )
        growsWithItsLength(text, read, 4000)
      }),
    )
  }
})
