import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type ExportFormat, exportGraph } from "../../src/graph/GraphExport.ts"

const type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
const label = "<http://www.w3.org/2000/01/rdf-schema#label>"
const lines = [
  '<urn:a> <http://www.w3.org/2000/01/rdf-schema#label> "=HYPERLINK(\\"x\\")" .',
  "<urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:Ship> .",
  '<urn:a> <urn:length> "-7"^^<http://www.w3.org/2001/XMLSchema#integer> .',
  "<urn:a> <urn:sails> <urn:b> .",
  `<urn:b> ${label} "Näs, \\u000Btwo" .`,
  `<urn:b> ${label} "b"@en .`,
  `<urn:b> ${type} <urn:Port> .`,
  `<urn:s> ${type} <http://www.w3.org/1999/02/22-rdf-syntax-ns#Statement> .`,
]
const exported = (format: ExportFormat) => Stream.mkString(exportGraph(Stream.fromIterable(lines), format))

it.effect("N-Triples are the lines", () => Effect.map(exported("ntriples"), (text) => expect(text).toBe(`${lines.join("\n")}\n`)))

it.effect("JSON-LD holds every node with its values", () =>
  Effect.map(exported("jsonld"), (text) =>
    expect(JSON.parse(text)).toEqual([
      {
        "@id": "urn:a",
        "@type": ["urn:Ship"],
        "http://www.w3.org/2000/01/rdf-schema#label": [{ "@value": '=HYPERLINK("x")' }],
        "urn:length": [{ "@value": "-7", "@type": "http://www.w3.org/2001/XMLSchema#integer" }],
        "urn:sails": [{ "@id": "urn:b" }],
      },
      {
        "@id": "urn:b",
        "@type": ["urn:Port"],
        "http://www.w3.org/2000/01/rdf-schema#label": [{ "@value": "Näs, \u000btwo" }, { "@value": "b", "@language": "en" }],
      },
      { "@id": "urn:s", "@type": ["http://www.w3.org/1999/02/22-rdf-syntax-ns#Statement"] },
    ]),
  ),
)

const document = "<urn:detent:document:doc-1>"
const statement = (digest: string, subject: string) => [
  `<urn:detent:statement:doc-1:${digest}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#object> <urn:b> .`,
  `<urn:detent:statement:doc-1:${digest}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#predicate> <urn:sails> .`,
  `<urn:detent:statement:doc-1:${digest}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#subject> <${subject}> .`,
  `<urn:detent:statement:doc-1:${digest}> ${type} <http://www.w3.org/1999/02/22-rdf-syntax-ns#Statement> .`,
]
const named = [`<urn:a> ${label} "Alba" .`, `<urn:a> ${type} <urn:Ship> .`]
const sourced = [
  ...named,
  "<urn:a> <http://www.w3.org/2002/07/owl#sameAs> <urn:detent:entity:doc-1:1> .",
  `<urn:a> <http://www.w3.org/ns/prov#wasDerivedFrom> ${document} .`,
  "<urn:a> <urn:sails> <urn:b> .",
  `${document} <http://purl.org/dc/terms/source> <file:///a.txt> .`,
  ...statement("1", "urn:a"),
  ...statement("2", "urn:a"),
].toSorted()

it.effect("N-Quads have a fact once in the graph of each document that states it, and names in the default graph", () =>
  Effect.gen(function* () {
    const quads = (isFactsOnly: boolean) =>
      Effect.map(Stream.mkString(exportGraph(Stream.fromIterable(sourced), "nquads", { isFactsOnly })), (text) =>
        text.trim().split("\n").toSorted(),
      )
    const facts = [...named, `<urn:a> <urn:sails> <urn:b> ${document} .`]
    expect(yield* quads(true)).toEqual(facts.toSorted())
    expect(yield* quads(false)).toEqual([...facts, `${document} <http://purl.org/dc/terms/source> <file:///a.txt> .`].toSorted())
  }),
)

it.effect("facts alone have no statements, documents or IRIs of entities in documents", () =>
  Effect.gen(function* () {
    const text = yield* Stream.mkString(exportGraph(Stream.fromIterable(sourced), "ntriples", { isFactsOnly: true }))
    expect(text.trim().split("\n").toSorted()).toEqual([...named, "<urn:a> <urn:sails> <urn:b> ."].toSorted())
  }),
)

it.effect("an empty graph is an empty list", () =>
  Effect.map(Stream.mkString(exportGraph(Stream.empty, "jsonld")), (text) => expect(JSON.parse(text)).toEqual([])),
)

it.effect("entities are rows, and what looks like a formula is not one", () =>
  Effect.map(exported("entities"), (text) =>
    expect(text).toBe(
      ["iri,types,label,otherLabels", `urn:a,urn:Ship,"'=HYPERLINK(""x"")",`, 'urn:b,urn:Port,"Näs, \u000btwo",b', ""].join("\r\n"),
    ),
  ),
)

it.effect("relations leave out where entities come from", () =>
  Effect.gen(function* () {
    const provenance = [
      "<urn:a> <http://www.w3.org/2002/07/owl#sameAs> <urn:detent:entity:d:1> .",
      "<urn:a> <http://www.w3.org/ns/prov#wasDerivedFrom> <urn:detent:document:d> .",
    ]
    const withProvenance = Stream.fromIterable([...lines, ...provenance].toSorted())
    expect(yield* Stream.mkString(exportGraph(withProvenance, "relations"))).toBe(yield* exported("relations"))
  }),
)

it.effect("relations are rows with the names of both ends", () =>
  Effect.map(exported("relations"), (text) =>
    expect(text).toBe(
      [
        "subject,subjectLabel,property,object,objectLabel,datatype",
        `urn:a,"'=HYPERLINK(""x"")",urn:length,-7,,http://www.w3.org/2001/XMLSchema#integer`,
        `urn:a,"'=HYPERLINK(""x"")",urn:sails,urn:b,"Näs, \u000btwo",`,
        "",
      ].join("\r\n"),
    ),
  ),
)
