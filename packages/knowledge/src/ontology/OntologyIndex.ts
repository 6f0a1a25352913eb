/**
 * The folded ontology: everything an extractor, a prompt or a validator asks of it, computed once. It turns into plain JSON
 * and back, so that a worker thread can have one too.
 */

import { deserialize, serialize } from "node:v8"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { stem } from "../extract/language/Stem.ts"
import { relatedStems } from "../extract/language/VerbLexicon.ts"
import { fold, isFunctionWord, labelKey, tokenize } from "../extract/language/Words.ts"
import { isStandardDatatype, rdfs, xsd } from "../rdf/Vocabulary.ts"
import { Hierarchy } from "./Hierarchy.ts"
import { type ClassExpression, Ontology, type OntologyClass, type OntologyProperty, type Restriction } from "./Ontology.ts"

/** The terms of a label. */
export interface Labelled {
  readonly classes: ReadonlyArray<string>
  readonly properties: ReadonlyArray<string>
}

export class OntologyIndex {
  readonly ontology: Ontology
  readonly classes: ReadonlyMap<string, OntologyClass>
  readonly properties: ReadonlyMap<string, OntologyProperty>
  // Made when they are first asked for: of an ontology of 100,000 classes they take a second.
  private classesAbove: Hierarchy | undefined
  private propertiesAbove: Hierarchy | undefined
  private labelled: ReadonlyMap<string, Labelled> | undefined
  private bytes: PackedOntology | undefined
  private readonly demands = { domain: new Map<string, ClassExpression>(), range: new Map<string, ClassExpression>() }
  /** Without what the properties above demand. */
  private readonly ownDemands = { domain: new Map<string, ClassExpression>(), range: new Map<string, ClassExpression>() }
  private readonly datatypes: ReadonlySet<string>
  private readonly stems = new Map<string, ReadonlyArray<ReadonlyArray<string>>>()

  constructor(ontology: Ontology, packed?: PackedOntology) {
    this.ontology = ontology
    this.bytes = packed
    this.classes = new Map(ontology.classes.map((one) => [one.iri, one]))
    this.properties = new Map(ontology.properties.map((one) => [one.iri, one]))
    this.datatypes = new Set(ontology.datatypes)
  }

  private get classHierarchy(): Hierarchy {
    this.classesAbove ??= new Hierarchy(parentsOf(this.ontology.classes))
    return this.classesAbove
  }

  private get propertyHierarchy(): Hierarchy {
    this.propertiesAbove ??= new Hierarchy(parentsOf(this.ontology.properties))
    return this.propertiesAbove
  }

  static fromJSON(json: unknown): OntologyIndex {
    return new OntologyIndex(Schema.decodeUnknownSync(Ontology)(json))
  }

  toJSON(): Ontology {
    return this.ontology
  }

  /** For another process. */
  pack(): PackedOntology {
    this.bytes ??= packOntology(this.ontology)
    return this.bytes
  }

  static unpack(packed: PackedOntology): OntologyIndex {
    return new OntologyIndex(joined(packed.map(unpackedPart)), packed)
  }

  /** The same, with turns for other work of the thread. */
  static unpackInTurns(packed: PackedOntology): Effect.Effect<OntologyIndex> {
    return Effect.map(
      Effect.forEach(packed, (part) =>
        Effect.tap(
          Effect.sync(() => unpackedPart(part)),
          () => Effect.yieldNow,
        ),
      ),
      (parts) => new OntologyIndex(joined(parts), packed),
    )
  }

  /** SHA-256 of the source, in hex. */
  get hash(): string {
    return this.ontology.hash
  }

  get namespace(): string {
    return this.ontology.namespace
  }

  /** The classes above, equivalent ones included, without the class itself. */
  ancestors(iri: string): ReadonlySet<string> {
    return this.classHierarchy.ancestors(iri)
  }

  descendants(iri: string): ReadonlySet<string> {
    return this.classHierarchy.descendants(iri)
  }

  isA(iri: string, ancestor: string): boolean {
    return this.classHierarchy.isA(iri, ancestor)
  }

  propertyAncestors(iri: string): ReadonlySet<string> {
    return this.propertyHierarchy.ancestors(iri)
  }

  propertyDescendants(iri: string): ReadonlySet<string> {
    return this.propertyHierarchy.descendants(iri)
  }

  /** How much of the ontology a class or a property stands for: see `Hierarchy.generality`. */
  generality(iri: string): number {
    return (this.classes.has(iri) ? this.classHierarchy : this.propertyHierarchy).generality(iri)
  }

