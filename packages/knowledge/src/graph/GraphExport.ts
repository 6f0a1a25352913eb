/**
 * Exports a graph for other programs: Turtle, N-Triples, JSON-LD, N-Quads, and two tables for spreadsheets, one of entities and one of
 * the relations between them. All formats stream from sorted lines. In N-Quads, a fact is in the named graph of each document that
 * states it, so that quad stores can ask who says what without the statements of the other formats.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { documentIri, documentOfIri, documentOfStatement, graphPrefixes } from "../fact/FactGraph.ts"
import type { Literal, Triple } from "../rdf/Term.ts"
import { detached, lineParts, nameOfNode, termOf, turtleText, typePredicate } from "../rdf/Turtle.ts"
import { owl, prov, xsd } from "../rdf/Vocabulary.ts"
import {
  derivedFrom,
  identifierPredicate,
  labelPredicate,
  type NodeOfLines,
  nodesOfLines,
  sameAs,
  statedLine,
  statementType,
} from "./GraphLines.ts"

/** The formats of an exported graph. */
export const ExportFormat = Schema.Literals(["turtle", "ntriples", "jsonld", "nquads", "entities", "relations"])
export type ExportFormat = typeof ExportFormat.Type

/** The content type of each format. */
export const contentTypes: Readonly<Record<ExportFormat, string>> = {
  turtle: "text/turtle; charset=utf-8",
  ntriples: "application/n-triples; charset=utf-8",
  jsonld: "application/ld+json; charset=utf-8",
  nquads: "application/n-quads; charset=utf-8",
  entities: "text/csv; charset=utf-8",
  relations: "text/csv; charset=utf-8",
}

export interface ExportOptions {
  readonly prefixes?: Readonly<Record<string, string>>
  /** Leaves out where facts come from: statements, documents, and the IRIs that entities have in documents. Default: false. */
  readonly isFactsOnly?: boolean
}

/** The exported text in chunks. For `relations`, `lines` is read twice: the first pass collects the labels. */
export const exportGraph = <E, R>(
  all: Stream.Stream<string, E, R>,
  format: ExportFormat,
  { prefixes = {}, isFactsOnly = false }: ExportOptions = {},
): Stream.Stream<string, E, R> => {
  const lines = isFactsOnly && format !== "nquads" ? Stream.filter(all, isFact) : all
  switch (format) {
    case "turtle":
      return turtleText(lines, { ...graphPrefixes, ...prefixes })
    case "ntriples":
      return Stream.mapArray(lines, (batch) => [`${batch.join("\n")}\n`])
    case "jsonld":
      return jsonLd(lines)
    case "nquads":
      return quads(all, isFactsOnly)
    case "entities":
      return Stream.concat(Stream.succeed("iri,types,label,otherLabels\r\n"), rowsOf(lines, entityRow))
    case "relations":
      return relations(lines)
  }
}

/** Whether a line says something about an entity, and not where that comes from. */
const isFact = (line: string): boolean => {
  const { subject, predicate } = lineParts(line)
  return !isOfProvenance(subject) && predicate !== sameAs && predicate !== derivedFrom
}

const isOfProvenance = (subject: string): boolean => documentOfTerm(subject) !== undefined || statementOfTerm(subject) !== undefined

const statementOfTerm = (subject: string): string | undefined => documentOfStatement(subject.slice(1, -1))

const documentOfTerm = (subject: string): string | undefined => {
  const iri = subject.slice(1, -1)
  const id = documentOfIri(iri)
  return id === iri ? undefined : id
}

/** Classes, labels and documents are in the default graph. The statements of a document are adjacent. */
const quads = <E, R>(lines: Stream.Stream<string, E, R>, isFactsOnly: boolean): Stream.Stream<string, E, R> =>
  Stream.suspend(() => {
    let document = ""
    let stated = new Set<string>()
    const quadsOf = (node: NodeOfLines): string => {
      const { subject, values } = node
      const own = statementOfTerm(subject)
      if (own === undefined) {
        if (documentOfTerm(subject) !== undefined) return isFactsOnly ? "" : linesOf(node, [...values.keys()])
        return linesOf(node, [typePredicate, labelPredicate])
      }
      if (own !== document) stated = new Set()
      document = own
      const fact = statedLine(node)?.slice(0, -1)
      if (fact === undefined || stated.has(fact)) return ""
      stated.add(fact)
      return `${fact}<${documentIri(own)}> .\n`
    }
    return Stream.filter(Stream.map(nodesOfLines(lines), quadsOf), (text) => text !== "")
  })

