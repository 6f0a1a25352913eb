import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { givenNames } from "../../../src/text/GivenNames.ts"
import { assertedIn } from "../companies.ts"

type Cases = Readonly<Record<"de" | "fr" | "es", ReadonlyArray<readonly [text: string, expected: ReadonlyArray<string>]>>>

const nothing = (...texts: ReadonlyArray<string>) => texts.map((text) => [text, []] as const)

const check = (cases: Cases) => {
  for (const [language, sentences] of Object.entries(cases)) {
    for (const [text, expected] of sentences) {
      it.effect(`${language}: ${text.replaceAll("\n", " / ")}`, () =>
        Effect.map(assertedIn(text, language), (facts) => assert.deepStrictEqual(facts, [...expected].sort())),
      )
    }
  }
}

describe("a fact about a relative of a person is no fact about the person", () => {
  check({
    de: nothing(
      "Die Witwe von Jonas Feld gründete Orvane.",
      "Jonas Felds Bruder gründete Orvane.",
      "Der Bruder von Mara Lind wurde in Lissabon geboren.",
      "Orvane wurde von der Witwe von Jonas Feld gegründet.",
      "Der Anwalt der Mara Lind besitzt Orvane.",
    ),
    fr: nothing(
      "La veuve de Jonas Feld a fondé Orvane.",
      "Le frère de Mara Lind est né à Lisbonne.",
      "Orvane a été fondée par la veuve de Jonas Feld.",
    ),
    es: nothing(
      "La viuda de Jonas Feld fundó Orvane.",
      "El hermano de Mara Lind nació en Lisboa.",
      "Orvane fue fundada por la viuda de Jonas Feld.",
    ),
  })
})

describe("a sentence with alternatives asserts nothing", () => {
  check({
    de: nothing(
      "Mara Lind oder Jonas Feld gründete Orvane.",
      "Entweder Mara Lind oder Jonas Feld gründete Orvane.",
      "Orvane wurde von Mara Lind oder Jonas Feld gegründet.",
      "Mara Lind wurde in Porto oder Lissabon geboren.",
    ),
    fr: nothing(
      "Mara Lind ou Jonas Feld a fondé Orvane.",
      "Orvane a été fondée par Mara Lind ou Jonas Feld.",
      "Mara Lind est née à Porto ou à Lisbonne.",
    ),
    es: nothing(
      "Mara Lind o Jonas Feld fundó Orvane.",
      "Orvane fue fundada por Mara Lind o Jonas Feld.",
      "Mara Lind nació en Porto o en Lisboa.",
    ),
  })
})

describe("an accusation, a lie, a belief or a hoax asserts nothing", () => {
  check({
    de: nothing(
      "Mara Lind wurde beschuldigt, Orvane gegründet zu haben.",
      "Mara Lind wurde davon freigesprochen, Orvane gegründet zu haben.",
      "Jonas Feld log, dass Mara Lind die Firma Orvane gegründet hat.",
      "Laut einer unbestätigten Meldung hat Mara Lind das Unternehmen Orvane gegründet.",
      "Wenige glauben, dass Mara Lind das Unternehmen Orvane gegründet hat.",
      "Einer Theorie zufolge hat Mara Lind das Unternehmen Orvane gegründet.",
    ),
    fr: nothing(
      "Mara Lind a été accusée d'avoir fondé Orvane.",
      "Jonas Feld a menti que Mara Lind a fondé Orvane.",
      "Selon un canular, Mara Lind a fondé Orvane.",
      "Selon un rapport non confirmé, Mara Lind a fondé Orvane.",
      "Peu de gens croient que Mara Lind a fondé Orvane.",
      "La théorie dit que Mara Lind a fondé Orvane.",
    ),
    es: nothing(
      "Mara Lind fue acusada de haber fundado Orvane.",
      "Jonas Feld mintió que Mara Lind fundó Orvane.",
      "Según un bulo, Mara Lind fundó Orvane.",
      "Según un informe sin confirmar, Mara Lind fundó Orvane.",
      "Pocos creen que Mara Lind fundó Orvane.",
      "La teoría dice que Mara Lind fundó Orvane.",
    ),
  })
})

describe("before a date is not on it, and near a place is not in it", () => {
  check({
    de: nothing(
      "Mara Lind wurde vor dem 4. Mai 1970 geboren.",
      "Mara Lind wurde nach dem 4. Mai 1970 geboren.",
      "Orvane liegt nahe Lissabon.",
      "Orvane liegt bei Lissabon.",
      "Orvane liegt 40 km von Lissabon.",
      "Orvane liegt in der Nähe von Lissabon.",
      "Mara Lind wohnt nahe Lissabon.",
    ),
    fr: nothing(
      "Mara Lind est née avant le 4 mai 1970.",
      "Mara Lind est née après le 4 mai 1970.",
      "Orvane est située près de Lisbonne.",
      "Orvane est située à 40 km de Lisbonne.",
      "Mara Lind habite près de Lisbonne.",
    ),
    es: nothing(
      "Mara Lind nació antes del 4 de mayo de 1970.",
      "Mara Lind nació después del 4 de mayo de 1970.",
      "Orvane está situada cerca de Lisboa.",
      "Orvane está situada a 40 km de Lisboa.",
      "Mara Lind vive cerca de Lisboa.",
    ),
  })
})

