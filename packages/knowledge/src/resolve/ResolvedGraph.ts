/**
 * Merges the graphs of many documents into one, in which each entity has one IRI. Each document is read twice: for its entities, and,
 * after resolution, for its lines. The IRI of an entity in its document is kept as `owl:sameAs`.
 */

import { createHash } from "node:crypto"
import { itemsOf, type TaskChannel, type WorkerError } from "@detent/processes"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { entityPlace, identifierProperty } from "../fact/FactGraph.ts"
import { labelPredicate, type NodeOfLines, nodesOfLines, sameAs, statementType } from "../graph/GraphLines.ts"
import { OntologyIndex, type PackedOntology } from "../ontology/OntologyIndex.ts"
import { type SortFailed, sortLines } from "../rdf/LineSort.ts"
import { detached, KeptTexts, lineParts, nameOfNode, termOf, typePredicate } from "../rdf/Turtle.ts"
import { WorkerPool } from "../threads/WorkerPool.ts"
import {
  type Cluster,
  type Identifier,
  type KnownEntity,
  type Merge,
  type MergeProposal,
  type NamedMention,
  type Resolution,
  Resolver,
  type SingleValue,
} from "./Resolver.ts"

export interface ResolveOptions<E, R> {
  /** The sorted lines of each document. Read twice; both reads must yield the same order. */
  readonly documents: Stream.Stream<Stream.Stream<string, E, R>, E, R>
  /** The sorted lines of the existing graph, whose entities keep their IRIs. */
  readonly existing: Stream.Stream<string, E, R>
  readonly ontology: OntologyIndex
  /** The prefix of new IRIs; it ends with a slash or a hash. */
  readonly base: string
  /** How many documents count, from the first on. Default: all. */
  readonly counted?: number
  /** What people have decided about mentions. */
  readonly decided?: DecidedMentions
}

/** Decisions of people on mentions. */
export interface DecidedMentions {
  /** The IRI of the entity, by the IRI that the mention has in its document. */
  readonly entities: ReadonlyMap<string, string>
  /** The entity that an entity became, by the IRI that was merged away. */
  readonly merged: ReadonlyMap<string, string>
}

const nothingDecided: DecidedMentions = { entities: new Map(), merged: new Map() }

export interface ResolvedGraph<E, R> {
  /** Unsorted, and may contain duplicates. */
  readonly lines: Stream.Stream<string, E, R>
  /** Number of entities before resolution, counted per document. */
  readonly mentions: number
  /** Number of entities after resolution. */
  readonly entities: number
  readonly merges: ReadonlyArray<Merge>
  readonly proposals: ReadonlyArray<MergeProposal>
}

export const resolveGraphs = <E, R>(options: ResolveOptions<E, R>): Effect.Effect<ResolvedGraph<E, R>, E, R> =>
  Effect.gen(function* () {
    const { documents, existing, ontology, base, counted = Number.POSITIVE_INFINITY, decided = nothingDecided } = options
    const identifying = new Set([
      `<${identifierProperty}>`,
      ...ontology.ontology.properties.filter(({ traits }) => traits.includes("inverseFunctional")).map(({ iri }) => `<${iri}>`),
    ])
    const resolver = new Resolver((type) => ontology.ancestors(type), {
      labels: (type) => ontology.names(type),
      areDisjoint: (one, other) => ontology.areDisjoint(one, other),
    })
    const entities = new EntityReading(identifying, new Set([...ontology.singleValued].map((iri) => `<${iri}>`)))
    yield* Stream.runForEach(nodesOfLines(existing), (node) =>
      Effect.sync(() => {
        for (const entity of entities.known(node)) resolver.know(entity)
      }),
    )
    const offsets: Array<number> = []
    const ids: Array<string> = []
    yield* Stream.runForEach(documents, (lines) =>
      Effect.map(Stream.runCollect(entitiesOf(lines)), (nodes) => {
        offsets.push(resolver.mentionCount)
        ids.push(entityPlace(nameOfNode(nodes[0]?.subject ?? ""))?.document ?? "")
        resolver.addDocument(nodes.map((node) => entities.mention(node, decided.entities.get(nameOfNode(node.subject)))))
      }),
    )
    const resolution = resolver.resolve()
    const { clusters, clusterOf, merges, proposals } = resolution
    const iris = canonicalIris(base, clusters, firstDocumentsOf(clusters.length, resolution, offsets, ids)).map(
      (iri) => `<${decided.merged.get(iri) ?? iri}>`,
    )
    const rewritten = Stream.flatMap(Stream.zipWithIndex(documents), ([lines, position]) =>
      rewrite(lines, (index) => iris[clusterOf[(offsets[position] ?? 0) + index] ?? -1]),
    )
    const mentions = offsets[counted] ?? resolver.mentionCount
    return { lines: rewritten, mentions, entities: new Set(clusterOf.subarray(0, mentions)).size, merges, proposals }
  })

