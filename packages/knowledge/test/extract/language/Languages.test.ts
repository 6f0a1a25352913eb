/** Which language a document is in, and what German, French and Spanish prose states. */

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readDocument } from "../../../src/document/DocumentReader.ts"
import { chunkText } from "../../../src/document/Sentences.ts"
import * as BuiltIn from "../../../src/extract/builtin/BuiltIn.ts"
import { detectLanguage, documentLanguage } from "../../../src/extract/language/DocumentLanguage.ts"
import { readNumber } from "../../../src/extract/language/Numbers.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"
import { base, facts, ontology, others, prose } from "./breweries.ts"

const loaded = loadOntology({ name: "brew.ttl", text: ontology })

const factsIn = (text: string, language: string) =>
  Effect.gen(function* () {
    const index = yield* loaded
    const extractor = BuiltIn.make()
    const found = yield* Effect.forEach(chunkText(text), (chunk) =>
      Effect.gen(function* () {
        const spoken = { ...chunk, language }
        const { mentions } = yield* extractor.entities(spoken, index)
        return (yield* extractor.facts(spoken, mentions, index)).facts
      }),
    )
    for (const { quote, span } of found.flat()) assert.strictEqual(text.slice(span.start, span.end), quote)
    return found
      .flat()
      .map(({ subject, property, object }) => {
        const end = object._tag === "Entity" ? object.mention.text : object.lexical
        return `${subject.text} | ${property.replace(base, "")} | ${end}`
      })
      .sort()
  })

describe("the language of a text is detected", () => {
  const samples: Readonly<Record<string, ReadonlyArray<string>>> = {
    en: ["Halgrim was founded in 1998 by Ada Sol.", "The brewery employs 40 people and is based in Oslo."],
    de: ["Halgrim wurde 1998 von Ada Sol gegründet.", "Die Brauerei beschäftigt 40 Menschen und liegt in Kiel."],
    fr: ["Halgrim a été fondée en 1998 par Ada Sol.", "La brasserie emploie quarante personnes et se trouve à Lyon."],
    es: ["Halgrim fue fundada en 1998 por Ada Sol.", "La cervecera emplea a cuarenta personas y está en Bilbao."],
    nl: ["Halgrim werd in 1998 opgericht door Ada Sol.", "De brouwerij heeft veertig werknemers en is gevestigd in Groningen."],
    it: ["Halgrim è stata fondata nel 1998 da Ada Sol e ha sede nella città di Torino."],
    pt: ["A cervejaria foi fundada em 1998 por Ada Sol e não tem mais de quarenta funcionários."],
    sv: ["Bryggeriet grundades 1998 av Ada Sol och har inte mer än fyrtio anställda."],
    pl: ["Browar został założony w 1998 roku przez Adę Sol i jest jednym z największych."],
    ja: ["北光醸造は札幌で設立された。"],
    zh: ["北光啤酒厂于1998年成立。"],
    ko: ["이 양조장은 1998년에 설립되었다."],
    ru: ["Пивоварня была основана в 1998 году и находится в Твери."],
    ar: ["تأسس المصنع عام 1998 في القاهرة."],
    el: ["Η ζυθοποιία ιδρύθηκε το 1998."],
  }
  for (const [language, texts] of Object.entries(samples)) {
    it(`from a sentence or two: ${language}`, () => {
      for (const text of texts) assert.strictEqual(detectLanguage(text), language, text)
    })
  }

  it("only where there is enough to tell it by", () => {
    for (const text of ["", "Halgrim 1998", "Ada Sol\nOslo\nBergen", "42; 17; 3.5"]) assert.isUndefined(detectLanguage(text), text)
  })

  it("as none of those known where prose has none of their words", () => {
    const made = "Vorl tekna shumi brandu koltis memra. ".repeat(12)
    assert.strictEqual(detectLanguage(made), "und")
  })

  it("in a time that grows with the length of what is looked at", () => {
    for (const text of ["<".repeat(1_000_000), "a: ".repeat(400_000), "ä".repeat(1_000_000), "wort ".repeat(200_000)]) {
      detectLanguage(text)
    }
  })

  it.effect("by the keys of a table, which are labels in one language", () =>
    Effect.gen(function* () {
      const index = yield* loaded
      const german = "Name: Nordlicht\nSitz: Kiel\nMitarbeiter: 40\n"
      assert.deepStrictEqual(documentLanguage(german, undefined, index), { language: "de", hasProse: false })
      assert.strictEqual(documentLanguage("name: Nordlicht\nheadquarters: Kiel\nemployees: 40\n", undefined, index).language, "en")
    }),
  )

  it.effect("by what HTML, front matter and JSON declare", () =>
    Effect.gen(function* () {
      const declared = (name: string, text: string) => Effect.map(readDocument({ name }, Buffer.from(text)), ({ language }) => language)
      assert.strictEqual(yield* declared("a.html", '<html lang="de-AT"><body><p>Kiel</p></body></html>'), "de-AT")
      assert.strictEqual(yield* declared("a.html", '<html><body><p>Kiel</p><div><p lang="fr">Lyon</p></div></body></html>'), undefined)
      assert.strictEqual(yield* declared("a.md", "---\ntitle: Kiel\nlang: es\n---\n\nKiel"), "es")
      assert.strictEqual(yield* declared("a.json", '{"inLanguage":"fr","name":"Lyon"}'), "fr")
      assert.strictEqual(yield* declared("a.json", '{"@context":{"@language":"de"},"name":"Kiel"}'), "de")
      // What a record is about is not what it is written in.
      assert.strictEqual(yield* declared("a.json", '{"title":"Das Boot","language":"German"}'), undefined)
      const index = yield* loaded
      assert.strictEqual(documentLanguage("Halgrim 1998", "es", index).language, "es")
      assert.strictEqual(documentLanguage("Halgrim 1998", "not a tag", index).language, undefined)
      // The language of a template does not make an English page of German prose.
      assert.strictEqual(documentLanguage(prose.de, "en", index).language, "de")
      assert.strictEqual(documentLanguage(others.ja, "en", index).language, "ja")
    }),
  )
})

