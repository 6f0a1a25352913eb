/**
 * Moves mentions from one entity of a graph to another, in the sorted lines of a contribution. The lines of a graph name entities by their
 * IRIs in the graph; which mention a line comes from follows from the IRIs that the entity has in its documents (`owl:sameAs`), each of
 * which is a digest of class and label, and from the IRIs of statements, which are a digest of the mentions.
 */

import { compareText } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { documentIri, documentOfStatement, entityPlace, isStatementOf } from "../fact/FactGraph.ts"
import { lineParts, termOf, typePredicate } from "../rdf/Turtle.ts"
import { detentVocabulary, rdf } from "../rdf/Vocabulary.ts"
import {
  derivedFrom,
  digestsOf,
  identifierPredicate,
  labelPredicate,
  type NamingTerm,
  type NodeOfLines,
  nodesOfLines,
  sameAs,
  statementsOf,
} from "./GraphLines.ts"

/** A mention: its IRI in its document, and the IRI of its entity. */
export interface MentionOf {
  readonly documentId: string
  readonly mention: string
  readonly entity: string
}

/** Returns the IRI of the entity that a mention belongs to. `mention` is undefined for a line whose mention is unknown. */
export type EntityOf = (mention: string | undefined, entity: string) => string

const subjectPredicate = `<${rdf.subject}>`
const objectPredicate = `<${rdf.object}>`

const iriOf = (term: string): string => term.slice(1, -1)

/** The mentions of an entity. An entity of a graph without resolution is its own mention. */
const mentionsIn = ({ subject, values }: NodeOfLines): ReadonlyArray<string> => {
  const found = (values.get(sameAs) ?? []).map(iriOf).filter((iri) => entityPlace(iri) !== undefined)
  return found.length === 0 && entityPlace(iriOf(subject)) !== undefined ? [iriOf(subject)] : found
}

const nodesOf = <E, R>(lines: Stream.Stream<string, E, R>, entities: ReadonlySet<string>) =>
  nodesOfLines(Stream.filter(lines, (line) => entities.has(iriOf(lineParts(line).subject))))

/** The mentions of the given entities. An entity that the lines do not have is absent. */
export const mentionsOf = <E, R>(
  lines: Stream.Stream<string, E, R>,
  entities: ReadonlySet<string>,
): Effect.Effect<ReadonlyMap<string, ReadonlyArray<MentionOf>>, E, R> =>
  Effect.map(
    Stream.runCollect(nodesOf(lines, entities)),
    (nodes) =>
      new Map(
        nodes.map((node) => {
          const entity = iriOf(node.subject)
          const found = mentionsIn(node).map((mention) => ({ documentId: entityPlace(mention)?.document ?? "", mention, entity }))
          return [entity, found]
        }),
      ),
  )

/** The lines of a contribution with moved mentions. */
export interface MovedLines {
  /** Whether a line is gone, or is among `added` again. */
  readonly isTouched: (line: string) => boolean
  /** Sorted. */
  readonly added: ReadonlyArray<string>
}