const isEntity = ({ values }: NodeOfLines): boolean =>
  values.has(labelPredicate) && !(values.get(typePredicate)?.includes(statementType) ?? true)

const entitiesOf = <E, R>(lines: Stream.Stream<string, E, R>): Stream.Stream<NodeOfLines, E, R> =>
  Stream.filter(nodesOfLines(lines), isEntity)

/** Reads entities from nodes. The data stays in memory until all documents are read, so strings are interned. */
class EntityReading {
  readonly #kept = new KeptTexts()
  readonly #identifying: ReadonlySet<string>
  readonly #single: ReadonlySet<string>

  constructor(identifying: ReadonlySet<string>, single: ReadonlySet<string>) {
    this.#identifying = identifying
    this.#single = single
  }

  mention(node: NodeOfLines, known: string | undefined): NamedMention {
    return {
      ...(known === undefined ? {} : { known }),
      type: this.#values(node, typePredicate)[0] ?? "",
      name: this.#values(node, labelPredicate)[0] ?? "",
      identifiers: this.#identifiers(node),
      values: this.#singleValues(node),
    }
  }

  known(node: NodeOfLines): ReadonlyArray<KnownEntity> {
    if (!isEntity(node)) return []
    const names = this.#values(node, labelPredicate)
    const identifiers = this.#identifiers(node)
    const values = this.#singleValues(node)
    const iri = detached(nameOfNode(node.subject))
    return this.#values(node, typePredicate).map((type) => ({ iri, type, names, identifiers, values }))
  }

  #values({ values }: NodeOfLines, predicate: string): ReadonlyArray<string> {
    return (values.get(predicate) ?? []).map((object) => this.#kept.of(termOf(object).value))
  }

  /** Without texts in a language, of which each language has its own. A property with several values decides nothing. */
  #singleValues({ values }: NodeOfLines): ReadonlyArray<SingleValue> {
    return [...this.#single].flatMap((property) => {
      const [object, another] = values.get(property) ?? []
      if (object === undefined || another !== undefined) return []
      const term = termOf(object)
      return term.termType === "Literal" && term.language === "" ? [[property, this.#kept.of(term.value)] as const] : []
    })
  }

  #identifiers(node: NodeOfLines): ReadonlyArray<Identifier> {
    return [...this.#identifying].flatMap((property) => {
      const [value] = this.#values(node, property)
      return value === undefined ? [] : [[property, value] as const]
    })
  }
}

