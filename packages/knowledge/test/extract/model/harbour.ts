/** A small ontology and a text of it, for tests. */
import * as Effect from "effect/Effect"
import type { Chunk } from "../../../src/document/Chunk.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"

export const namespace = "https://example.org/harbour#"

export const ontology = Effect.orDie(
  loadOntology({
    name: "harbour.ttl",
    text: `
@prefix : <${namespace}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Person a owl:Class ; rdfs:label "person" ; skos:altLabel "individual" .
:Place a owl:Class ; rdfs:label "place" .
:City a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "city" ; rdfs:comment "A town or a city." .
:Ship a owl:Class ; rdfs:label "ship" ; skos:altLabel "vessel" .
:bornIn a owl:ObjectProperty ; rdfs:label "born in" ; rdfs:domain :Person ; rdfs:range :Place .
:homePort a owl:ObjectProperty ; rdfs:label "home port" ; rdfs:domain :Ship ; rdfs:range :City .
:birthDate a owl:DatatypeProperty ; rdfs:label "birth date" ; rdfs:domain :Person ; rdfs:range xsd:date .
:tonnage a owl:DatatypeProperty ; rdfs:label "tonnage" ; rdfs:domain :Ship ; rdfs:range xsd:integer .
:nickname a owl:DatatypeProperty ; rdfs:label "nickname" ; rdfs:domain :Person ; rdfs:range xsd:string .`,
  }),
)

export const text = `Ada Sol, called "the Gull", was born in Port\n   Verran on 2 May 1984. Her ship, the Halcyon, of 1,250 tons, sails from Port Verran. Canada is far away.`

/** As if another chunk came before it. */
export const chunk: Chunk = { index: 1, text, offset: 1000 }

export const entities = [
  { quote: "Ada Sol", class: "Person", confidence: 0.95 },
  { quote: "Port Verran", class: "City", confidence: 0.9 },
  { quote: "Halcyon", class: "Ship", confidence: 0.9 },
]

const fact = { object: null, value: null, normalized: null, confidence: 0.9 }

export const facts = [
  { ...fact, subject: 1, property: "bornIn", object: 2, quote: 'Ada Sol, called "the Gull", was born in Port Verran' },
  { ...fact, subject: 1, property: "birthDate", value: "2 May 1984", normalized: "1984-05-02", quote: "born in Port Verran on 2 May 1984" },
  { ...fact, subject: 3, property: "tonnage", value: "1,250", normalized: "1250", quote: "the Halcyon, of 1,250 tons" },
]
