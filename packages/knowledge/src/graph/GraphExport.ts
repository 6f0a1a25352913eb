/**
 * A graph in the forms other programs read: Turtle, N-Triples, JSON-LD, and two tables for spreadsheets, one of entities and
 * one of the relations between them. All stream from sorted lines.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { graphPrefixes } from "../rdf/FactGraph.ts"
import { detached, nameOfNode, termOf, typePredicate } from "../rdf/NTriples.ts"
import { turtleText } from "../rdf/RdfWriting.ts"
import type { Literal, Triple } from "../rdf/Term.ts"
import { xsd } from "../rdf/Vocabulary.ts"
import type { Namespace } from "../storage/Identity.ts"
import { pathsOfNamespace } from "../storage/Paths.ts"
import { Storage } from "../storage/Storage.ts"
import { blobIn, type StorageFolder } from "../storage/Uri.ts"
import { CanonicalGraph } from "./CanonicalGraph.ts"
import type { ExportFormat } from "./ExportFormat.ts"
import { labelPredicate, type NodeOfLines, nodesOfLines, statementType } from "./StoredLines.ts"

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

/** Statements and documents say where facts come from: they are no entities. */
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

const relationRows = ({ subject, values }: NodeOfLines, labels: ReadonlyMap<string, string>): string => {
  let text = ""
  for (const [predicate, objects] of values) {
    if (predicate === typePredicate || predicate === labelPredicate) continue
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

/** A field that begins like a formula gets an apostrophe, so that no spreadsheet runs what a document said. */
const field = (value: string): string => {
  const safe = /^[=+\-@\t\r]/.test(value) && !/^[+-]?\d+(\.\d+)?$/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const row = (fields: ReadonlyArray<string>): string => `${fields.map(field).join(",")}\r\n`

/**
 * Writes the canonical graph of a namespace as one Turtle file, for other tools. Every change of the graph writes it. Returns the file and
 * how many triples are in it. Of two processes that write at once the later may write an older version, sees that, and writes again.
 */
export const publishGraph = (folder: StorageFolder, namespace: Namespace, ontology: OntologyIndex) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const canonical = yield* CanonicalGraph
    const uri = blobIn(folder, pathsOfNamespace(namespace).entities)
    const prefixes = ontology.namespace === "" ? {} : { [namespace]: ontology.namespace }
    let triples = 0
    let current = yield* canonical.current(namespace)
    while (Option.isSome(current)) {
      const written = current.value
      triples = 0
      const lines = Stream.mapArray(canonical.lines(written), (batch) => {
        triples += batch.length
        return batch
      })
      yield* storage.setStream(uri, Stream.encodeText(exportGraph(lines, "turtle", prefixes)))
      current = Option.filter(yield* canonical.current(namespace), ({ version }) => version !== written.version)
    }
    return { uri, triples }
  })
