/**
 * The indexed ontology: answers the lookups of extractors, prompts and validators, and caches what it derives. It converts to plain
 * JSON and back, so that a worker thread can have one too.
 */

import { deserialize, serialize } from "node:v8"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { isStandardDatatype, rdfs, xsd } from "../rdf/Vocabulary.ts"
import { stem } from "../text/Stem.ts"
import { relatedStems } from "../text/VerbLexicon.ts"
import { fold, isFunctionWord, labelKey, tokenize } from "../text/Words.ts"
import { Hierarchy } from "./Hierarchy.ts"
import { type ClassExpression, Ontology, type OntologyClass, type OntologyProperty, type Restriction } from "./Ontology.ts"

/** The terms that have a label. */
export interface Labelled {
  readonly classes: ReadonlyArray<string>
  readonly properties: ReadonlyArray<string>
}

export class OntologyIndex {
  readonly ontology: Ontology
  readonly classes: ReadonlyMap<string, OntologyClass>
  readonly properties: ReadonlyMap<string, OntologyProperty>
  // Computed on first use: for an ontology of 100,000 classes they take a second.
  private classesAbove: Hierarchy | undefined
  private propertiesAbove: Hierarchy | undefined
  private labelled: ReadonlyMap<string, Labelled> | undefined
  private single: ReadonlySet<string> | undefined
  private bytes: PackedOntology | undefined
  private readonly demands = { domain: new Map<string, ClassExpression>(), range: new Map<string, ClassExpression>() }
  /** Without the requirements inherited from superproperties. */
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

  /** Serialises the ontology for another process. */
  pack(): PackedOntology {
    this.bytes ??= packOntology(this.ontology)
    return this.bytes
  }

  static unpack(packed: PackedOntology): OntologyIndex {
    return new OntologyIndex(joined(packed.map(unpackedPart)), packed)
  }

  /** Like `unpack`, but yields to other fibers between parts. */
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

  /** The superclasses, including equivalent classes, without the class itself. */
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

  /** Number of terms below a class or a property: see `Hierarchy.generality`. */
  generality(iri: string): number {
    return (this.classes.has(iri) ? this.classHierarchy : this.propertyHierarchy).generality(iri)
  }

  /** Whether the classes, or two of their superclasses, are declared disjoint. */
  areDisjoint(one: string, other: string): boolean {
    const others = new Set([other, ...this.ancestors(other)])
    return [one, ...this.ancestors(one)].some((iri) => this.classes.get(iri)?.disjoint.some((apart) => others.has(apart)) ?? false)
  }

  /** The required classes of the subject, including those inherited from superproperties. Empty: any subject. */
  domainOf(property: string): ClassExpression {
    return this.demanded(property, "domain")
  }

  /** The required classes or datatypes of the object, including inherited ones. Empty: any object. */
  rangeOf(property: string): ClassExpression {
    return this.demanded(property, "range")
  }

  isDatatype(iri: string): boolean {
    return isStandardDatatype(iri) || this.datatypes.has(iri)
  }

  /** The datatypes of the property's values; empty if the values are entities or the ontology declares no datatype. */
  datatypesOf(property: string): ReadonlyArray<string> {
    return this.rangeOf(property)
      .flat()
      .filter((iri) => this.isDatatype(iri))
  }

  /**
   * Whether an entity has one value of the property: a functional one, one of which a class allows one value at most, or a date of birth or
   * death, which few ontologies declare.
   */
  hasOneValue(property: string): boolean {
    this.single ??= singleValued(this)
    return this.single.has(property)
  }

