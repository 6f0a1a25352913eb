/** An ontology as the extractor works with it: its properties with their words, prepared once and used for every sentence. */
import type { OntologyProperty } from "../../ontology/Ontology.ts"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { isDateType, isNumberType, owl } from "../../rdf/Vocabulary.ts"
import { isVerbLike, stem, withoutPlural } from "../../text/Stem.ts"
import { withoutUnit } from "../../text/Units.ts"
import { relatedStems } from "../../text/VerbLexicon.ts"
import { fold, isFunctionWord, labelKey, tokenize } from "../../text/Words.ts"
import { unmarked } from "../language/ProseLanguage.ts"
import type { Candidate } from "./Candidates.ts"
import type { SentenceView } from "./SentenceView.ts"

export interface OntologyView {
  readonly ontology: OntologyIndex
  readonly properties: ReadonlyArray<PropertyView>
  readonly triggers: TriggerIndex
  /** The domain kinds of all properties. */
  readonly domainKinds: ReadonlySet<string>
  /** The stems of the words in the labels of properties and of their ranges. */
  readonly objectNouns: ReadonlySet<string>
  /** The stems of the last words of all class labels. */
  readonly classNouns: ReadonlySet<string>
  readonly world: WorldNames
}

export const viewOntology = (ontology: OntologyIndex): OntologyView => {
  const properties = ontology.ontology.properties
    .filter((property) => !property.deprecated && isUsable(ontology, property.iri))
    .map((property) => viewProperty(ontology, property))
  return {
    ontology,
    properties,
    triggers: new TriggerIndex(properties),
    domainKinds: new Set(properties.flatMap((property) => [...property.domainKinds])),
    objectNouns: new Set(properties.flatMap((property) => [...property.stems, ...property.rangeStems])),
    classNouns: headStems([...ontology.classes.keys()].flatMap((iri) => [...ontology.names(iri)])),
    world: worldNames(),
  }
}

/** A property whose domain or range no class can satisfy would only give facts that violate the ontology. */
const isUsable = (ontology: OntologyIndex, property: string): boolean => {
  const range = ontology.rangeOf(property)
  const literal = range.flat().some((iri) => ontology.isDatatype(iri))
  return classesMeeting(ontology, ontology.domainOf(property)).length > 0 && (literal || classesMeeting(ontology, range).length > 0)
}

/** The most general classes that satisfy an expression; `owl:Thing` for an empty one. */
export const classesMeeting = (ontology: OntologyIndex, expression: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const [members, ...others] = expression
  if (members === undefined) return [owl.thing]
  const meets = (iri: string) => others.every((group) => group.some((member) => ontology.isA(iri, member)))
  const direct = members.filter((iri) => !ontology.isDatatype(iri) && meets(iri))
  if (direct.length > 0) return direct
  return members.flatMap((iri) => [...ontology.descendants(iri)].filter(meets)).slice(0, 1)
}

/** For each property, the name of its group: properties that expect the same kinds of objects. */
export const groupsOf = (properties: ReadonlyArray<PropertyView>): ReadonlyArray<string> =>
  properties.map(({ rangeStems, expects }) => JSON.stringify([[...rangeStems].sort(), expects]))

/** Whether a candidate can be the object of a property at all. */
export const fits = (candidate: Candidate, property: PropertyView): boolean => {
  if (candidate.kind === "date") return property.takesValues && (property.expects.date || !property.expects.number)
  if (candidate.kind === "number") return property.takesValues && (property.expects.number || !property.expects.date)
  if (!property.takesEntities) return !property.expects.date && !property.expects.number
  return true
}

// A property as the extractor looks for it: its trigger words, and the kinds of object it expects.