/** Replaces document IRIs by canonical ones. Entities are indexed in the order of the lines, as in the first read. */
const rewrite = <E, R>(lines: Stream.Stream<string, E, R>, iriOf: (index: number) => string | undefined): Stream.Stream<string, E, R> =>
  Stream.unwrap(
    Effect.map(Stream.runCollect(entitiesOf(lines)), (nodes) => {
      const iris = new Map(nodes.map(({ subject }, index) => [subject, iriOf(index) ?? subject]))
      const links = [...iris].map(([own, canonical]) => `${canonical} ${sameAs} ${own} .`)
      const body = Stream.map(lines, (line) => {
        const { subject, predicate, object } = lineParts(line)
        // `join`, since a template literal creates a rope string that retains the strings its pieces come from.
        return [iris.get(subject) ?? subject, predicate, iris.get(object) ?? object, "."].join(" ")
      })
      return Stream.concat(body, Stream.fromIterable(links))
    }),
  )

/**
 * The IRI of a resolved entity: deterministic in its name, its identifiers and `apart`, and opaque, so that it stays when a class is renamed.
 * Keeps the IRI that an earlier batch assigned. `base` ends with a slash or a hash.
 */
export const canonicalIri = (base: string, { known, identity }: Cluster, apart?: string): string =>
  known ??
  `${base}${createHash("sha256")
    .update(apart === undefined ? identity : `${identity}\n${apart}`)
    .digest("hex")
    .slice(0, 20)}`

/**
 * The IRI of each entity. Namesakes that no earlier batch knew have their values in the digest, those with the same values the first of their
 * documents, and those of one document a number in the order of their classes.
 */
const canonicalIris = (base: string, clusters: ReadonlyArray<Cluster>, firstDocuments: ReadonlyArray<string>): ReadonlyArray<string> => {
  const iris = clusters.map((cluster) => canonicalIri(base, cluster))
  const tellApart = (tell: (index: number, namesakes: ReadonlyArray<number>) => string) => {
    for (const namesakes of namesakesIn(iris))
      for (const index of namesakes) iris[index] = canonicalIri(base, clusters[index]!, tell(index, namesakes))
  }
  tellApart((index) => JSON.stringify(clusters[index]?.values))
  tellApart((index) => JSON.stringify([clusters[index]?.values, firstDocuments[index]]))
  tellApart((index, namesakes) => {
    const byClass = namesakes.toSorted((one, other) => ((clusters[one]?.type ?? "") < (clusters[other]?.type ?? "") ? -1 : 1))
    return JSON.stringify([clusters[index]?.values, firstDocuments[index], byClass.indexOf(index)])
  })
  return iris
}

