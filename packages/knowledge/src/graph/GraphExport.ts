/**
 * A graph in the forms other programs read: Turtle, N-Triples, JSON-LD, and two tables for spreadsheets, one of entities and
 * one of the relations between them. All stream from sorted lines.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { detached } from "../rdf/DetachedText.ts"
import { graphPrefixes } from "../rdf/FactGraph.ts"
import { turtleText, typePredicate } from "../rdf/TurtleText.ts"
import { labelPredicate, type NodeOfLines, nodesOfLines, statementType, termOf } from "./LineNodes.ts"

export const ExportFormat = Schema.Literals(["turtle", "ntriples", "jsonld", "entities", "relations"])
export type ExportFormat = typeof ExportFormat.Type

export const contentTypes: Readonly<Record<ExportFormat, string>> = {
  turtle: "text/turtle; charset=utf-8",
  ntriples: "application/n-triples; charset=utf-8",
  jsonld: "application/ld+json; charset=utf-8",
  entities: "text/csv; charset=utf-8",
  relations: "text/csv; charset=utf-8",
}

/** The text in pieces. `lines` is read twice for relations: once for the names of what they point to. */
export const exportGraph = <E, R>(
  lines: Stream.Stream<string, E, R>,
  format: ExportFormat,
  prefixes: Readonly<Record<string, string>> = {},
): Stream.Stream<string, E, R> => {
  switch (format) {
    case "turtle":
      return turtleText(lines, { ...graphPrefixes, ...prefixes })
    case "ntriples":
      return Stream.mapArray(lines, (batch) => [`${batch.join("\n")}\n`])
    case "jsonld":
      return jsonLd(lines)
    case "entities":
      return Stream.concat(Stream.succeed("iri,types,label,otherLabels\r\n"), rowsOf(lines, entityRow))
    case "relations":
      return relations(lines)
  }
}

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
  const id = termOf(subject)
  const node: Record<string, unknown> = { "@id": id.value }
  for (const [predicate, objects] of values) {
    const terms = objects.map(termOf)
    if (predicate === typePredicate) node["@type"] = terms.map(({ value }) => value)
    else node[termOf(predicate).value] = terms.map(jsonLdValue)
  }
  return node
}

const jsonLdValue = (term: ReturnType<typeof termOf>): Readonly<Record<string, string>> => {
  if (term._tag === "Node") return { "@id": term.value }
  if (term.language !== undefined) return { "@value": term.value, "@language": term.language }
  return term.datatype === undefined ? { "@value": term.value } : { "@value": term.value, "@type": term.datatype }
}

const isStatement = ({ values }: NodeOfLines): boolean => values.get(typePredicate)?.includes(statementType) ?? false

const rowsOf = <E, R>(lines: Stream.Stream<string, E, R>, write: (node: NodeOfLines) => string): Stream.Stream<string, E, R> =>
  Stream.filter(
    Stream.map(nodesOfLines(lines), (node) => (isStatement(node) ? "" : write(node))),
    (text) => text !== "",
  )

const entityRow = (node: NodeOfLines): string => {
  const types = node.values.get(typePredicate)
  if (types === undefined) return ""
  const [label = "", ...others] = (node.values.get(labelPredicate) ?? []).map((object) => termOf(object).value)
  return row([termOf(node.subject).value, types.map((type) => termOf(type).value).join(" "), label, others.join(" | ")])
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

const relationRows = ({ subject, values }: NodeOfLines, labels: ReadonlyMap<string, string>): string => {
  let text = ""
  for (const [predicate, objects] of values) {
    if (predicate === typePredicate || predicate === labelPredicate) continue
    for (const object of objects) {
      const term = termOf(object)
      const datatype = term._tag === "Text" ? (term.datatype ?? "") : ""
      text += row([
        termOf(subject).value,
        labels.get(subject) ?? "",
        termOf(predicate).value,
        term.value,
        term._tag === "Node" ? (labels.get(object) ?? "") : "",
        datatype,
      ])
    }
  }
  return text
}

/** A field that begins like a formula gets an apostrophe, so that no spreadsheet runs what a document said. */
const field = (value: string): string => {
  const safe = /^[=+\-@\t\r]/.test(value) && !/^[+-]?\d+(\.\d+)?$/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const row = (fields: ReadonlyArray<string>): string => `${fields.map(field).join(",")}\r\n`
