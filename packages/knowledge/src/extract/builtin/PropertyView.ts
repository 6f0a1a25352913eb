/** A property as the extractor looks for it: the words that speak of it, and what its objects can look like. */

import type { OntologyProperty } from "../../ontology/Ontology.ts"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { xsd } from "../../rdf/Vocabulary.ts"
import { isFunctionWord } from "../language/FunctionWords.ts"
import { stem } from "../language/Stem.ts"
import { relatedStems } from "../language/VerbLexicon.ts"
import { fold, labelKey, tokenize } from "../language/Words.ts"

export interface PropertyView {
  readonly iri: string
  readonly name: string
  /** Stems of the content words of all its labels. */
  readonly stems: ReadonlySet<string>
  /** Stems of words that can speak of the same. */
  readonly related: ReadonlySet<string>
  /** Stems of the labels of its range. */
  readonly rangeStems: ReadonlySet<string>
  /** Stems of the labels of its domain. */
  readonly domainStems: ReadonlySet<string>
  /** Its label names who did it: "director", "designed by". */
  readonly agentive: boolean
  readonly takesEntities: boolean
  readonly takesValues: boolean
  /** What an object is expected to be, where labels, datatypes or classes tell. */
  readonly expects: {
    readonly date: boolean
    readonly number: boolean
    readonly person: boolean
    readonly organisation: boolean
    readonly country: boolean
    readonly language: boolean
    readonly place: boolean
  }
}

const contentStems = (texts: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(
    texts.flatMap((text) =>
      tokenize(fold(text).replace(/-/g, " "))
        .filter((token) => token.kind !== "mark" && !isFunctionWord(token.text))
        .map((token) => stem(token.text)),
    ),
  )

const stemsOf = (words: string): ReadonlySet<string> => new Set(words.split(" ").map(stem))

export const personWords = stemsOf("human person people individual man woman agent")
const countryWords = stemsOf("country nation state")
const languageWords = stemsOf("language")
const placeWords = stemsOf("city place location territory town settlement region country village venue area site")
/** What organisations are called, or call themselves. */
export const organisationWords = stemsOf(
  `organization organisation company corporation corp inc ltd llc plc gmbh business firm enterprise group holdings industries university
  college school institute academy press publisher publishing records label studio studios pictures productions entertainment media
  bank systems technologies software laboratories foundation association society union federation council committee ministry department
  agency bureau works lines brothers partners trust authority motors airlines railways brewery orchestra club team band church museum hospital airline army navy force corps regiment unit party`.replace(
    /\s+/g,
    " ",
  ),
)
const dateWords = /\b(?:date|year|day|when|born|birthday)\b/
const numberWords =
  /\b(?:number|count|cost|price|amount|total|height|length|width|weight|population|budget|revenue|size|age|duration|area|elevation|distance|speed|depth)\b/
const placeLabel = /\b(?:place|location|city|country|venue|town|region|headquarters)\b/

const dateTypes = new Set([xsd.date, xsd.dateTime, xsd.gYear, xsd.gYearMonth])
const numberTypes = /#(?:integer|decimal|double|float|int|long|short|byte|nonNegativeInteger|positiveInteger|unsigned\w+)$/

export const viewProperty = (ontology: OntologyIndex, property: OntologyProperty): PropertyView => {
  const names = ontology.names(property.iri)
  const stems = contentStems(names)
  const range = ontology.rangeOf(property.iri).flat()
  const datatypes = ontology.datatypesOf(property.iri)
  const classes = range.filter((iri) => !ontology.isDatatype(iri))
  const rangeStems = contentStems(classes.flatMap((iri) => [...ontology.names(iri)]))
  const above = contentStems(classes.flatMap((iri) => [...ontology.ancestors(iri)]).flatMap((iri) => [...ontology.names(iri)]))
  const named = (words: ReadonlySet<string>) => [...words].some((word) => rangeStems.has(word) || above.has(word))
  const labels = names.map(labelKey)
  const lastWords = labels.map((label) => label.split(" ").at(-1) ?? "")
  const datesOnly = datatypes.length > 0 && datatypes.every((iri) => dateTypes.has(iri))
  const numbersOnly = datatypes.length > 0 && datatypes.every((iri) => numberTypes.test(iri))
  const open = range.length === 0
  return {
    iri: property.iri,
    name: ontology.label(property.iri),
    stems,
    related: new Set([...stems].flatMap((one) => [...relatedStems(one)]).filter((one) => !stems.has(one))),
    rangeStems,
    domainStems: contentStems(
      ontology
        .domainOf(property.iri)
        .flat()
        .flatMap((iri) => [...ontology.names(iri)]),
    ),
    agentive: lastWords.some((word) => word === "by" || /(?:er|or|ist|ian)$/.test(word)),
    takesEntities: property.kind !== "datatype" && (open || classes.length > 0),
    // An object property without a range that is plainly about dates or numbers is a slip of its author's, not a wish.
    takesValues: property.kind !== "object" || open,
    expects: {
      date: datesOnly || (open && labels.some((label) => dateWords.test(label))),
      number: numbersOnly || (open && labels.some((label) => numberWords.test(label))),
      person: named(personWords),
      organisation: named(organisationWords),
      country: named(countryWords),
      language: named(languageWords),
      place: named(placeWords) || (classes.length === 0 && labels.some((label) => placeLabel.test(label))),
    },
  }
}