  /** Whether nothing can be of both classes, by their own statements or by those of classes above them. */
  areDisjoint(one: string, other: string): boolean {
    const others = new Set([other, ...this.ancestors(other)])
    return [one, ...this.ancestors(one)].some((iri) => this.classes.get(iri)?.disjoint.some((apart) => others.has(apart)) ?? false)
  }

  /** The required classes of the subject, with those of the properties above. Empty: anything. */
  domainOf(property: string): ClassExpression {
    return this.demanded(property, "domain")
  }

  /** The required classes or datatypes of the object. Empty: anything. */
  rangeOf(property: string): ClassExpression {
    return this.demanded(property, "range")
  }

  isDatatype(iri: string): boolean {
    return isStandardDatatype(iri) || this.datatypes.has(iri)
  }

  /** The datatypes of the property's values; empty when they are entities or the ontology does not say. */
  datatypesOf(property: string): ReadonlyArray<string> {
    return this.rangeOf(property)
      .flat()
      .filter((iri) => this.isDatatype(iri))
  }

  acceptsSubject(property: string, type: string): boolean {
    return this.properties.has(property) && this.meets(type, this.domainOf(property))
  }

  /** Whether an entity of the type may be the object. */
  acceptsObject(property: string, type: string): boolean {
    const kind = this.properties.get(property)?.kind
    return kind !== undefined && kind !== "datatype" && this.meets(type, this.rangeOf(property))
  }

  /**
   * Whether a literal of the datatype may be the object. An object property without a range takes literals too: many
   * ontologies declare so what they then use for dates and numbers.
   */
  acceptsValue(property: string, datatype: string): boolean {
    const kind = this.properties.get(property)?.kind
    if (kind === undefined || (kind === "object" && this.rangeOf(property).length > 0)) return false
    return this.rangeOf(property).every((members) => members.includes(datatype) || members.some(acceptsEveryLiteral))
  }

  /** In the time of one pass through all properties, however long the chains of properties are. */
  propertiesOf(subjectType: string): ReadonlyArray<OntologyProperty> {
    return this.propertiesMetBy(subjectType, "domain")
  }

  /** The properties of which an entity of the type may be the object. */
  propertiesTo(objectType: string): ReadonlyArray<OntologyProperty> {
    return this.propertiesMetBy(objectType, "range").filter(({ kind }) => kind !== "datatype")
  }

  propertiesBetween(subjectType: string, objectType: string): ReadonlyArray<OntologyProperty> {
    const possible = new Set(this.propertiesTo(objectType))
    return this.propertiesOf(subjectType).filter((property) => possible.has(property))
  }

  /** The class's own restrictions, then those of the classes above it. */
  restrictionsOf(iri: string): ReadonlyArray<Restriction> {
    return [iri, ...this.ancestors(iri)].flatMap((one) => this.classes.get(one)?.restrictions ?? [])
  }

  /** The label to show: in the language, else without one, else in English, else the first. */
  label(iri: string, language = "en"): string {
    const labels = (this.classes.get(iri) ?? this.properties.get(iri))?.labels ?? []
    const inLanguage = labels.find((label) => label.language === language || label.language.startsWith(`${language}-`))
    const found = inLanguage ?? labels.find((label) => label.language === "") ?? labels.find((label) => label.language.startsWith("en"))
    return (found ?? labels[0])?.text ?? iri
  }

  /** Every word or phrase the term is known by, in all languages. */
  names(iri: string): ReadonlyArray<string> {
    const term = this.classes.get(iri) ?? this.properties.get(iri)
    return term === undefined ? [] : [...new Set([...term.labels, ...term.alternativeLabels].map((label) => label.text))]
  }

  /** The stems of the content words of each of a term's names. Kept, since a large ontology is asked for them chunk by chunk. */
  nameStems(iri: string): ReadonlyArray<ReadonlyArray<string>> {
    const kept = this.stems.get(iri)
    if (kept !== undefined) return kept
    const stems = this.names(iri).map(contentStems)
    this.stems.set(iri, stems)
    return stems
  }

  /** The terms known by this label; case, hyphens and spacing make no difference. */
  withLabel(text: string): Labelled {
    this.labelled ??= labelsOf(this.ontology)
    return this.labelled.get(labelKey(text)) ?? { classes: [], properties: [] }
  }

