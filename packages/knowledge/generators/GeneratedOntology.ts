/** The ontology that generated documents keep to, and examples of how they say things. */
import { Chance } from "./Chance.ts"
import { documentAt } from "./GeneratedCorpus.ts"
import { propertyLabels, writeText } from "./Writing.ts"

const base = "https://example.org/generated#"

export const generatedOntology = `@prefix : <${base}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Person a owl:Class ; rdfs:label "person" .
:Company a owl:Class ; rdfs:label "company" .
:City a owl:Class ; rdfs:label "city" .
:Product a owl:Class ; rdfs:label "product" .
:foundedIn a owl:DatatypeProperty ; rdfs:label "founded in" ; rdfs:domain :Company ; rdfs:range xsd:gYear .
:founderOf a owl:ObjectProperty ; rdfs:label "founder of" ; rdfs:domain :Person ; rdfs:range :Company .
:headquarteredIn a owl:ObjectProperty ; rdfs:label "headquartered in" ; rdfs:domain :Company ; rdfs:range :City .
:makes a owl:ObjectProperty ; rdfs:label "makes" ; rdfs:domain :Company ; rdfs:range :Product .
:worksFor a owl:ObjectProperty ; rdfs:label "works for" ; rdfs:domain :Person ; rdfs:range :Company .
:bornOn a owl:DatatypeProperty ; rdfs:label "born on" ; rdfs:domain :Person ; rdfs:range xsd:date .
`

/** One example a line, about another world than that of the documents. */
export const generatedExamples = (count: number): string => {
  const options = { documents: count, seed: 999_983 }
  const lines = Array.from({ length: count }, (_, index) => {
    const facts = documentAt(options, index).facts.map(({ subject, property, object }) => ({
      subject: subject.name,
      property,
      object: typeof object === "string" ? object : object.name,
    }))
    return JSON.stringify({
      sent: writeText([facts], new Chance(options.seed, "example", index)).trim(),
      triples: facts.map(({ subject, property, object }) => ({ sub: subject, rel: propertyLabels[property], obj: object })),
    })
  })
  return `${lines.join("\n")}\n`
}