/** The positions of each IRI that occurs more than once. */
const namesakesIn = (iris: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<number>> => {
  const first = new Map<string, number>()
  const repeated = new Map<string, Array<number>>()
  iris.forEach((iri, index) => {
    const other = first.get(iri)
    if (other === undefined) first.set(iri, index)
    else if (repeated.get(iri)?.push(index) === undefined) repeated.set(iri, [other, index])
  })
  return [...repeated.values()]
}

/** The least document id of each cluster; empty for a cluster of the existing graph only. */
const firstDocumentsOf = (
  clusters: number,
  { clusterOf }: Resolution,
  offsets: ReadonlyArray<number>,
  documents: ReadonlyArray<string>,
) => {
  const first = Array.from({ length: clusters }, () => "")
  offsets.forEach((from, position) => {
    const document = documents[position] ?? ""
    for (let mention = from; mention < (offsets[position + 1] ?? clusterOf.length); mention++) {
      const cluster = clusterOf[mention] ?? -1
      const known = first[cluster]
      if (known === "" || (known !== undefined && document < known)) first[cluster] = document
    }
  })
  return first
}

export interface ResolvedLines<E, R> {
  /** Sorted, each once. */
  readonly lines: Stream.Stream<string, E | SortFailed | WorkerError, R>
  /** Available after all lines are read. */
  readonly counts: () => ResolveOutput
}

/** Number of documents per message to the worker. */
const documentsAtOnce = 8

/**
 * Like `resolveGraphs` with sorted lines, on the worker pool in the context, whose limits bound the cost of comparing names. Without a
 * pool, the caller's thread resolves.
 */
export const resolveOnWorker = <E, R>(options: ResolveOptions<E, R>): Effect.Effect<ResolvedLines<E, R>, E, R> =>
  Effect.gen(function* () {
    const pool = yield* WorkerPool.inContext
    if (Option.isNone(pool)) {
      const graph = yield* resolveGraphs(options)
      return { lines: sortLines(graph.lines), counts: () => outputOf(graph) }
    }
    let counts: ResolveOutput = { mentions: 0, entities: 0, merges: [], proposals: [] }
    const { documents, existing, ontology, base, counted, decided = nothingDecided } = options
    const input: ResolveInput = {
      ontology: ontology.pack(),
      base,
      ...(counted === undefined ? {} : { counted }),
      decided: { entities: [...decided.entities], merged: [...decided.merged] },
    }
    const lines = pool.value.stream<E, R>("resolution.resolve", input, {
      limit: pool.value.limits.graph,
      sources: {
        documents: Stream.rechunk(
          Stream.mapEffect(documents, (one) => Stream.runCollect(one)),
          documentsAtOnce,
        ),
        existing,
      } satisfies Record<ResolveSource, Stream.Stream<unknown, E, R>>,
      // The named task returns `ResolveOutput` and emits lines.
      done: (output) => {
        counts = output as ResolveOutput
      },
    })
    return { lines: Stream.map(lines, (line) => line as string), counts: () => counts }
  })

interface ResolveInput {
  readonly ontology: PackedOntology
  readonly base: string
  readonly counted?: number
  readonly decided: Readonly<Record<keyof DecidedMentions, ReadonlyArray<readonly [string, string]>>>
}

interface ResolveOutput {
  readonly mentions: number
  readonly entities: number
  readonly merges: ReadonlyArray<Merge>
  readonly proposals: ReadonlyArray<MergeProposal>
}

/** Maximum number of listed merges and of proposals: a batch may have as many as names. */
const mergesListed = 1000

/** Normalises the sides of a merge, so that the list does not depend on the order of the documents. */
const inOrder = <A extends Merge | MergeProposal>(merge: A): A =>
  merge.left <= merge.right ? merge : { ...merge, left: merge.right, right: merge.left }

const byNames = (one: Merge | MergeProposal, other: Merge | MergeProposal): number => {
  const [first, second] = [`${one.left}\n${one.right}`, `${other.left}\n${other.right}`]
  return first < second ? -1 : first > second ? 1 : 0
}

const listed = <A extends Merge | MergeProposal>(all: ReadonlyArray<A>): ReadonlyArray<A> =>
  all.map(inOrder).sort(byNames).slice(0, mergesListed)

const outputOf = <E, R>({ mentions, entities, merges, proposals }: ResolvedGraph<E, R>): ResolveOutput => ({
  mentions,
  entities,
  merges: listed(merges),
  proposals: listed(proposals),
})

/** The lines of each document, and the lines of the existing graph. */
type ResolveSource = "documents" | "existing"

/** Emits the lines of the resolved graph sorted, each once. */
const resolutionTask = ({ ontology, decided, ...input }: ResolveInput, channel: TaskChannel): Promise<ResolveOutput> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const graph = yield* resolveGraphs({
        documents: Stream.map(itemsOf<ReadonlyArray<string>>(channel, "documents" satisfies ResolveSource), (lines) =>
          Stream.fromIterable(lines),
        ),
        existing: itemsOf<string>(channel, "existing" satisfies ResolveSource),
        ontology: OntologyIndex.unpack(ontology),
        decided: { entities: new Map(decided.entities), merged: new Map(decided.merged) },
        ...input,
      })
      yield* Stream.runForEachArray(sortLines(graph.lines), (lines) => Effect.promise(() => channel.emit(lines)))
      return outputOf(graph)
    }),
  )

/** The worker task `resolution.resolve`. */
export const tasks = { resolve: resolutionTask }