  /** The part of the ontology that a text could speak of, with everything above it; the whole where it is small. */
  relevantTo(text: string, options: RelevanceOptions = {}): OntologyIndex {
    const { classes, properties } = relevantTerms(this, text, options)
    if (classes.size === this.classes.size && properties.size === this.properties.size) return this
    return new OntologyIndex({
      ...this.ontology,
      classes: this.ontology.classes.filter(({ iri }) => classes.has(iri)),
      properties: this.ontology.properties.filter(({ iri }) => properties.has(iri)),
    })
  }

  private meets(type: string, expression: ClassExpression): boolean {
    return expression.every((members) => members.some((member) => this.isA(type, member)))
  }

  /**
   * Several statements of a range or a domain ask for all that they name at once. Where no class can be all of it, the property
   * could never be used: then they can only be meant as alternatives.
   */
  private meetable(expression: ClassExpression): ClassExpression {
    const [first, ...others] = expression
    if (first === undefined || others.length === 0 || expression.flat().some((iri) => this.isDatatype(iri))) return expression
    const possible = first.flatMap((iri) => [iri, ...this.descendants(iri)]).some((iri) => this.meets(iri, others))
    return possible ? expression : [[...new Set(expression.flat())]]
  }

  /** Worked out when it is first asked for: of a long chain of properties each inherits from all above it. */
  private demanded(property: string, side: Side): ClassExpression {
    const known = this.demands[side].get(property)
    if (known !== undefined) return known
    const described = this.properties.get(property)
    const expression = described === undefined ? [] : this.inherited(described, side)
    this.demands[side].set(property, expression)
    return expression
  }

  private inherited(property: OntologyProperty, side: Side): ClassExpression {
    const above = [...this.propertyAncestors(property.iri)].flatMap((iri) => this.properties.get(iri)?.[side] ?? [])
    const seen = new Set<string>()
    return [...this.ownDemand(property, side), ...above].filter((members) => {
      const key = members.join(" ")
      return seen.has(key) ? false : seen.add(key)
    })
  }

  private ownDemand(property: OntologyProperty, side: Side): ClassExpression {
    const known = this.ownDemands[side].get(property.iri)
    if (known !== undefined) return known
    const other = side === "domain" ? "range" : "domain"
    const own = this.meetable(property[side])
    // The requirements of the inverse on its objects apply to the subjects here.
    const inverse = own.length > 0 ? [] : property.inverses.flatMap((iri) => this.properties.get(iri)?.[other] ?? [])
    const expression = [...own, ...inverse]
    this.ownDemands[side].set(property.iri, expression)
    return expression
  }

  /** The properties of which an entity of the type may be the subject (`domain`) or the object (`range`). */
  private propertiesMetBy(type: string, side: Side): ReadonlyArray<OntologyProperty> {
    const unmet = this.ontology.properties.filter((property) => !this.meets(type, property[side])).map(({ iri }) => iri)
    const refused = this.propertyHierarchy.belowAny(unmet)
    return this.ontology.properties.filter((property) => !refused.has(property.iri) && this.meets(type, this.ownDemand(property, side)))
  }
}

/** An end of a property: its subjects, or its objects. */
type Side = "domain" | "range"

/**
 * An ontology as bytes, in parts. Between processes bytes are copied, while an object is taken apart and put together again, which
 * takes half a second of 100,000 classes.
 */
export type PackedOntology = ReadonlyArray<Uint8Array>

/** How many terms a part has. */
const partSize = 5000

const packOntology = (ontology: Ontology): PackedOntology => {
  const { classes, properties } = ontology
  const parts: Array<Ontology> = [{ ...ontology, classes: [], properties: [] }]
  for (let at = 0; at < Math.max(classes.length, properties.length); at += partSize)
    parts.push({ ...empty, classes: classes.slice(at, at + partSize), properties: properties.slice(at, at + partSize) })
  return parts.map((part) => serialize(part))
}

const empty: Ontology = { hash: "", namespace: "", classes: [], properties: [], datatypes: [], notes: [] }

/** The bytes were packed by the same program. */
const unpackedPart = (bytes: Uint8Array): Ontology => deserialize(bytes) as Ontology

const joined = ([head = empty, ...parts]: ReadonlyArray<Ontology>): Ontology => ({
  ...head,
  classes: parts.flatMap(({ classes }) => classes),
  properties: parts.flatMap(({ properties }) => properties),
})

/** The terms of each label, by its key. */
const labelsOf = (ontology: Ontology): ReadonlyMap<string, Labelled> => {
  const labelled = new Map<string, { classes: Array<string>; properties: Array<string> }>()
  const add = (term: OntologyClass | OntologyProperty, kind: "classes" | "properties") => {
    for (const key of new Set([...term.labels, ...term.alternativeLabels].map((label) => labelKey(label.text)))) {
      const found = labelled.get(key) ?? { classes: [], properties: [] }
      found[kind].push(term.iri)
      labelled.set(key, found)
    }
  }
  for (const one of ontology.classes) add(one, "classes")
  for (const one of ontology.properties) add(one, "properties")
  return labelled
}

