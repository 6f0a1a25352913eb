/**
 * Applies the decisions of reviewers to graphs. An accepted fact is stated like any other, by the same statement with the same words,
 * and its statement is attributed to the reviewer. A rejected fact is stated nowhere.
 */

import { compareText } from "@detent/machine/internal"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { entityIri, factTriples } from "../fact/FactGraph.ts"
import { documentOfLine, sameAs, withoutStatements } from "../graph/GraphLines.ts"
import { literal, namedNode, triple } from "../rdf/Term.ts"
import { lineOf, lineParts, typePredicate } from "../rdf/Turtle.ts"
import { detentVocabulary, rdf, vocabularies } from "../rdf/Vocabulary.ts"
import { type ReviewFact, sourceOf, statementOfReview } from "./ReviewItem.ts"
import type { Decision } from "./ReviewStore.ts"

const { prov, xsd } = vocabularies

const acceptedByPredicate = `<${detentVocabulary}acceptedBy>`

const acceptancePredicates: ReadonlySet<string> = new Set([
  `<${prov}wasAttributedTo>`,
  acceptedByPredicate,
  `<${detentVocabulary}acceptedAt>`,
])

/** The IRI of a reviewer, who is an agent in PROV. */
const agentIri = (name: string): string => `urn:detent:agent:${encodeURIComponent(name.toWellFormed())}`

/** The lines of an accepted fact, with the IRIs that its entities have in their document. */
export const acceptedLines = ({ fact, by, at }: Decision): ReadonlyArray<string> => {
  const statement = namedNode(statementOfReview(fact))
  const acceptance = [
    triple(statement, `${prov}wasAttributedTo`, namedNode(agentIri(by))),
    triple(statement, `${detentVocabulary}acceptedBy`, literal(by.toWellFormed())),
    triple(statement, `${detentVocabulary}acceptedAt`, literal(DateTime.formatIso(DateTime.makeUnsafe(at)), `${xsd}dateTime`)),
  ]
  return [...factTriples([fact.fact], sourceOf(fact)), ...acceptance].map(lineOf)
}

/** Leaves out the lines that attribute the given statements to a reviewer. */
export const withoutAcceptance = <E, R>(
  lines: Stream.Stream<string, E, R>,
  statements: ReadonlySet<string>,
): Stream.Stream<string, E, R> =>
  statements.size === 0
    ? lines
    : Stream.filter(lines, (line) => {
        const { subject, predicate } = lineParts(line)
        return !(acceptancePredicates.has(predicate) && statements.has(subject.slice(1, -1)))
      })

/** The IRIs of a fact's entities in its document, as N-Triples writes them. */
export const entitiesOf = ({ documentId, fact: { subject, object } }: ReviewFact): ReadonlyArray<string> =>
  [subject, ...(object._tag === "Entity" ? [object.mention] : [])].map((mention) => `<${entityIri(documentId, mention)}>`)

/** The decisions on a version of a document. */
export interface DocumentDecisions {
  readonly accepted: ReadonlyArray<Decision>
  /** The IRIs of statements. */
  readonly rejected: ReadonlySet<string>
}

export const byDocument = (decisions: ReadonlyArray<Decision>): ReadonlyMap<string, DocumentDecisions> =>
  new Map(
    [...Map.groupBy(decisions, ({ fact }) => fact.documentId)].map(([document, made]) => [
      document,
      { accepted: made.filter(({ verdict }) => verdict === "accepted"), rejected: statementsOf(made, "rejected") },
    ]),
  )

export const statementsOf = (decisions: ReadonlyArray<Decision>, wanted: Decision["verdict"]): ReadonlySet<string> =>
  new Set(decisions.filter(({ verdict }) => verdict === wanted).map(({ fact }) => statementOfReview(fact)))

/** Adds accepted facts to the graphs of documents, and removes rejected ones. */
export const withDecisions = <E, R>(
  documents: Stream.Stream<Stream.Stream<string, E, R>, E, R>,
  decisions: ReadonlyMap<string, DocumentDecisions>,
): Stream.Stream<Stream.Stream<string, E, R>, E, R> =>
  decisions.size === 0
    ? documents
    : Stream.mapEffect(documents, (lines) =>
        Effect.map(Stream.runHead(lines), (first) => {
          // The lines of the document itself come first.
          const decided = first._tag === "None" ? undefined : decisions.get(documentOfLine(first.value) ?? "")
          return decided === undefined ? lines : decidedLines(lines, decided)
        }),
      )

