/**
 * An ontology as data: its classes and properties as the source declares them, without inferences. It is plain JSON, so that it
 * can be stored with a batch and sent to a worker thread.
 */
import * as Schema from "effect/Schema"

export const Label = Schema.Struct({
  text: Schema.String,
  /** A language tag such as `en` or `pt-BR`, empty when none is given. */
  language: Schema.String,
})
export type Label = typeof Label.Type

/** An intersection of unions: `[["Person", "Company"]]` is a person or a company. */
export const ClassExpression = Schema.Array(Schema.Array(Schema.String))
export type ClassExpression = typeof ClassExpression.Type

/** The restriction of a class on the values of one of its properties. */
export const Restriction = Schema.Struct({
  property: Schema.String,
  kind: Schema.Literals(["some", "all", "value", "min", "max", "exactly"]),
  /** The class or datatype of the values; a union where there are several. */
  fillers: Schema.Array(Schema.String),
  /** For `min`, `max` and `exactly`. */
  count: Schema.optionalKey(Schema.Int),
  /** For `value`: the IRI or the literal. */
  value: Schema.optionalKey(Schema.String),
})
export type Restriction = typeof Restriction.Type

const described = {
  iri: Schema.String,
  /** The preferred labels, at least one: without a label in the source, the words of the IRI's last part. */
  labels: Schema.Array(Label),
  alternativeLabels: Schema.Array(Label),
  comments: Schema.Array(Label),
  deprecated: Schema.Boolean,
}

export const OntologyClass = Schema.Struct({
  ...described,
  /** False for a class that the source references but does not declare. */
  declared: Schema.Boolean,
  parents: Schema.Array(Schema.String),
  equivalents: Schema.Array(Schema.String),
  disjoint: Schema.Array(Schema.String),
  restrictions: Schema.Array(Restriction),
})
export type OntologyClass = typeof OntologyClass.Type

export const PropertyTrait = Schema.Literals(["functional", "inverseFunctional", "symmetric", "asymmetric", "transitive", "irreflexive"])
export type PropertyTrait = typeof PropertyTrait.Type

export const OntologyProperty = Schema.Struct({
  ...described,
  /** `any` when the source leaves open whether values are entities or literals. */
  kind: Schema.Literals(["object", "datatype", "any"]),
  parents: Schema.Array(Schema.String),
  equivalents: Schema.Array(Schema.String),
  inverses: Schema.Array(Schema.String),
  traits: Schema.Array(PropertyTrait),
  /** Empty when anything may be the subject. */
  domain: ClassExpression,
  /** Classes or datatypes; empty when anything may be the object. */
  range: ClassExpression,
})
export type OntologyProperty = typeof OntologyProperty.Type

/** A part of the source that the reader interpreted in one of several ways, or ignored. */
export const OntologyNote = Schema.Struct({
  kind: Schema.Literals(["cycle", "import", "undeclared", "unsupported"]),
  subject: Schema.String,
  detail: Schema.String,
})
export type OntologyNote = typeof OntologyNote.Type

export const Ontology = Schema.Struct({
  /** SHA-256 of the source, in hex. */
  hash: Schema.String,
  /** The prefix of most terms. */
  namespace: Schema.String,
  versionIri: Schema.optionalKey(Schema.String),
  title: Schema.optionalKey(Schema.String),
  classes: Schema.Array(OntologyClass),
  properties: Schema.Array(OntologyProperty),
  /** Datatypes that the ontology declares. */
  datatypes: Schema.Array(Schema.String),
  notes: Schema.Array(OntologyNote),
})
export type Ontology = typeof Ontology.Type

// Why an ontology could not be read.

/** The RDF syntaxes of ontologies. */
export const OntologyFormat = Schema.Literals(["turtle", "ntriples", "rdfxml", "jsonld"])
export type OntologyFormat = typeof OntologyFormat.Type

/** The source does not follow its format. */
export class OntologySyntaxError extends Schema.TaggedError<OntologySyntaxError>()("OntologySyntaxError", {
  source: Schema.String,
  format: OntologyFormat,
  /** Counted from 1, absent when the parser could not tell. */
  line: Schema.optionalKey(Schema.Number),
  problem: Schema.String,
}) {
  override get message() {
    const where = this.line === undefined ? this.source : `${this.source}, line ${this.line}`
    return `${where}: no valid ${names[this.format]}: ${this.problem}; correct the file, or name its format if it is another one`
  }
}

/** The source is well-formed but declares no class or property for an extractor to look for. */
export class OntologyEmpty extends Schema.TaggedError<OntologyEmpty>()("OntologyEmpty", {
  source: Schema.String,
  statements: Schema.Number,
}) {
  override get message() {
    const found = this.statements === 0 ? "no statements" : `${this.statements} statements`
    return `${this.source}: ${found}, but no class and no property; declare some with owl:Class, rdfs:Class, owl:ObjectProperty or rdf:Property`
  }
}

/** Loading the source exceeded a limit. */
export class OntologyLimitExceeded extends Schema.TaggedError<OntologyLimitExceeded>()("OntologyLimitExceeded", {
  source: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.source}: loading it was stopped, since ${this.problem}; leave out what is not needed, or raise contentLimits.ontology`
  }
}

export const OntologyError = Schema.Union([OntologySyntaxError, OntologyEmpty, OntologyLimitExceeded])
export type OntologyError = typeof OntologyError.Type

const names: Readonly<Record<OntologyFormat, string>> = { turtle: "Turtle", ntriples: "N-Triples", rdfxml: "RDF/XML", jsonld: "JSON-LD" }