const contentStems = (name: string): ReadonlyArray<string> =>
  labelKey(name)
    .split(" ")
    .filter((word) => word !== "" && !isFunctionWord(word))
    .map(stem)

const acceptsEveryLiteral = (iri: string): boolean => iri === rdfs.literal

/** Equivalents lie above each other. */
const parentsOf = (
  terms: ReadonlyArray<{ readonly iri: string; readonly parents: ReadonlyArray<string>; readonly equivalents: ReadonlyArray<string> }>,
): ReadonlyMap<string, ReadonlyArray<string>> => {
  const parents = new Map(terms.map((term) => [term.iri, [...term.parents, ...term.equivalents]]))
  for (const term of terms) for (const other of term.equivalents) parents.get(other)?.push(term.iri)
  return parents
}

// Relevance: the terms of an ontology that a text could speak of. A small ontology is kept whole. Of a large one, the terms that words of
// the text name come first, then those that they may mean, then the most general ones.

export interface RelevanceOptions {
  /** How many classes, and how many properties, at most; what these need besides is added. */
  readonly most?: number
}

/** Providers limit how many names an answer's schema may hold, and a model overlooks what stands in too long a list. */
const defaultMost = 80

interface RelevantTerms {
  readonly classes: ReadonlySet<string>
  readonly properties: ReadonlySet<string>
}

const relevantTerms = (index: OntologyIndex, text: string, { most = defaultMost }: RelevanceOptions = {}): RelevantTerms => {
  const said = stemsOf(text)
  const properties = best(
    [...index.properties.keys()],
    (iri) => named(index, iri, said) + 0.3 * shownByValues(index, iri, text),
    (iri) => index.generality(iri),
    most,
  )
  // A property is of no use without the classes it holds between.
  const needed = properties.flatMap((iri) => [...index.domainOf(iri).flat(), ...index.rangeOf(iri).flat()])
  const classes = best(
    [...index.classes.keys()],
    (iri) => named(index, iri, said),
    (iri) => index.generality(iri),
    most,
  )
  return {
    classes: withAncestors(
      [...classes, ...needed].filter((iri) => index.classes.has(iri)),
      (iri) => index.ancestors(iri),
    ),
    properties: withAncestors(properties, (iri) => index.propertyAncestors(iri)),
  }
}

const stemsOf = (text: string): ReadonlySet<string> =>
  new Set(
    tokenize(text)
      .filter((token) => token.kind === "word")
      .flatMap((token) => fold(token.text).split("-"))
      .filter((word) => !isFunctionWord(word))
      .map(stem),
  )

/** How much of the best of a term's names stands in the text; a word of like meaning is half the word. */
const named = (index: OntologyIndex, iri: string, said: ReadonlySet<string>): number =>
  index.nameStems(iri).reduce((highest, stems) => {
    const found = stems.reduce(
      (sum, one) => sum + (said.has(one) ? 1 : [...relatedStems(one)].some((other) => said.has(other)) ? 0.5 : 0),
      0,
    )
    return Math.max(highest, stems.length === 0 ? 0 : found / stems.length)
  }, 0)

/** Whether the text has values of the kind the property takes. */
const shownByValues = (index: OntologyIndex, iri: string, text: string): number => {
  const datatypes = index.datatypesOf(iri)
  if (datatypes.length === 0 || !/\d/.test(text)) return 0
  const dated = datatypes.some((datatype) => datatype === xsd.date || datatype === xsd.dateTime || datatype === xsd.gYear)
  return dated && !/\b1\d{3}\b|\b20\d\d\b/.test(text) ? 0 : 1
}

const best = (
  iris: ReadonlyArray<string>,
  score: (iri: string) => number,
  generality: (iri: string) => number,
  most: number,
): ReadonlyArray<string> => {
  if (iris.length <= most) return iris
  const scores = new Map(iris.map((iri) => [iri, score(iri)]))
  return iris
    .toSorted((a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0) || generality(b) - generality(a) || (a < b ? -1 : 1))
    .slice(0, most)
}

const withAncestors = (iris: ReadonlyArray<string>, ancestors: (iri: string) => ReadonlySet<string>): ReadonlySet<string> =>
  new Set(iris.flatMap((iri) => [iri, ...ancestors(iri)]))
