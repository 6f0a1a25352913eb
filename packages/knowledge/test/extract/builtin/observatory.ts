/** An invented field of knowledge to read about: observatories, telescopes and comets. */
import type { Example } from "../../../src/extract/builtin/Example.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"

export const sky = (name: string): string => `https://example.org/sky#${name}`

export const ontology = loadOntology({
  name: "sky.ttl",
  text: `@prefix : <https://example.org/sky#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :Person a owl:Class ; rdfs:label "person" . :Astronomer a owl:Class ; rdfs:subClassOf :Person ; rdfs:label "astronomer" .
    :Place a owl:Class ; rdfs:label "place" . :City a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "city" .
    :Country a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "country" .
    :Body a owl:Class ; rdfs:label "celestial body" . :Comet a owl:Class ; rdfs:subClassOf :Body ; rdfs:label "comet" ; owl:disjointWith :Person, :Organization .
    :Organization a owl:Class ; rdfs:label "organization" .
    :Observatory a owl:Class ; rdfs:subClassOf :Organization ; rdfs:label "observatory" .
    :Telescope a owl:Class ; rdfs:label "telescope" ; skos:altLabel "reflector" .
    :discoveredBy a owl:ObjectProperty ; rdfs:label "discovered by" ; skos:altLabel "discoverer" ; rdfs:domain :Body ; rdfs:range :Person .
    :discoveryDate a owl:DatatypeProperty, owl:FunctionalProperty ; rdfs:label "discovery date" ; rdfs:domain :Body ; rdfs:range xsd:date .
    :locatedIn a owl:ObjectProperty ; rdfs:label "located in" ; skos:altLabel "stands in" ; rdfs:domain :Observatory ; rdfs:range :Place .
    :director a owl:ObjectProperty ; rdfs:label "director" ; skos:altLabel "directed by" ; rdfs:domain :Observatory ; rdfs:range :Person .
    :foundingYear a owl:DatatypeProperty ; rdfs:label "founding year" ; skos:altLabel "founded in" ; rdfs:domain :Organization ; rdfs:range xsd:gYear .
    :builtBy a owl:ObjectProperty ; rdfs:label "built by" ; rdfs:domain :Telescope ; rdfs:range :Organization .
    :mirror a owl:DatatypeProperty ; rdfs:label "mirror diameter" ; rdfs:domain :Telescope ; rdfs:range xsd:decimal .
    :birthPlace a owl:ObjectProperty ; rdfs:label "born in" ; skos:altLabel "birthplace" ; rdfs:domain :Person ; rdfs:range :Place .`,
})

const example = (sent: string, ...triples: ReadonlyArray<readonly [string, string, string]>): Example => ({
  sent,
  triples: triples.map(([sub, rel, obj]) => ({ sub, rel, obj })),
})

export const examples: ReadonlyArray<Example> = [
  example(
    "Comet Varda was discovered by Ilse Kramm on 3 March 1911.",
    ["Comet Varda", "discovered by", "Ilse Kramm"],
    ["Comet Varda", "discovery date", "1911-03-03"],
  ),
  example("Comet Oro was discovered by Pavel Orlik in Brno.", ["Comet Oro", "discovered by", "Pavel Orlik"]),
  example(
    "The comet Lume, discovered by Anna Feld on 19 May 1954, returns every nine years.",
    ["Lume", "discovered by", "Anna Feld"],
    ["Lume", "discovery date", "1954-05-19"],
  ),
  example(
    "Mount Ketter Observatory is located in Halden and is directed by Ruth Amsel.",
    ["Mount Ketter Observatory", "located in", "Halden"],
    ["Mount Ketter Observatory", "director", "Ruth Amsel"],
  ),
  example("Tessel Observatory stands in Norway.", ["Tessel Observatory", "located in", "Norway"]),
  example("Tessel Observatory was founded in 1890.", ["Tessel Observatory", "founding year", "1890"]),
  example("The director of Lomond Observatory is Peter Gray.", ["Lomond Observatory", "director", "Peter Gray"]),
  example("Ruth Amsel was born in Halden.", ["Ruth Amsel", "born in", "Halden"]),
  example("Pavel Orlik (born in Brno) is an astronomer.", ["Pavel Orlik", "born in", "Brno"]),
  example(
    "The Kestrel Telescope was built by Zenith Optics and has a mirror diameter of 2.5 metres.",
    ["Kestrel Telescope", "built by", "Zenith Optics"],
    ["Kestrel Telescope", "mirror diameter", "2.5"],
  ),
  example("The Aurora Reflector was built by Holm Works.", ["Aurora Reflector", "built by", "Holm Works"]),
  example("Nobody could see anything that night."),
]
