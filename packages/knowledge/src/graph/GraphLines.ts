/**
 * Sorted lines of N-Triples: stored in files that are verified against their hash, merged in sorted order, grouped by subject, and
 * assigned to documents. All of it streams.
 */

import type { ContentHash } from "@detent/blobs/ContentHash"
import { startHash } from "@detent/blobs/ContentHash"
import { Storage, type StorageError, type StorageService, type StorageUri } from "@detent/blobs/Storage"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { documentOfIri, documentOfStatement, entityDigest, entityPlace, identifierProperty } from "../fact/FactGraph.ts"
import { mergeParts, type Part, type SortFailed, sortLines } from "../rdf/LineSort.ts"
import { lineParts, termOf, typePredicate } from "../rdf/Turtle.ts"
import { owl, rdf, rdfs, vocabularies } from "../rdf/Vocabulary.ts"
import { ArtifactDamaged } from "../storage/ArtifactStore.ts"

export interface StoredLines {
  readonly uri: StorageUri
  readonly hash: ContentHash
}

/** The lines of one file, without line breaks. Fails after the last line if the file does not match its hash. */
export const storedLines = (
  storage: StorageService,
  { uri, hash: expected }: StoredLines,
): Stream.Stream<string, StorageError | ArtifactDamaged> =>
  Stream.suspend(() => {
    const hash = startHash()
    const decoder = new TextDecoder()
    let rest = ""
    const body = Stream.mapArray(storage.getStream(uri), (pieces) => {
      const lines: Array<string> = []
      for (const piece of pieces) {
        hash.update(piece)
        const parts = (rest + decoder.decode(piece, { stream: true })).split("\n")
        rest = parts.pop() ?? ""
        for (const line of parts) lines.push(line)
      }
      return [lines]
    }).pipe(Stream.flattenIterable)
    const end = Stream.unwrap(
      Effect.suspend(() => {
        const actual = hash.end()
        if (actual !== expected) return Effect.fail(new ArtifactDamaged({ path: uri, expected, actual }))
        return Effect.succeed(rest === "" ? Stream.empty : Stream.succeed(rest))
      }),
    )
    return Stream.concat(body, end)
  })

/** Writes sorted lines to a file. */
export const writeLines = <E, R>(
  uri: StorageUri,
  lines: Stream.Stream<string, E, R>,
): Effect.Effect<StoredLines & { readonly triples: number }, E | StorageError, R | Storage> =>
  Effect.gen(function* () {
    const storage = yield* Storage
    let triples = 0
    const encoder = new TextEncoder()
    const bytes = Stream.mapArray(lines, (batch) => {
      triples += batch.length
      return [encoder.encode(`${batch.join("\n")}\n`)]
    })
    const { hash } = yield* storage.setStream(uri, bytes)
    return { uri, hash, triples }
  })

/** The lines of sorted files in one sorted sequence, each line once. */
export const mergedLines = (
  storage: StorageService,
  files: ReadonlyArray<StoredLines>,
): Stream.Stream<string, StorageError | ArtifactDamaged> => mergedStreams(files.map((file) => storedLines(storage, file)))

/** Merging buffers a chunk of each stream. More streams than this are sorted again instead, in bounded memory. */
const mergedAtOnce = 32

/** Merges any number of sorted streams into one; each line occurs once. */
export const mergedParts = <E>(streams: ReadonlyArray<Stream.Stream<string, E>>): Stream.Stream<string, E | SortFailed> =>
  streams.length <= mergedAtOnce ? mergedStreams(streams) : sortLines(Stream.flatten(Stream.fromIterable(streams)))

/** Merges a few sorted streams into one; each line occurs once. */
export const mergedStreams = <E>(streams: ReadonlyArray<Stream.Stream<string, E>>): Stream.Stream<string, E> => {
  const [first, ...others] = streams
  if (first === undefined) return Stream.empty
  if (others.length === 0) return first
  return Stream.suspend(() =>
    // An async iteration throws the failure of its stream. An iterator can be consumed once, so each run creates a new one.
    Stream.flattenIterable(Stream.fromAsyncIterable(mergeParts(streams.map(partOf)), (thrown) => thrown as E)),
  )
}

/** The sorted lines of `lines` that `others` lacks. */
export const linesOnlyIn = <E, F>(lines: Stream.Stream<string, E>, others: Stream.Stream<string, F>): Stream.Stream<string, E | F> =>
  Stream.suspend(() => {
    // The line break sorts before any character of a longer line, so the marks keep the order. Of equal lines, the other comes first.
    const marked = mergedStreams<E | F>([Stream.map(others, (line) => `${line}\n0`), Stream.map(lines, (line) => `${line}\n1`)])
    let other = ""
    return Stream.flattenIterable(
      Stream.map(marked, (line) => {
        const plain = line.slice(0, -2)
        if (line.endsWith("1")) return plain === other ? [] : [plain]
        other = plain
        return []
      }),
    )
  })