describe("a heading, and a pronoun of the other gender", () => {
  check({
    de: nothing(
      "# Impressum\n\nEs liegt in Lissabon.",
      "# Stille Abende\n\nEr wurde in Lissabon geboren.",
      "Maria Lopez lobte Peter Torres. Er wurde in Lissabon geboren.",
    ),
    fr: nothing("# Mentions Légales\n\nElle est située à Lisbonne.", "Marie Petit a félicité Paul Roux. Il est né à Lisbonne."),
    es: nothing("# Aviso Legal\n\nElla está situada en Lisboa.", "María Vidal elogió a Pedro Soler. Él nació en Lisboa."),
  })
})

describe("a plain sentence", () => {
  const founders = ["Orvane | founder | Jonas Feld", "Orvane | founder | Mara Lind"]
  const employer = ["Mara Lind | employer | Orvane"]
  const owner = ["Orvane | owner | Mara Lind"]
  const spouse = ["Mara Lind | spouse | Jonas Feld"]
  check({
    de: [
      ["Mara Lind arbeitet für Orvane.", employer],
      ["Mara Lind arbeitet bei Orvane.", employer],
      ["Mara Lind wohnt in Lissabon.", ["Mara Lind | residence | Lissabon"]],
      ["Mara Lind lebt in Lissabon.", ["Mara Lind | residence | Lissabon"]],
      ["Mara Lind besitzt Orvane.", owner],
      ["Orvane gehört Mara Lind.", owner],
      ["Mara Lind ist mit Jonas Feld verheiratet.", spouse],
      ["Mara Lind und Jonas Feld gründeten Orvane.", founders],
      ["Gestern gründete Mara Lind das Unternehmen Orvane.", ["Unternehmen Orvane | founder | Mara Lind"]],
    ],
    fr: [
      ["Mara Lind travaille pour Orvane.", employer],
      ["Mara Lind travaille chez Orvane.", employer],
      ["Mara Lind habite à Lisbonne.", ["Mara Lind | residence | Lisbonne"]],
      ["Mara Lind réside à Lisbonne.", ["Mara Lind | residence | Lisbonne"]],
      ["Mara Lind possède Orvane.", owner],
      ["Orvane appartient à Mara Lind.", owner],
      ["Mara Lind est mariée à Jonas Feld.", spouse],
      ["Mara Lind et Jonas Feld ont fondé Orvane.", founders],
      ["Hier Mara Lind a fondé Orvane.", ["Orvane | founder | Mara Lind"]],
    ],
    es: [
      ["Mara Lind trabaja para Orvane.", employer],
      ["Mara Lind reside en Lisboa.", ["Mara Lind | residence | Lisboa"]],
      ["Mara Lind vive en Lisboa.", ["Mara Lind | residence | Lisboa"]],
      ["Mara Lind posee Orvane.", owner],
      ["Orvane pertenece a Mara Lind.", owner],
      ["Mara Lind está casada con Jonas Feld.", spouse],
      ["Mara Lind y Jonas Feld fundaron Orvane.", founders],
      ["María Vidal nació en Lisboa.", ["María Vidal | birth place | Lisboa"]],
      ["Ayer María Vidal fundó Orvane.", ["Orvane | founder | María Vidal"]],
    ],
  })
})

describe("a noun of no known class refers to no earlier subject", () => {
  check({
    de: [["Mara Lind wurde in Porto geboren. Die Firma liegt in Lissabon.", ["Mara Lind | birth place | Porto"]]],
    fr: [["Mara Lind est née à Porto. La société est située à Lisbonne.", ["Mara Lind | birth place | Porto"]]],
    es: [["Mara Lind nació en Porto. La compañía está ubicada en Lisboa.", ["Mara Lind | birth place | Porto"]]],
  })
})

describe("a noun before a name is not part of it", () => {
  check({
    de: [
      ["Der Film Stiller Hafen wurde von Mara Lind gedreht.", ["Stiller Hafen | director | Mara Lind"]],
      ["Die Regisseurin des Films Stiller Hafen ist Mara Lind.", ["Stiller Hafen | director | Mara Lind"]],
      [
        "Der Film Stiller Hafen wurde von Mara Lind gedreht. Die Regisseurin des Films Stiller Hafen ist Mara Lind.",
        ["Stiller Hafen | director | Mara Lind"],
      ],
    ],
    fr: [],
    es: [],
  })
})

describe("given names", () => {
  it("are a short list of single words", () => {
    assert.isBelow(givenNames.size, 600)
    for (const name of givenNames.keys()) assert.match(name, /^\p{Ll}+$/u)
    assert.strictEqual(givenNames.get("maria"), "female")
    assert.strictEqual(givenNames.get("peter"), "male")
    // Women and men bear these.
    for (const name of ["andrea", "kim", "robin", "dominique", "sascha", "jean"]) assert.isUndefined(givenNames.get(name))
  })
})
