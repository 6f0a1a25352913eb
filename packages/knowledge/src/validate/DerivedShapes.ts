/**
 * Shapes made from an ontology, for batches that bring none: what a property's subject and object must be, which properties
 * have at most one value, what a class demands, and which classes exclude each other. As Turtle, so that they can be read,
 * kept with the batch and edited.
 */
import type { Restriction } from "../ontology/Ontology.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { rdfs, vocabularies } from "../rdf/Vocabulary.ts"

const prefixes = `@prefix sh: <${vocabularies.sh}> .\n`

export const derivedShapes = (index: OntologyIndex): string => {
  const ofProperties = index.ontology.properties.flatMap(({ iri, traits }) => [
    ...domainShape(index, iri),
    ...rangeShape(index, iri),
    ...(traits.includes("functional") ? [propertyShape("single", iri, `sh:targetSubjectsOf <${iri}>`, iri, "sh:maxCount 1")] : []),
  ])
  const ofClasses = index.ontology.classes.flatMap(({ iri, restrictions, disjoint }) => [
    ...restrictions.flatMap((restriction, position) => restrictionShape(index, iri, restriction, position)),
    // Stated on either side; written once.
    ...disjoint
      .filter((other) => iri < other || !index.classes.get(other)?.disjoint.includes(iri))
      .map((other) => shape(`apart-from-${slug(other)}`, iri, `sh:targetClass <${iri}>`, `sh:not [ sh:class <${other}> ]`)),
  ])
  return `${prefixes}\n${[...ofProperties, ...ofClasses].join("\n")}`
}

const shape = (kind: string, iri: string, target: string, body: string): string =>
  `<urn:detent:shape:${kind}:${slug(iri)}> a sh:NodeShape ;\n  ${target} ;\n  ${body} .\n`

/** Both shapes have names: reports speak of them, and a label that is made up at each reading would say nothing. */
const propertyShape = (kind: string, iri: string, target: string, property: string, body: string): string => {
  const name = `<urn:detent:shape:${kind}:${slug(iri)}:values>`
  return `${shape(kind, iri, target, `sh:property ${name}`)}${name} a sh:PropertyShape ;\n  sh:path <${property}> ;\n  ${body} .\n`
}

const domainShape = (index: OntologyIndex, property: string): ReadonlyArray<string> =>
  index
    .domainOf(property)
    .map((members, position) => shape(`domain-${position}`, property, `sh:targetSubjectsOf <${property}>`, anyClass(members)))

/** Said of the subject, so that what is found names the fact and not the innocent object. */
const rangeShape = (index: OntologyIndex, property: string): ReadonlyArray<string> =>
  index.rangeOf(property).flatMap((members, position) => {
    if (members.some(takesEveryLiteral)) return []
    const body = any(members.map((iri) => kindOf(index, iri)))
    return [propertyShape(`range-${position}`, property, `sh:targetSubjectsOf <${property}>`, property, body)]
  })

const takesEveryLiteral = (iri: string) => iri === rdfs.literal

const restrictionShape = (index: OntologyIndex, iri: string, restriction: Restriction, position: number): ReadonlyArray<string> => {
  const body = restrictionBody(index, restriction)
  return body === undefined ? [] : [propertyShape(`restriction-${position}`, iri, `sh:targetClass <${iri}>`, restriction.property, body)]
}

/** `value` asks for one certain value, which a shape would have to tell IRI or literal; that is left to given shapes. */
const restrictionBody = (index: OntologyIndex, { kind, fillers, count }: Restriction): string | undefined => {
  switch (kind) {
    case "all":
      return fillers.length === 0 ? undefined : any(fillers.map((filler) => kindOf(index, filler)))
    case "some":
      return "sh:minCount 1"
    case "min":
      return count === undefined ? undefined : `sh:minCount ${count}`
    case "max":
      return count === undefined ? undefined : `sh:maxCount ${count}`
    case "exactly":
      return count === undefined ? undefined : `sh:minCount ${count} ; sh:maxCount ${count}`
    case "value":
      return undefined
  }
}

const kindOf = (index: OntologyIndex, iri: string) => (index.isDatatype(iri) ? `sh:datatype <${iri}>` : `sh:class <${iri}>`)

const anyClass = (members: ReadonlyArray<string>) => any(members.map((iri) => `sh:class <${iri}>`))

const any = (choices: ReadonlyArray<string>): string =>
  choices.length === 1 ? (choices[0] ?? "") : `sh:or ( ${choices.map((one) => `[ ${one} ]`).join(" ")} )`

/** What of an IRI may stand in another one. */
const slug = (iri: string) =>
  encodeURIComponent(iri).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
