import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertedIn, entitiesIn } from "../companies.ts"

const each = (cases: ReadonlyArray<readonly [text: string, expected: ReadonlyArray<string>]>) => {
  for (const [text, expected] of cases) {
    it.effect(text.replaceAll("\n", " / "), () =>
      Effect.map(assertedIn(text), (facts) => assert.deepStrictEqual(facts, [...expected].sort())),
    )
  }
}

describe("a fact about a relative, an employee or a company of a person is no fact about the person", () => {
  each([
    ["The widow of Jonas Feld founded Orvane Systems.", []],
    ["The widow of the late merchant Jonas Feld founded Orvane Systems.", []],
    ["Mara Lindqvist's brother was born in Lisbon.", []],
    ["Mara Lindqvist’s elder brother was born on 4 May 1970.", []],
    ["The lawyer of Mara Lindqvist owns Orvane Systems.", []],
    ["Jonas Feld's company owns Delta Foods.", []],
    ["Jonas Feld's late wife founded Delta Foods.", []],
    ["Orvane Systems was founded by the widow of Jonas Feld.", []],
    ["Orvane Systems was founded by Jonas Feld's brother.", []],
    ["Orvane Systems is owned by a cousin of Jonas Feld.", []],
    ["Orvane Systems is owned by Jonas Feld's company.", []],
    ["A friend of Mara Lindqvist lives in Lisbon.", []],
    ["The parents of Mara Lindqvist and Jonas Feld live in Lisbon.", []],
    ["The daughter of Mara Lindqvist is married to Jonas Feld.", []],
    ["The founder of Orvane Systems was born in Lisbon.", []],
    ["Mara Lindqvist's brother was born in Lisbon. He founded Orvane Systems.", []],
    ["Jonas Feld's Orvane Systems is located in Lisbon.", ["Orvane Systems | location | Lisbon"]],
    ["Mara Lindqvist, the widow of Jonas Feld, founded Orvane Systems.", ["Orvane Systems | founder | Mara Lindqvist"]],
  ])
})

describe("a heading", () => {
  each([
    ["# Legal Notice\n\nIt is located in Lisbon.", []],
    ["# Quiet Evenings\n\nHe lives in Lisbon.", []],
    ["# Delta Foods\n\nShe lives in Lisbon.", []],
    ["Maria Lopez founded Orvane Systems.\n\n## Delta Foods\n\nShe lives in Lisbon.", ["Orvane Systems | founder | Maria Lopez"]],
    ["# Harbour Company\n\nIt is located in Lisbon.", ["Harbour Company | location | Lisbon"]],
    ["# Maria Lopez\n\nShe lives in Lisbon.", ["Maria Lopez | residence | Lisbon"]],
    ["# Maria Lopez\n\nHe lives in Lisbon.", []],
  ])
})

describe("he and she", () => {
  each([
    ["Lars Holt is employed by Orvane. Ingrid Sund left Fenwick Mills; she now works for Brightwater.", ["Lars Holt | employer | Orvane"]],
    ["Orvane is located in Lisbon. Its CEO, Dylan Pryce, was born on 9 November 1966.", ["Orvane | location | Lisbon"]],
    [
      "Peter Torres was born in Porto. His sister Ana Torres lives in Lisbon. She founded Orvane Systems.",
      ["Ana Torres | residence | Lisbon", "Orvane Systems | founder | Ana Torres", "Peter Torres | birth place | Porto"],
    ],
    ["Ana Torres and her brother Peter Torres grew up in Porto. He founded Orvane Systems.", ["Orvane Systems | founder | Peter Torres"]],
    ["Maria Lopez praised Peter Torres. He was born in Lisbon.", ["Peter Torres | birth place | Lisbon"]],
    ["Maria Lopez praised Peter Torres. She was born in Lisbon.", ["Maria Lopez | birth place | Lisbon"]],
    ["Mr Orr praised Ilse Dorn. He was born in Lisbon.", ["Mr Orr | birth place | Lisbon"]],
    ["Tamsin Orr praised the actress Ilse Dorn. He was born in Lisbon.", ["Tamsin Orr | birth place | Lisbon"]],
    ["Maria Lopez and Anna Bauer met in Porto. She founded Orvane Systems.", []],
    ["Tamsin Orr met Ilse Dorn. She founded Orvane Systems.", []],
    ["Maria Lopez met Anna Bauer. She founded Orvane Systems.", []],
    ["Peter Torres founded Delta Foods. She was born in Lisbon.", ["Delta Foods | founder | Peter Torres"]],
    [
      "Tamsin Orr was born in Varno. She founded Orvane Systems.",
      ["Orvane Systems | founder | Tamsin Orr", "Tamsin Orr | birth place | Varno"],
    ],
  ])

  it.effect("two names with and between them are not one person", () =>
    Effect.gen(function* () {
      const entities = yield* entitiesIn("Maria Lopez and Anna Bauer met in Porto. She founded Orvane Systems.")
      assert.isFalse(entities.some((name) => name.includes(" and ")))
    }),
  )
})