export interface PropertyView {
  readonly iri: string
  readonly name: string
  /** Stems of the content words of all its labels. */
  readonly stems: ReadonlySet<string>
  /** The words of its labels that are nouns: not "founded by" or "located in". */
  readonly nouns: ReadonlyArray<ReadonlyArray<string>>
  /** The words that lead to it in a sentence of a plain form. */
  readonly verbs: {
    /** Stems of the words of its labels, without those that name the kind of value only: a birth place has to do with birth. */
    readonly label: ReadonlySet<string>
    /** Stems of words of related meaning to those. */
    readonly related: ReadonlySet<string>
    /** Stems of the labels that name an agent: who founded it is the object of "founded by" and "founder". */
    readonly agents: ReadonlySet<string>
    /** Labels of one word that are a verb: who joined it is the subject of "joined". */
    readonly acts: ReadonlySet<string>
    /** Whether it is about the location of things. */
    readonly locates: boolean
  }
  /** Stems of words of related meaning. */
  readonly related: ReadonlySet<string>
  /** Stems of the labels of its range. */
  readonly rangeStems: ReadonlySet<string>
  /** Stems of the nouns for its subjects: the last words of the labels of its domain. */
  readonly domainKinds: ReadonlySet<string>
  /** Whether it has a domain, and no class of the domain is one of persons. */
  readonly excludesPersons: boolean
  /** Whether its label names an agent: "director", "designed by". */
  readonly agentive: boolean
  readonly takesEntities: boolean
  readonly takesValues: boolean
  /** The expected kinds of object, as far as labels, datatypes or classes show them. */
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

const headStems = (labels: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(labels.map((label) => stem(withoutPlural(labelKey(label).split(" ").at(-1) ?? ""))).filter((one) => one !== ""))

const stemsOf = (words: string): ReadonlySet<string> => new Set(words.split(" ").map(stem))

export const personWords = stemsOf("human person people individual man woman agent")
/** Whether a person can be of the class: "sportsperson", "author", "agent". */
const namesPerson = (label: string): boolean => {
  const word = labelKey(label).split(" ").at(-1) ?? ""
  return personWords.has(stem(word)) || /(?:person|athlete|thing|entity|er|or|ist|ian)$/.test(word)
}
const countryWords = stemsOf("country nation state")
const languageWords = stemsOf("language")
export const placeWords = stemsOf("city place location territory town settlement region country village venue area site")
/** Words for organisations, and words in their names. */
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

/** The labels in English and those without a language; all labels if there are none. `Ehepartner` names no agent in English. */
const englishLabels = ({ labels, alternativeLabels }: OntologyProperty, all: ReadonlyArray<string>): ReadonlyArray<string> => {
  const english = [...labels, ...alternativeLabels].filter(({ language }) => language === "" || /^en(?:-|$)/i.test(language))
  return english.length === 0 ? all : english.map(({ text }) => labelKey(text))
}

const kindStems = stemsOf("place date year day name number time city country town")
const locationStems = stemsOf("locate location situated headquarters base seat")

/** Whether a label names an agent: "director", "designed by". The last word of "works for" does not. */
const namesAgent = (label: string): boolean => {
  const last = label.split(" ").at(-1) ?? ""
  return last === "by" || (/(?:er|or|ist|ian)$/.test(last) && !isFunctionWord(last))
}

const verbsOf = (stems: ReadonlySet<string>, labels: ReadonlyArray<string>, expectsPlace: boolean): PropertyView["verbs"] => {
  const telling = [...stems].filter((one) => !kindStems.has(one))
  const label = new Set(telling.length > 0 ? telling : stems)
  const related = new Set([...label].flatMap((one) => [...relatedStems(one)]).filter((one) => !label.has(one)))
  return {
    label,
    related,
    agents: contentStems(labels.filter(namesAgent)),
    acts: new Set(labels.filter((one) => !one.includes(" ") && isVerbLike(one)).map(stem)),
    locates: expectsPlace && [...label].some((one) => locationStems.has(one)),
  }
}

const viewProperty = (ontology: OntologyIndex, property: OntologyProperty): PropertyView => {
  const datatypes = ontology.datatypesOf(property.iri)
  const numbersOnly = datatypes.length > 0 && datatypes.every(isNumberType)
  const labels = ontology.names(property.iri).map((name) => (numbersOnly ? withoutUnit(labelKey(name)) : labelKey(name)))
  const stems = contentStems(labels)
  const range = ontology.rangeOf(property.iri).flat()
  const classes = range.filter((iri) => !ontology.isDatatype(iri))
  const rangeStems = contentStems(classes.flatMap((iri) => [...ontology.names(iri)]))
  const above = contentStems(classes.flatMap((iri) => [...ontology.ancestors(iri)]).flatMap((iri) => [...ontology.names(iri)]))
  const named = (words: ReadonlySet<string>) => [...words].some((word) => rangeStems.has(word) || above.has(word))
  const english = englishLabels(property, labels)
  const datesOnly = datatypes.length > 0 && datatypes.every(isDateType)
  const open = range.length === 0
  const expectsPlace = named(placeWords) || (classes.length === 0 && labels.some((label) => placeLabel.test(label)))
  const domain = ontology
    .domainOf(property.iri)
    .flat()
    .flatMap((iri) => [iri, ...ontology.ancestors(iri), ...ontology.descendants(iri)])
    .flatMap((iri) => [...ontology.names(iri)])
  return {
    iri: property.iri,
    name: ontology.label(property.iri),
    stems,
    nouns: labels.map((label) => label.split(" ")).filter((words) => words[0] !== "" && !words.some((word) => isFunctionWord(word))),
    verbs: verbsOf(stems, english, expectsPlace),
    related: new Set([...stems].flatMap((one) => [...relatedStems(one)]).filter((one) => !stems.has(one))),
    rangeStems,
    domainKinds: headStems(domain),
    excludesPersons: domain.length > 0 && !domain.some(namesPerson),
    agentive: english.some(namesAgent),
    takesEntities: property.kind !== "datatype" && (open || classes.length > 0),
    // An object property without a range takes values, too: where it is plainly about dates or numbers, its kind is a mistake.
    takesValues: property.kind !== "object" || open,
    expects: {
      date: datesOnly || (open && labels.some((label) => dateWords.test(label))),
      number: numbersOnly || (open && labels.some((label) => numberWords.test(label))),
      person: named(personWords),
      organisation: named(organisationWords),
      country: named(countryWords),
      language: named(languageWords),
      place: expectsPlace,
    },
  }
}

// Triggers: the words of a sentence that refer to a property by its own label, by a word of related meaning, or as part of a compound.

export interface Trigger {
  readonly at: number
  readonly strength: "label" | "related" | "compound"
}

const none: ReadonlyArray<Trigger> = []

class TriggerIndex {
  private readonly byStem = new Map<string, Array<readonly [number, "label" | "related"]>>()
  private readonly compounds: ReadonlyArray<readonly [number, string]>

  constructor(properties: ReadonlyArray<PropertyView>) {
    properties.forEach((property, index) => {
      for (const stem of property.stems) this.add(stem, [index, "label"])
      for (const stem of property.related) this.add(stem, [index, "related"])
    })
    this.compounds = properties.flatMap((property, index) =>
      [...property.stems].filter((stem) => stem.length > 6).map((stem) => [index, stem] as const),
    )
  }

  /** The triggers of each property, in the order of the sentence. */
  find(view: SentenceView): ReadonlyMap<number, ReadonlyArray<Trigger>> {
    const found = new Map<number, Array<Trigger>>()
    const put = (property: number, trigger: Trigger) => {
      const known = found.get(property)
      if (known === undefined) found.set(property, [trigger])
      else known.push(trigger)
    }
    view.stems.forEach((stem, at) => {
      if (!view.content[at]) return
      const direct = this.byStem.get(stem) ?? []
      for (const [property, strength] of direct) put(property, { at, strength })
      if (stem.length < 4) return
      for (const [property, label] of this.compounds) {
        // "screenwriter" is a kind of writer. The rest must be long enough to be a word of its own.
        if (label.length > stem.length + 2 && label.endsWith(stem)) put(property, { at, strength: "compound" })
      }
    })
    return found
  }

  private add(stem: string, entry: readonly [number, "label" | "related"]) {
    const known = this.byStem.get(stem)
    if (known === undefined) this.byStem.set(stem, [entry])
    else known.push(entry)
  }
}

export const triggersOf = (found: ReadonlyMap<number, ReadonlyArray<Trigger>>, property: number): ReadonlyArray<Trigger> =>
  found.get(property) ?? none

/** The positions of words that occur in a property's label. */
export const placesOfLabels = (found: ReadonlyMap<number, ReadonlyArray<Trigger>>): ReadonlySet<number> => {
  const places = new Set<number>()
  for (const triggers of found.values()) for (const { at, strength } of triggers) if (strength === "label") places.add(at)
  return places
}

// Finds the property or class that a key or a column heading means.

export class PropertyNames {
  private readonly view: OntologyView
  private readonly usable: ReadonlySet<string>
  private readonly labelStems: ReadonlySet<string>
  /** By label without accents, which tables often leave out. */
  private readonly unaccented = new Map<string, string>()

  constructor(view: OntologyView) {
    this.view = view
    this.usable = new Set(view.properties.map((property) => property.iri))
    const classNames = [...view.ontology.classes.keys()].flatMap((iri) => [...view.ontology.names(iri)])
    this.labelStems = new Set([
      ...view.properties.flatMap(({ stems }) => [...stems]),
      ...classNames.flatMap((name) =>
        labelKey(name)
          .split(" ")
          .map((word) => stem(withoutPlural(word))),
      ),
    ])
    for (const iri of this.usable) for (const name of view.ontology.names(iri)) this.unaccented.set(unmarked(labelKey(name)), iri)
  }

  /** The property with this label; else the only one whose label has the same words in other forms or another order. */
  find(key: string): { readonly property: string; readonly match: number } | undefined {
    const exact = this.view.ontology.withLabel(key).properties.find((iri) => this.usable.has(iri))
    if (exact !== undefined) return { property: exact, match: 0.95 }
    const unaccented = this.unaccented.get(unmarked(labelKey(key)))
    if (unaccented !== undefined) return { property: unaccented, match: 0.9 }
    const stems = labelKey(key)
      .split(" ")
      .filter((word) => word !== "" && !isFunctionWord(word))
      .map(stem)
    if (stems.length === 0) return undefined
    const sameStems = this.view.properties.filter(
      (property) => property.stems.size === stems.length && stems.every((one) => property.stems.has(one)),
    )
    return sameStems.length === 1 ? { property: sameStems[0]!.iri, match: 0.85 } : undefined
  }

  /** Whether a word occurs in a label of the ontology. */
  isLabelWord(word: string): boolean {
    return this.labelStems.has(stem(withoutPlural(word)))
  }

  classNamed(key: string): string | undefined {
    return this.view.ontology.withLabel(key).classes[0]
  }
}

// Names of countries and languages, from the tables of `Intl`, so that no list has to be kept here.

export interface WorldNames {
  readonly countries: ReadonlySet<string>
  readonly languages: ReadonlySet<string>
}

const worldNames = (): WorldNames => ({
  countries: namesOf("region", 65),
  languages: namesOf("language", 97),
})

/** The names of all two-letter codes; unassigned codes have none. */
const namesOf = (type: "region" | "language", firstLetter: number): ReadonlySet<string> => {
  const display = new Intl.DisplayNames("en", { type, fallback: "none" })
  const found = new Set<string>()
  for (let pair = 0; pair < 26 * 26; pair++) {
    const name = display.of(String.fromCharCode(firstLetter + Math.floor(pair / 26), firstLetter + (pair % 26)))
    if (name !== undefined) found.add(labelKey(name))
  }
  return found
}
