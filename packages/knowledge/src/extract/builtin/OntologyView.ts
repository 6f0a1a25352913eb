/** An ontology as the extractor works with it: its properties with their words, prepared once and used for every sentence. */
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { owl } from "../../rdf/Vocabulary.ts"
import type { Candidate } from "./Candidates.ts"
import { type PropertyView, viewProperty } from "./PropertyView.ts"
import { TriggerIndex } from "./Triggers.ts"
import { type WorldNames, worldNames } from "./WorldNames.ts"

export interface OntologyView {
  readonly ontology: OntologyIndex
  readonly properties: ReadonlyArray<PropertyView>
  readonly triggers: TriggerIndex
  readonly world: WorldNames
}

export const viewOntology = (ontology: OntologyIndex): OntologyView => {
  const properties = ontology.ontology.properties
    .filter((property) => !property.deprecated && isUsable(ontology, property.iri))
    .map((property) => viewProperty(ontology, property))
  return { ontology, properties, triggers: new TriggerIndex(properties), world: worldNames() }
}

/** A property whose domain or range nothing can meet would only give facts that break the ontology. */
const isUsable = (ontology: OntologyIndex, property: string): boolean => {
  const range = ontology.rangeOf(property)
  const literal = range.flat().some((iri) => ontology.isDatatype(iri))
  return classesMeeting(ontology, ontology.domainOf(property)).length > 0 && (literal || classesMeeting(ontology, range).length > 0)
}

/** The most general classes that meet an expression; `owl:Thing` when it asks for nothing. */
export const classesMeeting = (ontology: OntologyIndex, expression: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const [members, ...others] = expression
  if (members === undefined) return [owl.thing]
  const meets = (iri: string) => others.every((group) => group.some((member) => ontology.isA(iri, member)))
  const direct = members.filter((iri) => !ontology.isDatatype(iri) && meets(iri))
  if (direct.length > 0) return direct
  return members.flatMap((iri) => [...ontology.descendants(iri)].filter(meets)).slice(0, 1)
}

/** Whether a candidate can be the object of a property at all. */
export const fits = (candidate: Candidate, property: PropertyView): boolean => {
  if (candidate.kind === "date") return property.takesValues && (property.expects.date || !property.expects.number)
  if (candidate.kind === "number") return property.takesValues && (property.expects.number || !property.expects.date)
  if (!property.takesEntities) return !property.expects.date && !property.expects.number
  return true
}