describe("a plain sentence", () => {
  const founder = ["Orvane Systems | founder | Mara Lindqvist"]
  const owner = ["Orvane Systems | owner | Mara Lindqvist"]
  const spouse = ["Mara Lindqvist | spouse | Jonas Feld"]
  const director = ["The Silent Harbor | director | Mara Lindqvist"]
  const location = ["Orvane Systems | location | Lisbon"]
  const employer = ["Mara Lindqvist | employer | Orvane Systems"]
  const born = ["Mara Lindqvist | birth date | 1970-05-04", "Mara Lindqvist | birth place | Lisbon"]
  each([
    ["Mara Lindqvist founded Orvane Systems.", founder],
    ["Mara Lindqvist owns Orvane Systems.", owner],
    ["Mara Lindqvist is the founder of Orvane Systems.", founder],
    ["Mara Lindqvist was a founder of Orvane Systems.", founder],
    ["The founder of Orvane Systems is Mara Lindqvist.", founder],
    ["The owner of Orvane Systems is Mara Lindqvist.", owner],
    ["The current owner of Orvane Systems is Mara Lindqvist.", owner],
    ["Mara Lindqvist is the owner of Orvane Systems.", owner],
    ["Mara Lindqvist is the former owner of Orvane Systems.", []],
    ["Mara Lindqvist is the brother of the founder of Orvane Systems.", []],
    ["Mara Lindqvist lives in Lisbon with her brother. He founded Orvane Systems.", ["Mara Lindqvist | residence | Lisbon"]],
    ["Mara Lindqvist lives in Lisbon. Her husband works for Orvane Systems.", ["Mara Lindqvist | residence | Lisbon"]],
    ["Jonas Feld wants Orvane Systems to be based in Lisbon.", []],
    ["Orvane Systems's founder is Mara Lindqvist.", founder],
    ["Mara Lindqvist is Orvane Systems's owner.", owner],
    ["Mara Lindqvist, the founder of Orvane Systems, was born in Lisbon.", [...founder, "Mara Lindqvist | birth place | Lisbon"]],
    ["Orvane Systems was founded by Mara Lindqvist.", founder],
    ["Orvane Systems is owned by Mara Lindqvist.", owner],
    ["Mara Lindqvist was born in Lisbon on 4 May 1970.", born],
    ["Mara Lindqvist was born on 4 May 1970 in Lisbon.", born],
    ["Mara Lindqvist was born in Lisbon.", ["Mara Lindqvist | birth place | Lisbon"]],
    ["Mara Lindqvist is married to Jonas Feld.", spouse],
    ["Mara Lindqvist married Jonas Feld.", spouse],
    ["The Silent Harbor was directed by Mara Lindqvist.", director],
    ["The Silent Harbor is a film directed by Mara Lindqvist.", director],
    ["Mara Lindqvist directed The Silent Harbor.", director],
    ["Orvane Systems is based in Lisbon.", location],
    ["Orvane Systems is headquartered in Lisbon.", location],
    ["Orvane Systems is located in Lisbon.", location],
    ["Orvane Systems is a company in Lisbon.", location],
    ["Casa Verde is a restaurant in Lisbon.", ["Casa Verde | location | Lisbon"]],
    ["Casa Verde is a small restaurant in Lisbon.", ["Casa Verde | location | Lisbon"]],
    ["Mara Lindqvist works at Orvane Systems.", employer],
    ["Mara Lindqvist works for Orvane Systems.", employer],
    ["Mara Lindqvist is employed by Orvane Systems.", employer],
    ["Mara Lindqvist lives in Lisbon.", ["Mara Lindqvist | residence | Lisbon"]],
    ["Mara Lindqvist and Jonas Feld founded Orvane Systems.", [...founder, "Orvane Systems | founder | Jonas Feld"]],
    ["Orvane Systems was founded by Mara Lindqvist and Jonas Feld.", [...founder, "Orvane Systems | founder | Jonas Feld"]],
    [
      "Peter Torres lives in Porto. He is the founder of Orvane Systems.",
      ["Orvane Systems | founder | Peter Torres", "Peter Torres | residence | Porto"],
    ],
  ])
})

describe("an entity has a name", () => {
  for (const text of [
    "The roastery is located in Lisbon.",
    "Mara Lindqvist works at a roastery.",
    "Mara Lindqvist is the owner of a restaurant.",
    "The founder of the company is unknown to Mara Lindqvist.",
    "The works were founded by Mara Lindqvist.",
  ]) {
    it.effect(text, () =>
      Effect.gen(function* () {
        for (const name of yield* entitiesIn(text)) assert.match(name, /\p{Lu}/u)
      }),
    )
  }
})