const partOf = <E>(lines: Stream.Stream<string, E>): Pick<Part, "lines"> => ({
  lines: async function* () {
    yield* Stream.toAsyncIterable(Stream.chunks(lines))
  },
})

// Lines grouped by subject.

export const labelPredicate = `<${rdfs.label}>`
export const statementType = `<${rdf.statement}>`

/** All lines about one subject: objects by predicate, as N-Triples terms. */
export interface NodeOfLines {
  readonly subject: string
  readonly values: ReadonlyMap<string, ReadonlyArray<string>>
}

/** The line of the fact that a statement states; undefined for a node that is not a statement. */
export const statedLine = ({ values }: NodeOfLines): string | undefined => {
  const [subject] = values.get(`<${rdf.subject}>`) ?? []
  const [predicate] = values.get(`<${rdf.predicate}>`) ?? []
  const [object] = values.get(`<${rdf.object}>`) ?? []
  return subject === undefined || predicate === undefined || object === undefined ? undefined : [subject, predicate, object, "."].join(" ")
}

/** Groups sorted lines by subject. Lines of one subject are adjacent, so only one node is in memory at a time. */
export const nodesOfLines = <E, R>(lines: Stream.Stream<string, E, R>): Stream.Stream<NodeOfLines, E, R> =>
  Stream.suspend(() => {
    let subject = ""
    let values = new Map<string, Array<string>>()
    const body = Stream.flattenIterable(
      Stream.mapArray(lines, (batch) => {
        const done: Array<NodeOfLines> = []
        for (const line of batch) {
          const parts = lineParts(line)
          if (parts.subject !== subject) {
            if (subject !== "") done.push({ subject, values })
            subject = parts.subject
            values = new Map()
          }
          const objects = values.get(parts.predicate)
          if (objects === undefined) values.set(parts.predicate, [parts.object])
          else objects.push(parts.object)
        }
        return [done]
      }),
    )
    const last = Stream.suspend(() => (subject === "" ? Stream.empty : Stream.succeed({ subject, values })))
    return Stream.concat(body, last)
  })

// Lines of documents. A statement names its document; a fact belongs to the documents of its statements; a
// label or class of an entity belongs to the documents whose IRI for the entity is a digest of that label and class. So a document
// can be removed from a graph, and facts that another document states too remain.

export const derivedFrom = `<${vocabularies.prov}wasDerivedFrom>`
export const sameAs = `<${owl.sameAs}>`

const statementStart = "<urn:detent:statement:"
const documentStart = "<urn:detent:document:"

const iriOf = (term: string): string => term.slice(1, -1)

/** The document that a line describes; undefined if the line's subject is not a document. */
export const documentOfLine = (line: string): string | undefined =>
  line.startsWith(documentStart) ? documentOfIri(iriOf(lineParts(line).subject)) : undefined

/** The nodes of the statements among sorted lines. */
export const statementsOf = <E, R>(lines: Stream.Stream<string, E, R>) =>
  nodesOfLines(Stream.filter(lines, (line) => line.startsWith(statementStart)))

/** The ids of the documents that lines come from. */
export const documentsOfLines = <E, R>(lines: Stream.Stream<string, E, R>): Effect.Effect<ReadonlySet<string>, E, R> =>
  documentsBy(lines, (line) => {
    const { predicate, object } = lineParts(line)
    return documentOfLine(line) ?? (predicate === derivedFrom ? documentOfIri(iriOf(object)) : undefined)
  })

/** The ids of the documents that lines belong to alone: lines about a document or a statement, and IRIs of a document's entities. */
export const ownersOfLines = <E, R>(lines: Stream.Stream<string, E, R>): Effect.Effect<ReadonlySet<string>, E, R> =>
  documentsBy(lines, (line) => {
    const { subject, predicate, object } = lineParts(line)
    const entity = predicate === sameAs ? entityPlace(iriOf(object)) : undefined
    return documentOfLine(line) ?? documentOfStatement(iriOf(subject)) ?? entity?.document
  })

const documentsBy = <E, R>(
  lines: Stream.Stream<string, E, R>,
  documentOf: (line: string) => string | undefined,
): Effect.Effect<ReadonlySet<string>, E, R> =>
  Stream.runFold(
    lines,
    () => new Set<string>(),
    (found, line) => {
      const document = documentOf(line)
      return document === undefined ? found : found.add(document)
    },
  )

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
  const taken = takenNames(node, (object) => documents.has(entityPlace(iriOf(object))?.document ?? ""))
  const isTaken = (predicate: string, object: string): boolean => {
    if (predicate === derivedFrom) return documents.has(documentOfIri(iriOf(object)))
    if (predicate === sameAs) return documents.has(entityPlace(iriOf(object))?.document ?? "")
    return isNaming(predicate) && (isGone || taken.has(`${predicate} ${object}`))
  }
  return linesOf(node, isTaken)
}