/** Reads `lines` two or three times. Only the lines of the given entities are in memory. */
export const moveMentions = <E, R>(
  lines: Stream.Stream<string, E, R>,
  entities: ReadonlySet<string>,
  entityOf: EntityOf,
): Effect.Effect<MovedLines, E, R> =>
  Effect.gen(function* () {
    const isMoved = (term: string) => entities.has(iriOf(term))
    const nodes = yield* Stream.runCollect(nodesOf(lines, entities))
    const mentions = new Map(nodes.map((node) => [iriOf(node.subject), mentionsIn(node)]))
    const statements = yield* Stream.runCollect(
      Stream.filter(statementsOf(lines), ({ values }) =>
        [subjectPredicate, objectPredicate].some((predicate) => (values.get(predicate) ?? []).some(isMoved)),
      ),
    )
    const inDocument = (entity: string, document: string | undefined) =>
      (mentions.get(entity) ?? []).filter((mention) => entityPlace(mention)?.document === document)
    /** Whether the mentions of the entity in a document belong to one entity now, so that no statement is ambiguous. */
    const oneEntity = (entity: string, document: string | undefined): string | undefined => {
      const found = new Set(inDocument(entity, document).map((mention) => entityOf(mention, entity)))
      if (found.size === 0) return entityOf(undefined, entity)
      return found.size === 1 ? [...found][0] : undefined
    }
    const ambiguous = statements.filter(({ subject, values }) => {
      const document = documentOfStatement(iriOf(subject))
      return [...(values.get(subjectPredicate) ?? []), ...(values.get(objectPredicate) ?? [])].some(
        (term) => isMoved(term) && oneEntity(iriOf(term), document) === undefined,
      )
    })
    if (ambiguous.length > 0) {
      // The digest of a statement has the mentions on both of its sides.
      const others = ambiguous.flatMap(({ values }) => [...(values.get(subjectPredicate) ?? []), ...(values.get(objectPredicate) ?? [])])
      const unread = new Set(others.filter((term) => term.startsWith("<") && !isMoved(term)).map(iriOf))
      for (const [entity, found] of yield* mentionsOf(lines, unread))
        mentions.set(
          entity,
          found.map(({ mention }) => mention),
        )
    }

    const added = new Set<string>()
    const add = (subject: string, predicate: string, object: string) => added.add([subject, predicate, object, "."].join(" "))
    for (const node of nodes) addEntities(node, mentions.get(iriOf(node.subject)) ?? [], entityOf, add)
    for (const { subject: statement, values } of statements) {
      const document = documentOfStatement(iriOf(statement))
      const [subject = "", predicate = "", object = ""] = [subjectPredicate, `<${rdf.predicate}>`, objectPredicate].map(
        (part) => values.get(part)?.[0] ?? "",
      )
      const [start, end] = ["start", "end"].map((name) => Number(termOf(values.get(`<${detentVocabulary}${name}>`)?.[0] ?? '""').value))
      const candidates = (term: string): ReadonlyArray<string | undefined> => {
        const found = term.startsWith("<") ? inDocument(iriOf(term), document) : []
        return found.length === 0 ? [undefined] : found
      }
      const pair = candidates(subject)
        .flatMap((left) => candidates(object).map((right) => [left, right] as const))
        .find(([left, right]) =>
          isStatementOf(iriOf(statement), {
            documentId: document ?? "",
            subject: left ?? iriOf(subject),
            property: iriOf(predicate),
            object: right === undefined ? termOf(object) : { termType: "NamedNode", value: right },
            span: { start: start ?? 0, end: end ?? 0 },
          }),
        )
      const now = (term: string, side: 0 | 1): string => {
        if (!isMoved(term)) return term
        const one = oneEntity(iriOf(term), document)
        return `<${one ?? entityOf(pair?.[side] ?? candidates(term)[0], iriOf(term))}>`
      }
      const [from, to] = [now(subject, 0), now(object, 1)]
      add(from, predicate, to)
      add(statement, subjectPredicate, from)
      add(statement, objectPredicate, to)
    }
    const restated = new Set(statements.map(({ subject }) => subject))
    return {
      isTouched: (line) => {
        const { subject, predicate, object } = lineParts(line)
        if (isMoved(subject) || (object.startsWith("<") && isMoved(object) && predicate !== sameAs)) return true
        return restated.has(subject) && (predicate === subjectPredicate || predicate === objectPredicate)
      },
      added: [...added].toSorted(compareText),
    }
  })

/** Adds the lines of the entities that the mentions of a node belong to now: class and label, documents, and links to the mentions. */
const addEntities = (
  node: NodeOfLines,
  mentions: ReadonlyArray<string>,
  entityOf: EntityOf,
  add: (subject: string, predicate: string, object: string) => void,
): void => {
  const { subject, values } = node
  const own = iriOf(subject)
  const rest = [typePredicate, labelPredicate, identifierPredicate].flatMap((predicate) =>
    (values.get(predicate) ?? []).map((term): NamingTerm => [predicate, term]),
  )
  const byDigest = Map.groupBy(mentions, (mention) => entityPlace(mention)?.digest)
  const named = new Set<string>()
  const unnamed = new Set(mentions)
  for (const { digest, terms } of digestsOf(node))
    for (const mention of byDigest.get(digest) ?? []) {
      for (const [predicate, term] of terms) {
        add(`<${entityOf(mention, own)}>`, predicate, term)
        named.add(`${predicate} ${term}`)
      }
      unnamed.delete(mention)
    }
  for (const mention of mentions) {
    const entity = `<${entityOf(mention, own)}>`
    if (entity !== `<${mention}>`) add(entity, sameAs, `<${mention}>`)
    const document = entityPlace(mention)?.document
    if (document !== undefined) add(entity, derivedFrom, `<${documentIri(document)}>`)
  }
  // A label that is shorter or longer than the name in the digest belongs to a mention without a match.
  const left = rest.filter((term) => !named.has(term.join(" ")))
  const heirs = new Set([...unnamed].map((mention) => entityOf(mention, own)))
  if (heirs.size === 0 && left.length > 0) heirs.add(entityOf(mentions[0], own))
  // An entity has a class and a label.
  const isWhole = [typePredicate, labelPredicate].every((wanted) => left.some(([predicate]) => predicate === wanted))
  for (const heir of heirs) for (const [predicate, term] of isWhole || unnamed.size === 0 ? left : rest) add(`<${heir}>`, predicate, term)
}