const linesOf = ({ subject, values }: NodeOfLines, predicates: ReadonlyArray<string>): string =>
  predicates
    .flatMap((predicate) => (values.get(predicate) ?? []).map((object) => `${[subject, predicate, object, "."].join(" ")}\n`))
    .join("")

const jsonLd = <E, R>(lines: Stream.Stream<string, E, R>): Stream.Stream<string, E, R> => {
  let first = true
  const body = Stream.map(nodesOfLines(lines), (node) => {
    const start = first ? "\n" : ",\n"
    first = false
    return `${start}${JSON.stringify(jsonLdNode(node))}`
  })
  return Stream.concat(Stream.succeed("["), Stream.concat(body, Stream.succeed("\n]\n")))
}

const jsonLdNode = ({ subject, values }: NodeOfLines): Readonly<Record<string, unknown>> => {
  const node: Record<string, unknown> = { "@id": nameOfNode(subject) }
  for (const [predicate, objects] of values) {
    if (predicate === typePredicate) node["@type"] = objects.map(nameOfNode)
    else node[nameOfNode(predicate)] = objects.map((object) => jsonLdValue(termOf(object)))
  }
  return node
}

const jsonLdValue = (term: Triple["object"]): Readonly<Record<string, string>> => {
  if (term.termType === "NamedNode") return { "@id": term.value }
  if (term.termType === "BlankNode") return { "@id": `_:${term.value}` }
  if (term.language !== "") return { "@value": term.value, "@language": term.language }
  return isPlain(term) ? { "@value": term.value } : { "@value": term.value, "@type": term.datatype.value }
}

const isPlain = ({ datatype }: Literal): boolean => datatype.value === xsd.string

/** Statements and documents record where facts come from; they are not entities. */
const isProvenance = ({ subject, values }: NodeOfLines): boolean =>
  subject.startsWith("<urn:detent:document:") || (values.get(typePredicate)?.includes(statementType) ?? false)

const rowsOf = <E, R>(lines: Stream.Stream<string, E, R>, write: (node: NodeOfLines) => string): Stream.Stream<string, E, R> =>
  Stream.filter(
    Stream.map(nodesOfLines(lines), (node) => (isProvenance(node) ? "" : write(node))),
    (text) => text !== "",
  )

const entityRow = (node: NodeOfLines): string => {
  const types = node.values.get(typePredicate)
  if (types === undefined) return ""
  const [label = "", ...others] = (node.values.get(labelPredicate) ?? []).map((object) => termOf(object).value)
  return row([nameOfNode(node.subject), types.map(nameOfNode).join(" "), label, others.join(" | ")])
}

const relations = <E, R>(lines: Stream.Stream<string, E, R>): Stream.Stream<string, E, R> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const labels = new Map<string, string>()
      yield* Stream.runForEach(nodesOfLines(lines), ({ subject, values }) =>
        Effect.sync(() => {
          const label = values.get(labelPredicate)?.[0]
          if (label !== undefined) labels.set(detached(subject), detached(termOf(label).value))
        }),
      )
      return Stream.concat(
        Stream.succeed("subject,subjectLabel,property,object,objectLabel,datatype\r\n"),
        rowsOf(lines, (node) => relationRows(node, labels)),
      )
    }),
  )

/** Classes and labels are in the table of entities; the IRIs of an entity in its documents and these documents are provenance. */
const isNoRelation: ReadonlySet<string> = new Set([
  typePredicate,
  labelPredicate,
  `<${owl.sameAs}>`,
  `<${prov.wasDerivedFrom}>`,
  identifierPredicate,
])

const relationRows = ({ subject, values }: NodeOfLines, labels: ReadonlyMap<string, string>): string => {
  let text = ""
  for (const [predicate, objects] of values) {
    if (isNoRelation.has(predicate)) continue
    for (const object of objects) {
      const term = termOf(object)
      const datatype = term.termType === "Literal" && term.language === "" && !isPlain(term) ? term.datatype.value : ""
      text += row([
        nameOfNode(subject),
        labels.get(subject) ?? "",
        nameOfNode(predicate),
        term.termType === "Literal" ? term.value : nameOfNode(object),
        term.termType === "Literal" ? "" : (labels.get(object) ?? ""),
        datatype,
      ])
    }
  }
  return text
}

/** A field that begins like a formula gets an apostrophe, so that no spreadsheet executes text of a document. */
const field = (value: string): string => {
  const safe = /^[=+\-@\t\r]/.test(value) && !/^[+-]?\d+(\.\d+)?$/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const row = (fields: ReadonlyArray<string>): string => `${fields.map(field).join(",")}\r\n`
