/** Companies, films, restaurants and persons, with labels in four languages and without examples: the labels alone have to do. */
import * as Effect from "effect/Effect"
import * as BuiltIn from "../../src/extract/builtin/BuiltIn.ts"
import { loadOntology } from "../../src/ontology/OntologyLoading.ts"

const ontology = loadOntology({
  name: "companies.ttl",
  text: `@prefix : <https://example.org/companies#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :Person a owl:Class ; rdfs:label "person"@en, "Person"@de, "personne"@fr, "persona"@es .
    :Company a owl:Class ; rdfs:label "company"@en, "Unternehmen"@de, "entreprise"@fr, "empresa"@es .
    :City a owl:Class ; rdfs:label "city"@en, "Stadt"@de, "ville"@fr, "ciudad"@es .
    :Film a owl:Class ; rdfs:label "film"@en, "Film"@de, "film"@fr, "película"@es .
    :Restaurant a owl:Class ; rdfs:label "restaurant"@en, "Restaurant"@de, "restaurant"@fr, "restaurante"@es .
    :founder a owl:ObjectProperty ; rdfs:domain :Company ; rdfs:range :Person ; rdfs:label "founder"@en, "Gründer"@de, "fondateur"@fr, "fundador"@es .
    :location a owl:ObjectProperty ; rdfs:range :City ; rdfs:label "location"@en, "Standort"@de, "emplacement"@fr, "ubicación"@es .
    :employer a owl:ObjectProperty ; rdfs:domain :Person ; rdfs:range :Company ; rdfs:label "employer"@en, "Arbeitgeber"@de, "employeur"@fr, "empleador"@es .
    :birthDate a owl:DatatypeProperty ; rdfs:domain :Person ; rdfs:range xsd:date ; rdfs:label "birth date"@en, "Geburtsdatum"@de, "date de naissance"@fr, "fecha de nacimiento"@es .
    :birthPlace a owl:ObjectProperty ; rdfs:domain :Person ; rdfs:range :City ; rdfs:label "birth place"@en, "Geburtsort"@de, "lieu de naissance"@fr, "lugar de nacimiento"@es .
    :director a owl:ObjectProperty ; rdfs:domain :Film ; rdfs:range :Person ; rdfs:label "director"@en, "Regisseur"@de, "réalisateur"@fr, "director"@es .
    :owner a owl:ObjectProperty ; rdfs:domain :Company ; rdfs:range :Person ; rdfs:label "owner"@en, "Eigentümer"@de, "propriétaire"@fr, "propietario"@es .
    :spouse a owl:ObjectProperty ; rdfs:domain :Person ; rdfs:range :Person ; rdfs:label "spouse"@en, "Ehepartner"@de, "conjoint"@fr, "cónyuge"@es .
    :residence a owl:ObjectProperty ; rdfs:domain :Person ; rdfs:range :City ; rdfs:label "residence"@en, "Wohnort"@de, "résidence"@fr, "residencia"@es .`,
})

/** Facts from this confidence on count as asserted. */
const asserted = 0.5

const read = Effect.fnUntraced(function* (text: string, language?: string) {
  const index = yield* ontology
  const chunk = { index: 0, text, offset: 0, ...(language === undefined ? {} : { language }) }
  const extractor = BuiltIn.make()
  const { mentions } = yield* extractor.entities(chunk, index)
  const { facts } = yield* extractor.facts(chunk, mentions, index)
  return { mentions, facts: facts.filter(({ confidence }) => confidence >= asserted), index }
})

/** The facts that a text asserts, in alphabetical order. */
export const assertedIn = Effect.fnUntraced(function* (text: string, language?: string) {
  const { facts, index } = yield* read(text, language)
  return facts
    .map(
      ({ subject, property, object }) =>
        `${subject.text} | ${index.label(property)} | ${object._tag === "Entity" ? object.mention.text : object.lexical}`,
    )
    .sort()
})

/** The names of all entities that a text gives, at any confidence. */
export const entitiesIn = Effect.fnUntraced(function* (text: string, language?: string) {
  const { mentions } = yield* read(text, language)
  return [...new Set(mentions.map((mention) => mention.text))].sort()
})
