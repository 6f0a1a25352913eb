/** Graphs and shapes for property tests: every constraint of SHACL Core, on few names, so that they meet. */
import * as Schema from "effect/Schema"

export const base = "https://example.org/sea#"
export const type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
const subClassOf = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"

export const ontologyText = `
@prefix : <${base}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Ship a owl:Class ; owl:disjointWith :Port ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :name ; owl:minCardinality 1 ] .
:Ferry a owl:Class ; rdfs:subClassOf :Ship . :Port a owl:Class . :Person a owl:Class .
:sailsTo a owl:ObjectProperty ; rdfs:domain :Ship ; rdfs:range :Port .
:owner a owl:ObjectProperty ; rdfs:domain [ owl:unionOf (:Ship :Port) ] ; rdfs:range [ owl:unionOf (:Person :Ship) ] .
:built a owl:DatatypeProperty, owl:FunctionalProperty ; rdfs:domain :Ship ; rdfs:range xsd:gYear .
:name a owl:DatatypeProperty ; rdfs:range xsd:string .
:length a owl:DatatypeProperty ; rdfs:range xsd:decimal .
`

export const Nodes = Schema.Array(
  Schema.Struct({
    isBlank: Schema.Boolean,
    types: Schema.Array(Schema.Literals(["Ship", "Ferry", "Port", "Person", "Unheard"])).check(Schema.isMaxLength(2)),
    above: Schema.Array(Schema.Literals(["Ship", "Port", "Unheard"])).check(Schema.isMaxLength(1)),
    values: Schema.Array(
      Schema.Struct({
        property: Schema.Literals(["sailsTo", "owner", "built", "name", "length", "other"]),
        value: Schema.Literals([
          "<urn:node:0>",
          "<urn:node:1>",
          "<urn:node:2>",
          "_:node3",
          "<urn:nowhere>",
          '"1984"^^<http://www.w3.org/2001/XMLSchema#gYear>',
          '"MCM"^^<http://www.w3.org/2001/XMLSchema#gYear>',
          '"12.5"^^<http://www.w3.org/2001/XMLSchema#decimal>',
          '"+1."^^<http://www.w3.org/2001/XMLSchema#decimal>',
          '"Orion"',
          '"O"',
          '"Orion"@en',
          '"Vega"@en',
        ]),
      }),
    ).check(Schema.isMaxLength(4)),
  }),
).check(Schema.isMaxLength(5))

/** In order, each once. A node of five may say what its first class is below. */
export const linesOf = (nodes: typeof Nodes.Type): ReadonlyArray<string> => {
  const lines = nodes.flatMap(({ isBlank, types, above, values }, number) => {
    const node = isBlank ? `_:node${number}` : `<urn:node:${number}>`
    return [
      ...types.map((one) => `${node} ${type} <${base}${one}> .`),
      ...(number === 4 ? above.map((one) => `<${base}${types[0] ?? "Person"}> ${subClassOf} <${base}${one}> .`) : []),
      ...values.map(({ property, value }) => `${node} <${base}${property}> ${value} .`),
    ]
  })
  return [...new Set(lines)].sort()
}

const constraints = [
  "sh:class :Ship",
  "sh:class :Port",
  "sh:datatype xsd:string",
  "sh:datatype xsd:gYear",
  "sh:nodeKind sh:IRI",
  "sh:nodeKind sh:BlankNodeOrLiteral",
  "sh:minLength 2",
  "sh:maxLength 4",
  'sh:pattern "^O"',
  'sh:in ( <urn:node:1> "Orion" )',
  'sh:languageIn ( "en" )',
  "sh:minInclusive 10",
  "sh:maxExclusive 10",
  "sh:not [ sh:class :Ship ]",
  "sh:not [ sh:datatype xsd:string ]",
  "sh:or ( [ sh:class :Port ] [ sh:datatype xsd:gYear ] )",
  "sh:or ( [ sh:nodeKind sh:Literal ] [ sh:property [ sh:path :name ; sh:minCount 1 ] ] )",
  "sh:xone ( [ sh:class :Ship ] [ sh:nodeKind sh:IRI ] )",
  "sh:and ( [ sh:nodeKind sh:IRI ] [ sh:class :Port ] )",
  "sh:node :Anchored",
  "sh:node :Named",
  "sh:hasValue <urn:node:1>",
  "sh:equals :owner",
  "sh:disjoint :owner",
  "sh:property [ sh:path :name ; sh:maxCount 1 ]",
] as const

const ofProperties = [
  "sh:minCount 1",
  "sh:minCount 2",
  "sh:maxCount 0",
  "sh:maxCount 1",
  "sh:uniqueLang true",
  "sh:lessThan :length",
  "sh:lessThanOrEquals :built",
  "sh:qualifiedValueShape [ sh:class :Port ] ; sh:qualifiedMinCount 1",
  "sh:qualifiedValueShape [ sh:nodeKind sh:Literal ] ; sh:qualifiedMaxCount 1",
] as const

const ofNodes = ["sh:closed true", "sh:closed true ; sh:ignoredProperties ( rdf:type :name )", "sh:deactivated true"] as const

const targets = [
  "sh:targetClass :Ship",
  "sh:targetClass :Port",
  "sh:targetSubjectsOf :owner",
  "sh:targetSubjectsOf :name",
  "sh:targetObjectsOf :sailsTo",
  "sh:targetNode <urn:node:0>",
  "sh:targetNode <urn:nowhere>",
  'sh:targetNode "Orion"',
] as const

const paths = [
  ":sailsTo",
  ":owner",
  ":built",
  ":name",
  ":length",
  "rdf:type",
  "[ sh:inversePath :sailsTo ]",
  "( :sailsTo :name )",
  "[ sh:alternativePath ( :name :other ) ]",
  "[ sh:zeroOrMorePath :owner ]",
  "[ sh:zeroOrOnePath :sailsTo ]",
] as const

export const GeneratedShapes = Schema.Array(
  Schema.Struct({
    target: Schema.Literals(targets),
    constraints: Schema.Array(Schema.Literals([...constraints, ...ofNodes])).check(Schema.isMaxLength(2)),
    properties: Schema.Array(
      Schema.Struct({
        path: Schema.Literals(paths),
        first: Schema.Literals([...constraints, ...ofProperties]),
        others: Schema.Array(Schema.Literals([...constraints, ...ofProperties])).check(Schema.isMaxLength(1)),
        severity: Schema.Literals(["", "sh:severity sh:Warning ;"]),
      }),
    ).check(Schema.isMaxLength(2)),
  }),
).check(Schema.isMinLength(1), Schema.isMaxLength(3))

export const shapesText = (shapes: typeof GeneratedShapes.Type): string => `
@prefix : <${base}> . @prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
:Anchored a sh:NodeShape ; sh:class :Port . :Named a sh:NodeShape ; sh:property [ sh:path :name ; sh:minCount 1 ] .
${shapes
  .map(({ target, constraints, properties }, number) => {
    const parts = [target, ...eachOnce(constraints), ...properties.map((_, place) => `sh:property :Shape${number}-${place}`)]
    const named = properties.map(
      ({ path, first, others, severity }, place) =>
        `:Shape${number}-${place} a sh:PropertyShape ; sh:path ${path} ; ${severity} ${eachOnce([first, ...others]).join(" ; ")} .`,
    )
    return [`:Shape${number} a sh:NodeShape ; ${parts.join(" ; ")} .`, ...named].join("\n")
  })
  .join("\n")}
`

/** A shape has at most one value of most constraints. */
const eachOnce = (constraints: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Map(constraints.map((one) => [one.split(" ")[0], one])).values(),
]
