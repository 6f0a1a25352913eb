/** Why an ontology could not be read. */
import * as Schema from "effect/Schema"

/** The ways of writing RDF that ontologies come in. */
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

/** The source is well-formed but says nothing an extractor could look for. */
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
