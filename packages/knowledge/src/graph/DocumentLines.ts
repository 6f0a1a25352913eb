/**
 * Assigns the lines of a graph to documents. A statement names its document; a fact belongs to the documents of its statements; a
 * label or class of an entity belongs to the documents whose IRI for the entity is a digest of that label and class. So a document
 * can be removed from a graph, and facts that another document states too remain.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { documentOfIri, documentOfStatement, entityDigest, entityPlace } from "../rdf/FactGraph.ts"
import { lineParts, termOf, typePredicate } from "../rdf/NTriples.ts"
import { owl, vocabularies } from "../rdf/Vocabulary.ts"
import { labelPredicate, type NodeOfLines, nodesOfLines, statedLine } from "./StoredLines.ts"

const derivedFrom = `<${vocabularies.prov}wasDerivedFrom>`
export const sameAs = `<${owl.sameAs}>`

const statementStart = "<urn:detent:statement:"
const documentStart = "<urn:detent:document:"

const iriOf = (term: string): string => term.slice(1, -1)

/** The document that a line describes; undefined if the line's subject is not a document. */
export const documentOfLine = (line: string): string | undefined =>
  line.startsWith(documentStart) ? documentOfIri(iriOf(lineParts(line).subject)) : undefined

const statementsOf = <E, R>(lines: Stream.Stream<string, E, R>) =>
  nodesOfLines(Stream.filter(lines, (line) => line.startsWith(statementStart)))

/** The ids of the documents that lines come from. */
export const documentsOfLines = <E, R>(lines: Stream.Stream<string, E, R>): Effect.Effect<ReadonlySet<string>, E, R> =>
  Effect.gen(function* () {
    const found = new Set<string>()
    yield* Stream.runForEachArray(lines, (batch) =>
      Effect.sync(() => {
        for (const line of batch) {
          const { subject, predicate, object } = lineParts(line)
          if (subject.startsWith(documentStart)) found.add(documentOfIri(iriOf(subject)))
          else if (predicate === derivedFrom) found.add(documentOfIri(iriOf(object)))
        }
      }),
    )
    return found
  })

/** The sorted lines that remain without the given documents. `lines` is read three times, unless no document is given. */
export const withoutDocuments = <E, R>(lines: Stream.Stream<string, E, R>, documents: ReadonlySet<string>): Stream.Stream<string, E, R> =>
  documents.size === 0
    ? lines
    : withoutFacts(
        lines,
        (statement) => documents.has(documentOfStatement(statement) ?? ""),
        (node) => remainingLines(node, documents),
      )

/**
 * The sorted lines that remain without the statements of the given IRIs. A fact is removed with its last statement. `lines` is read
 * three times, unless no statement is given.
 */
export const withoutStatements = <E, R>(
  lines: Stream.Stream<string, E, R>,
  statements: ReadonlySet<string>,
): Stream.Stream<string, E, R> =>
  statements.size === 0
    ? lines
    : withoutFacts(
        lines,
        (statement) => statements.has(statement),
        (node) => (statements.has(iriOf(node.subject)) ? [] : linesOf(node)),
      )

const withoutFacts = <E, R>(
  lines: Stream.Stream<string, E, R>,
  isTaken: (statement: string) => boolean,
  remaining: (node: NodeOfLines) => ReadonlyArray<string>,
): Stream.Stream<string, E, R> =>
  Stream.unwrap(
    Effect.map(factsOnlyOf(lines, isTaken), (facts) =>
      Stream.flattenIterable(Stream.map(nodesOfLines(lines), (node) => remaining(node).filter((line) => !facts.has(line)))),
    ),
  )

/** The facts that only taken statements state. */
const factsOnlyOf = <E, R>(
  lines: Stream.Stream<string, E, R>,
  isTaken: (statement: string) => boolean,
): Effect.Effect<ReadonlySet<string>, E, R> =>
  Effect.gen(function* () {
    const facts = new Set<string>()
    const each = (use: (stated: string, isTaken: boolean) => void) =>
      Stream.runForEach(statementsOf(lines), (node) =>
        Effect.sync(() => {
          const stated = statedLine(node)
          if (stated !== undefined) use(stated, isTaken(iriOf(node.subject)))
        }),
      )
    yield* each((stated, taken) => {
      if (taken) facts.add(stated)
    })
    yield* each((stated, taken) => {
      if (!taken) facts.delete(stated)
    })
    return facts
  })

/** The lines of a node, in order, without those that only the given documents state. Facts are left to `factsOnlyOf`. */
const remainingLines = (node: NodeOfLines, documents: ReadonlySet<string>): ReadonlyArray<string> => {
  const { subject, values } = node
  const iri = iriOf(subject)
  const own = subject.startsWith(documentStart) ? documentOfIri(iri) : documentOfStatement(iri)
  if (own !== undefined) return documents.has(own) ? [] : linesOf(node)
  const sources = (values.get(derivedFrom) ?? []).map((object) => documentOfIri(iriOf(object)))
  if (!sources.some((source) => documents.has(source))) return linesOf(node)
  const isGone = sources.every((source) => documents.has(source))
  const taken = takenNames(node, documents)
  const isTaken = (predicate: string, object: string): boolean => {
    if (predicate === derivedFrom) return documents.has(documentOfIri(iriOf(object)))
    if (predicate === sameAs) return documents.has(entityPlace(iriOf(object))?.document ?? "")
    if (predicate !== typePredicate && predicate !== labelPredicate) return false
    return isGone || taken.has(object)
  }
  return linesOf(node, isTaken)
}

/** The classes and labels that only the given documents give an entity: its IRI in a document is a digest of one class and one label. */
const takenNames = ({ values }: NodeOfLines, documents: ReadonlySet<string>): ReadonlySet<string> => {
  const owners = Map.groupBy(
    (values.get(sameAs) ?? []).flatMap((object) => entityPlace(iriOf(object)) ?? []),
    ({ digest }) => digest,
  )
  const kept = new Set<string>()
  const named = new Set<string>()
  for (const type of values.get(typePredicate) ?? []) {
    for (const label of values.get(labelPredicate) ?? []) {
      const of = owners.get(entityDigest(termOf(type).value, termOf(label).value)) ?? []
      if (of.length > 0) named.add(type).add(label)
      if (of.some(({ document }) => !documents.has(document))) kept.add(type).add(label)
    }
  }
  return new Set([...named].filter((name) => !kept.has(name)))
}

const linesOf = ({ subject, values }: NodeOfLines, isTaken?: (predicate: string, object: string) => boolean): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (const [predicate, objects] of values)
    for (const object of objects) if (isTaken?.(predicate, object) !== true) lines.push([subject, predicate, object, "."].join(" "))
  return lines
}