/**
 * The classes, labels and identifiers that an entity has only under the taken ones of its IRIs in documents: such an IRI is a digest of one
 * class, one label and at most one identifier.
 */
const takenNames = (node: NodeOfLines, isTaken: (term: string) => boolean): ReadonlySet<string> => {
  const owners = Map.groupBy(node.values.get(sameAs) ?? [], (object) => entityPlace(iriOf(object))?.digest)
  const kept = new Set<string>()
  const named = new Set<string>()
  for (const { digest, terms } of digestsOf(node)) {
    const of = owners.get(digest) ?? []
    if (of.length > 0) for (const term of terms) named.add(term.join(" "))
    if (!of.every(isTaken)) for (const term of terms) kept.add(term.join(" "))
  }
  return new Set([...named].filter((name) => !kept.has(name)))
}

/** A term of an entity, with its predicate. */
export type NamingTerm = readonly [predicate: string, term: string]

/** The digests that IRIs of an entity in documents can have, with the terms of each: a class, a label and perhaps an identifier. */
export function* digestsOf({ values }: NodeOfLines): Generator<{ readonly digest: string; readonly terms: ReadonlyArray<NamingTerm> }> {
  for (const type of values.get(typePredicate) ?? [])
    for (const label of values.get(labelPredicate) ?? []) {
      const [iri, name] = [termOf(type).value, termOf(label).value]
      const terms: ReadonlyArray<NamingTerm> = [
        [typePredicate, type],
        [labelPredicate, label],
      ]
      yield { digest: entityDigest(iri, name), terms }
      for (const identifier of values.get(identifierPredicate) ?? [])
        yield { digest: entityDigest(iri, name, termOf(identifier).value), terms: [...terms, [identifierPredicate, identifier]] }
    }
}

/** The predicate of the identifier that the record of an entity has. */
export const identifierPredicate = `<${identifierProperty}>`

const namingPredicates: ReadonlySet<string> = new Set([typePredicate, labelPredicate, identifierPredicate])

/** Whether the object of a line is a class, a label or an identifier of its subject. */
const isNaming = (predicate: string): boolean => namingPredicates.has(predicate)

/** The sorted lines that remain without the given entities of documents, as N-Triples terms. No remaining fact may involve them. */
export const withoutEntities = <E, R>(lines: Stream.Stream<string, E, R>, entities: ReadonlySet<string>): Stream.Stream<string, E, R> =>
  entities.size === 0 ? lines : Stream.flattenIterable(Stream.map(nodesOfLines(lines), (node) => linesWithout(node, entities)))

const linesWithout = (node: NodeOfLines, entities: ReadonlySet<string>): ReadonlyArray<string> => {
  if (entities.has(node.subject)) return []
  const places = node.values.get(sameAs) ?? []
  const left = places.filter((place) => !entities.has(place))
  if (left.length === places.length) return linesOf(node)
  if (left.length === 0) return []
  const names = takenNames(node, (place) => entities.has(place))
  const documents = new Set(left.map((place) => entityPlace(iriOf(place))?.document))
  return linesOf(node, (predicate, object) => {
    if (predicate === sameAs) return entities.has(object)
    if (predicate === derivedFrom) return !documents.has(documentOfIri(iriOf(object)))
    return isNaming(predicate) && names.has(`${predicate} ${object}`)
  })
}

/** The entities that statements of each document involve, as `document entity`. Leaves out the given statements. */
export const involvedIn = <E, R>(lines: Stream.Stream<string, E, R>, without: ReadonlySet<string>) =>
  Effect.gen(function* () {
    const found = new Set<string>()
    yield* Stream.runForEach(statementsOf(lines), ({ subject: statement, values }) =>
      Effect.sync(() => {
        if (without.has(iriOf(statement))) return
        const document = documentOfStatement(iriOf(statement))
        for (const predicate of [`<${rdf.subject}>`, `<${rdf.object}>`])
          for (const entity of values.get(predicate) ?? []) found.add(`${document} ${entity}`)
      }),
    )
    return found
  })

const linesOf = ({ subject, values }: NodeOfLines, isTaken?: (predicate: string, object: string) => boolean): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (const [predicate, objects] of values)
    for (const object of objects) if (isTaken?.(predicate, object) !== true) lines.push([subject, predicate, object, "."].join(" "))
  return lines
}