  /** The properties of which an entity has one value. */
  get singleValued(): ReadonlySet<string> {
    this.single ??= singleValued(this)
    return this.single
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
   * Whether a literal of the datatype may be the object. An object property without a range accepts literals too: many ontologies
   * declare properties that way and then use them for dates and numbers.
   */
  acceptsValue(property: string, datatype: string): boolean {
    const kind = this.properties.get(property)?.kind
    if (kind === undefined || (kind === "object" && this.rangeOf(property).length > 0)) return false
    return this.rangeOf(property).every((members) => members.includes(datatype) || members.some(acceptsEveryLiteral))
  }

  /** The properties of which an entity of the type may be the subject. One pass over all properties, however deep their hierarchy. */
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

  /** The class's own restrictions, then those of its superclasses. */
  restrictionsOf(iri: string): ReadonlyArray<Restriction> {
    return [iri, ...this.ancestors(iri)].flatMap((one) => this.classes.get(one)?.restrictions ?? [])
  }

  /** The label to show: one in the language, else one without a language, else one in English, else the first. */
  label(iri: string, language = "en"): string {
    const labels = (this.classes.get(iri) ?? this.properties.get(iri))?.labels ?? []
    const inLanguage = labels.find((label) => label.language === language || label.language.startsWith(`${language}-`))
    const found = inLanguage ?? labels.find((label) => label.language === "") ?? labels.find((label) => label.language.startsWith("en"))
    return (found ?? labels[0])?.text ?? iri
  }

  /** All labels of the term, preferred and alternative, in all languages. */
  names(iri: string): ReadonlyArray<string> {
    const term = this.classes.get(iri) ?? this.properties.get(iri)
    return term === undefined ? [] : [...new Set([...term.labels, ...term.alternativeLabels].map((label) => label.text))]
  }

  /** The stems of the content words of each of a term's names. Cached, since each chunk of a text needs them again. */
  nameStems(iri: string): ReadonlyArray<ReadonlyArray<string>> {
    const kept = this.stems.get(iri)
    if (kept !== undefined) return kept
    const stems = this.names(iri).map(contentStems)
    this.stems.set(iri, stems)
    return stems
  }

  /** The terms that have this label; case, hyphens and spacing are ignored. */
  withLabel(text: string): Labelled {
    this.labelled ??= labelsOf(this.ontology)
    return this.labelled.get(labelKey(text)) ?? { classes: [], properties: [] }
  }

  /** The terms of the ontology that a text may refer to, with their ancestors; the whole ontology if it is small. */
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
   * Several ranges or domains of one property form an intersection. If no class satisfies it, the property could never be used, so
   * the author must have meant a union.
   */
  private meetable(expression: ClassExpression): ClassExpression {
    const [first, ...others] = expression
    if (first === undefined || others.length === 0 || expression.flat().some((iri) => this.isDatatype(iri))) return expression
    const possible = first.flatMap((iri) => [iri, ...this.descendants(iri)]).some((iri) => this.meets(iri, others))
    return possible ? expression : [[...new Set(expression.flat())]]
  }

  /** Computed on first use: in a long chain of properties each inherits from all above it. */
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

/** A side of a property: its subjects, or its objects. */
type Side = "domain" | "range"

/**
 * An ontology serialised to bytes, in parts. Passing bytes to another process is a plain copy, while cloning the object takes half a
 * second for 100,000 classes.
 */
export type PackedOntology = ReadonlyArray<Uint8Array>

/** Maximum number of classes, and of properties, per part. */
const partSize = 5000

const packOntology = (ontology: Ontology): PackedOntology => {
  const { classes, properties } = ontology
  const parts: Array<Ontology> = [{ ...ontology, classes: [], properties: [] }]
  for (let at = 0; at < Math.max(classes.length, properties.length); at += partSize)
    parts.push({ ...empty, classes: classes.slice(at, at + partSize), properties: properties.slice(at, at + partSize) })
  return parts.map((part) => serialize(part))
}

const empty: Ontology = { hash: "", namespace: "", classes: [], properties: [], datatypes: [], notes: [] }

/** The cast is safe: `packOntology` wrote the bytes. */
const unpackedPart = (bytes: Uint8Array): Ontology => deserialize(bytes) as Ontology

const joined = ([head = empty, ...parts]: ReadonlyArray<Ontology>): Ontology => ({
  ...head,
  classes: parts.flatMap(({ classes }) => classes),
  properties: parts.flatMap(({ properties }) => properties),
})

/** The terms that have each label, by label key. */
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

const dates = new Set<string>([xsd.date, xsd.dateTime, xsd.gYear, xsd.gYearMonth])

const singleValued = (index: OntologyIndex): ReadonlySet<string> => {
  const { properties, classes } = index.ontology
  const limited = classes.flatMap(({ restrictions }) =>
    restrictions.filter(({ kind, count }) => (kind === "max" || kind === "exactly") && count === 1).map(({ property }) => property),
  )
  const declared = properties.filter(({ traits }) => traits.includes("functional")).map(({ iri }) => iri)
  const dated = properties.filter(
    ({ iri, kind, range }) =>
      kind !== "object" &&
      index
        .names(iri)
        .some(
          (name) =>
            /\b(?:birth|born|death|died)\b/i.test(name) && (/\b(?:date|year)\b/i.test(name) || range.flat().some((one) => dates.has(one))),
        ),
  )
  return new Set([...declared, ...limited, ...dated.map(({ iri }) => iri)])
}

const contentStems = (name: string): ReadonlyArray<string> =>
  labelKey(name)
    .split(" ")
    .filter((word) => word !== "" && !isFunctionWord(word))
    .map(stem)

const acceptsEveryLiteral = (iri: string): boolean => iri === rdfs.literal

/** Equivalent terms count as parents of each other. */
const parentsOf = (
  terms: ReadonlyArray<{ readonly iri: string; readonly parents: ReadonlyArray<string>; readonly equivalents: ReadonlyArray<string> }>,
): ReadonlyMap<string, ReadonlyArray<string>> => {
  const parents = new Map(terms.map((term) => [term.iri, [...term.parents, ...term.equivalents]]))
  for (const term of terms) for (const other of term.equivalents) parents.get(other)?.push(term.iri)
  return parents
}

// Relevance: the terms of an ontology that a text may refer to. A small ontology is kept whole. In a large one, terms whose names occur in
// the text rank first, then terms with related words, then the most general ones.

export interface RelevanceOptions {
  /** Maximum number of classes, and of properties; their ancestors, domains and ranges are added. */
  readonly most?: number
}

/** Providers limit the number of names in a response schema, and a model overlooks entries of a long list. */
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
  // A property is of no use without the classes of its domain and range.
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

/** The share of words of a term's best matching name that occur in the text; a related word counts half. */
const named = (index: OntologyIndex, iri: string, said: ReadonlySet<string>): number =>
  index.nameStems(iri).reduce((highest, stems) => {
    const found = stems.reduce(
      (sum, one) => sum + (said.has(one) ? 1 : [...relatedStems(one)].some((other) => said.has(other)) ? 0.5 : 0),
      0,
    )
    return Math.max(highest, stems.length === 0 ? 0 : found / stems.length)
  }, 0)

/** 1 if the text may contain values of the property's datatypes, else 0. */
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
