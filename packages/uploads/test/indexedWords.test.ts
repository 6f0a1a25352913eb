import { expect, it } from "vitest"
import { Chance } from "../src/generate/GeneratedPost.ts"
import { wordsOf } from "../src/store/SearchText.ts"
import { indexedWords } from "../src/store/sqlite/SqliteDialect.ts"

const characters = [
  "a",
  "B",
  "9",
  " ",
  " ",
  "\n",
  "é",
  "e\u0301",
  "\u0301",
  "Σ",
  "ς",
  "İ",
  "ﬁ",
  "²",
  "本",
  "П",
  "'",
  "-",
  "’",
  "\u00a0",
  "\u{1F600}",
  "ß",
]

it("a text is indexed by the words that wordsOf finds in it, wherever its spaces are", () => {
  const chance = new Chance(7)
  for (let round = 0; round < 3000; round++) {
    const text = Array.from({ length: chance.between(0, 20) }, () => characters[chance.between(0, characters.length - 1)]).join("")
    expect(wordsOf(indexedWords(text)), JSON.stringify(text)).toEqual(wordsOf(text))
  }
})