describe("prose", () => {
  for (const language of ["de", "fr", "es"] as const) {
    it.effect(`gives its facts and no other: ${language}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* factsIn(prose[language], language), [...facts[language]])
      }),
    )
  }

  const denied: Readonly<Record<string, ReadonlyArray<string>>> = {
    de: [
      "Nordlicht wurde nicht von Ilse Brandt gegründet.",
      "Ilse Brandt hat die Brauerei Ebbe nie gegründet.",
      "Nordlicht soll von Ilse Brandt gegründet worden sein.",
      "Nordlicht hat keinen Sitz in Kiel.",
      "Ilse Brandt bestritt, die Brauerei Nordlicht gegründet zu haben.",
      "Angeblich wurde Nordlicht 1998 gegründet.",
      "Ob Nordlicht 1998 gegründet wurde, ist offen.",
      "Ilse Brandt plant, die Brauerei Nordlicht zu gründen.",
      "Wurde Nordlicht von Ilse Brandt gegründet?",
    ],
    fr: [
      "Nordlys n'a pas été fondée par Claire Morel.",
      "Claire Morel n'a jamais fondé la brasserie Nordlys.",
      "Nordlys aurait été fondée par Claire Morel en 1998.",
      "Claire Morel nie avoir fondé Nordlys.",
      "On dit que Claire Morel a fondé Nordlys.",
      "Claire Morel prévoit de fonder la brasserie Nordlys.",
      "La brasserie Nordlys a-t-elle été fondée par Claire Morel ?",
    ],
    es: [
      "Norteluz no fue fundada por Clara Ruiz.",
      "Clara Ruiz nunca fundó la cervecera Norteluz.",
      "Norteluz habría sido fundada por Clara Ruiz en 1998.",
      "Clara Ruiz negó que fundara Norteluz.",
      "Se dice que Clara Ruiz fundó Norteluz.",
      "Supuestamente Clara Ruiz fundó Norteluz.",
      "¿Fue fundada Norteluz por Clara Ruiz?",
    ],
  }
  for (const [language, sentences] of Object.entries(denied)) {
    it.effect(`that denies or doubts something states nothing: ${language}`, () =>
      Effect.gen(function* () {
        for (const sentence of sentences) assert.deepStrictEqual(yield* factsIn(sentence, language), [], sentence)
      }),
    )
  }

  it.effect("of other languages gives nothing, rather than what English patterns make of it", () =>
    Effect.gen(function* () {
      const index = yield* loaded
      for (const [language, text] of Object.entries(others)) {
        assert.deepStrictEqual(yield* factsIn(text, language), [])
        assert.strictEqual(BuiltIn.make().unread?.(language, index), "language")
      }
      const english = yield* loadOntology({
        name: "en.ttl",
        text: ontology.replace(/, "[^"]*"@(?:de|fr|es)/g, "").replace(/ ; skos:altLabel[^.]*/g, " "),
      })
      assert.strictEqual(BuiltIn.make().unread?.("de", english), "labels")
    }),
  )
})

describe("numbers", () => {
  it("have a decimal comma in German, French and Spanish", () => {
    const read = (text: string, language?: string) => readNumber(text, language)?.lexical
    for (const language of ["de", "fr", "es"]) {
      assert.strictEqual(read("1.250", language), "1250")
      assert.strictEqual(read("12,5", language), "12.5")
      assert.strictEqual(read("1.250.000,75", language), "1250000.75")
      assert.strictEqual(read("1 250", language), "1250")
      assert.strictEqual(read("1,250", language), "1.250".replace(/0$/, ""))
      assert.strictEqual(read("3.5", language), "3.5")
    }
    assert.strictEqual(read("12,5 Millionen", "de"), "12500000")
    assert.strictEqual(read("3 milliards", "fr"), "3000000000")
    assert.strictEqual(read("2,5 millones", "es"), "2500000")
    assert.strictEqual(read("1,250"), "1250")
    assert.strictEqual(read("1.250"), "1.25")
  })
})
