import { assert, describe, it } from "@effect/vitest"
import { antecedentOf } from "../../../src/extract/builtin/Antecedents.ts"
import { type Candidate, findCandidates } from "../../../src/extract/builtin/Candidates.ts"
import { beginOfList } from "../../../src/extract/builtin/Evidence.ts"
import { Gazetteer } from "../../../src/extract/builtin/Gazetteer.ts"
import { viewSentence } from "../../../src/extract/builtin/SentenceView.ts"

const read = (text: string) => {
  const view = viewSentence(text)
  return { view, candidates: findCandidates(view, new Gazetteer([])) }
}

const kindOf = (text: string, part: string): Candidate["kind"] | undefined =>
  read(text).candidates.find((candidate) => candidate.text === part)?.kind

describe("the candidates of a sentence", () => {
  const present: ReadonlyArray<readonly [string, string, string]> = [
    ["a name at the beginning", "Anna Maria von Stein was a painter.", "Anna Maria von Stein"],
    ["a title with an owner in it", "The Lunda women's rowing club races in June.", "Lunda women's rowing club"],
    ["what a participle in front is about", "Written by Joan Ek, The Night of the long Winter is a novel.", "The Night of the long Winter"],
    ["a name with its mark", "The musical Lisbon! opened late.", "Lisbon!"],
    ["a whole date", "It opened on 25 January 1937.", "25 January 1937"],
    ["a name that begins with a year", "The 1968 Lunda Open was the first.", "1968 Lunda Open"],
  ]
  for (const [what, text, part] of present) {
    it(`hold ${what}`, () => {
      assert.isDefined(kindOf(text, part))
    })
  }

  const absent: ReadonlyArray<readonly [string, string, string]> = [
    ["a part of a date", "It opened on January 25, 1937 in Lunda.", "January 25"],
    ["the comma after a title", "Sor Unix, or S Unix, is an old system.", "Sor Unix, or S Unix,"],
    ["a verb and what follows it", "The film follows Joan Ek's journey.", "The film follows Joan Ek"],
    [
      "the participle in front",
      "Written by Joan Ek, The Night of the long Winter is a novel.",
      "Written by Joan Ek, The Night of the long Winter",
    ],
    ["the mark a sentence ends with", "They cheered for Lisbon!", "Lisbon!"],
  ]
  for (const [what, text, part] of absent) {
    it(`leave out ${what}`, () => {
      assert.isUndefined(kindOf(text, part))
    })
  }

  it("take a name at the beginning of a sentence for a name", () => {
    assert.strictEqual(kindOf("Joan Ek is an astronomer.", "Joan Ek"), "name")
    assert.strictEqual(kindOf("Dawn over a quiet Town was a success.", "Dawn over a quiet Town"), "title")
  })
})

describe("what a clause is about", () => {
  const about = (text: string, object: string): string | undefined => {
    const { view, candidates } = read(text)
    const place = candidates.find((candidate) => candidate.text === object)!
    const found = antecedentOf(view, candidates, beginOfList(view, place))
    return found === undefined ? undefined : candidates[found]?.text
  }

  const cases: ReadonlyArray<readonly [string, string, string, string | undefined]> = [
    ["the name before a relative clause", "Sor House is led by Joan Ek, who was born in Lisbon.", "Lisbon", "Joan Ek"],
    ["the name before an apposition", "They met at Sor House, a school near Lisbon.", "Lisbon", "Sor House"],
    ["not the place where another person does something", "Joan Ek lived in Sor, where she founded Holm Works.", "Holm Works", undefined],
    ["not the name before in a list", "Owl runs on Tern, the Wren system and the Kite.", "Wren", undefined],
  ]
  for (const [what, text, object, expected] of cases) {
    it(what, () => {
      assert.strictEqual(about(text, object), expected)
    })
  }
})