const decidedLines = <E, R>(lines: Stream.Stream<string, E, R>, { accepted, rejected }: DocumentDecisions): Stream.Stream<string, E, R> =>
  Stream.unwrap(
    Effect.map(Stream.runCollect(withoutStatements(lines, rejected)), (remaining) =>
      Stream.fromIterable(sortedLines([...remaining, ...accepted.flatMap(acceptedLines)])),
    ),
  )

/** Sorts the lines and removes duplicates. */
export const sortedLines = (lines: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(lines)].toSorted(compareText)

/** The entities and statements of decisions that a contribution to the graph has already. */
export interface Standing {
  /** The IRI of an entity in the graph, by its IRI in its document. */
  readonly canonical: ReadonlyMap<string, string>
  /** The stated ones that are attributed to a reviewer. */
  readonly attributed: ReadonlySet<string>
  /** All statements of the decisions that the contribution has. */
  readonly stated: ReadonlySet<string>
}

/** Looks for the entities and statements of decisions in the lines of a contribution. */
export const standingIn = <E, R>(lines: Stream.Stream<string, E, R>, decisions: ReadonlyArray<Decision>): Effect.Effect<Standing, E, R> =>
  Effect.gen(function* () {
    const entities = new Set(decisions.flatMap(({ fact }) => entitiesOf(fact)))
    const statements = new Set(decisions.map(({ fact }) => `<${statementOfReview(fact)}>`))
    const canonical = new Map<string, string>()
    const attributed = new Set<string>()
    const stated = new Set<string>()
    yield* Stream.runForEachArray(lines, (batch) =>
      Effect.sync(() => {
        for (const line of batch) {
          const { subject, predicate, object } = lineParts(line)
          if (statements.has(subject)) {
            stated.add(subject.slice(1, -1))
            if (predicate === acceptedByPredicate) attributed.add(subject.slice(1, -1))
          } else if (predicate === sameAs && entities.has(object)) canonical.set(object, subject)
          // Without resolution, entities have the same IRI in the graph as in their document.
          else if (entities.has(subject)) canonical.set(subject, subject)
        }
      }),
    )
    return { canonical, attributed, stated }
  })

/**
 * The lines of an accepted fact, with the IRIs that its entities have in the graph. For an entity that the graph has already, neither
 * its class nor the link to its IRI in the document is stated again: validation may have held them back.
 */
export const linesInGraph = (
  decision: Decision,
  names: ReadonlyMap<string, string>,
  known: Standing["canonical"],
): ReadonlyArray<string> => {
  const links = entitiesOf(decision.fact).flatMap((own) => {
    const name = names.get(own)
    return name === undefined || name === own || known.has(own) ? [] : [`${name} ${sameAs} ${own} .`]
  })
  const lines = acceptedLines(decision).flatMap((line) => {
    const { subject, predicate, object } = lineParts(line)
    if (known.has(subject) && predicate === typePredicate) return []
    return [[names.get(subject) ?? subject, predicate, names.get(object) ?? object, "."].join(" ")]
  })
  return [...lines, ...links]
}

/** The line of the fact itself, without its provenance. */
export const statedLineOf = ({ fact }: Decision, lines: ReadonlyArray<string>): string => {
  const statement = `<${statementOfReview(fact)}>`
  const parts = new Map(
    lines.map(lineParts).flatMap(({ subject, predicate, object }) => (subject === statement ? [[predicate, object] as const] : [])),
  )
  return [...[rdf.subject, rdf.predicate, rdf.object].map((part) => parts.get(`<${part}>`) ?? ""), "."].join(" ")
}

/** The IRIs of resolved entities, by their IRIs in their documents. */
export const namesOf = (lines: ReadonlyArray<string>): ReadonlyMap<string, string> =>
  new Map(
    lines
      .map(lineParts)
      .flatMap(
        ({ subject, predicate, object }): ReadonlyArray<readonly [string, string]> => (predicate === sameAs ? [[object, subject]] : []),
      ),
  )
