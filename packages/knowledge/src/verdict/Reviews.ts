/**
 * The review lists of batches: facts too uncertain for the graph, which reviewers accept or reject. An accepted fact enters the graph
 * with the name of the reviewer, if the graph conforms with it; a rejected fact stays out of the graph, even when the same version of
 * the document is extracted again.
 *
 * ```ts
 * const reviews = yield* Reviews
 * const { facts } = yield* reviews.list(batchId, { below: 0.4 })
 * yield* reviews.accept(batchId, { facts: facts.map(({ factId }) => factId) }, "ada")
 * ```
 *
 * `reopen` reverses a decision: the fact leaves the graph and is open again. Every decision stays in the history of the fact.
 *
 * A decision is stored before the graph changes. A process that dies in between leaves it pending: the next decision, the next
 * start of a working process, or the loop of a running one applies it to the graph. Applying it twice changes nothing.
 */

import { contentHashOf } from "@detent/blobs/ContentHash"
import { blobIn, getText, Storage, type StorageFolder } from "@detent/blobs/Storage"
import { forkLoop } from "@detent/durable"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import { Batches } from "../batch/Batches.ts"
import { type BatchState, defaultBatchConfig } from "../batch/BatchState.ts"
import { publishGraph } from "../batch/GraphStages.ts"
import { loadManifest } from "../batch/Manifest.ts"
import { startedOntology } from "../batch/ManifestMaking.ts"
import { documentOfIri } from "../fact/FactGraph.ts"
import { CanonicalGraph, type Contribution, type GraphError, type GraphVersion, type ShownDocument } from "../graph/CanonicalGraph.ts"
import { involvedIn, mergedStreams, storedLines, withoutEntities, withoutStatements, writeLines } from "../graph/GraphLines.ts"
import { lineParts, termOf } from "../rdf/Turtle.ts"
import { resolveOnWorker } from "../resolve/ResolvedGraph.ts"
import { IdentityStore } from "../review/IdentityStore.ts"
import { collectReviews } from "../review/ReviewCollection.ts"
import {
  acceptedLines,
  entitiesOf,
  linesInGraph,
  namesOf,
  type Standing,
  sortedLines,
  standingIn,
  statedLineOf,
  statementsOf,
  withoutAcceptance,
} from "../review/ReviewedGraph.ts"
import {
  type ReviewCounts,
  type ReviewedOnce,
  type ReviewFact,
  type ReviewItem,
  type ReviewOutcome,
  type ReviewStatus,
  statementOfReview,
  whyInReview,
} from "../review/ReviewItem.ts"
import { type Decision, type ListedFact, type ListPlace, ReviewStore } from "../review/ReviewStore.ts"
import type { Extractors } from "../runs/Extractors.ts"
import { type ArtifactError, loadArtifact } from "../runs/RunArtifacts.ts"
import { RunStore } from "../runs/RunStore.ts"
import type { ArtifactStore } from "../storage/ArtifactStore.ts"
import { type BatchId, type Namespace, RunId } from "../storage/Identity.ts"
import { linesOfBatch, pathsOfBatch } from "../storage/Paths.ts"
import type { Violation } from "../validate/Report.ts"
import { validateOnWorker } from "../validate/WorkerValidation.ts"

export interface ReviewPage {
  readonly facts: ReadonlyArray<ReviewItem>
  /** Where the next page begins; absent on the last one. */
  readonly next?: ListPlace
}

export interface ReviewFilter {
  /** An IRI, or its last part. */
  readonly property?: string
  /** Only facts with a lower confidence. */
  readonly below?: number
}

export interface ReviewQuery extends ReviewFilter {
  /** Default: all. */
  readonly status?: ReviewStatus
  readonly after?: ListPlace
  /** At most 1000. Default: 100. */
  readonly limit?: number
}

/** Facts by their ids, or all that pass a filter: `accept` and `reject` select open facts, `reopen` decided ones. */
export type ReviewSelection = { readonly facts: ReadonlyArray<string> } | ({ readonly all: true } & ReviewFilter)

/** The batch has no review list to decide on yet. */
export class ReviewNotReady extends Schema.TaggedError<ReviewNotReady>()("ReviewNotReady", {
  batchId: Schema.String,
  state: Schema.String,
}) {
  override get message() {
    return `${this.batchId} is ${this.state}; facts can be accepted and rejected when it is Completed or PartiallyCompleted`
  }
}

export class ReviewFactUnknown extends Schema.TaggedError<ReviewFactUnknown>()("ReviewFactUnknown", {
  batchId: Schema.String,
  facts: Schema.Array(Schema.String),
}) {
  override get message() {
    return `the review list of ${this.batchId} has no fact ${this.facts.join(", ")}; list it to find the ids`
  }
}

type ReadFailed = Effect.Error<ReturnType<(typeof Batches)["Service"]["state"]>> | Effect.Error<ReturnType<typeof collectReviews>>

type PublishError = ReadFailed | GraphError | Effect.Error<ReturnType<typeof publishGraph>> | UpdateError

type UpdateError =
  | Effect.Error<ReturnType<typeof loadManifest>>
  | Effect.Error<ReturnType<typeof startedOntology>>
  | ArtifactError
  | Effect.Error<ReturnType<typeof validateOnWorker<GraphError>>>
  | Stream.Error<Effect.Success<ReturnType<typeof resolveOnWorker<GraphError, never>>>["lines"]>

export interface ReviewsService {
  readonly list: (batch: BatchId, query?: ReviewQuery) => Effect.Effect<ReviewPage, ReadFailed>
  readonly counts: (batch: BatchId) => Effect.Effect<ReviewCounts, ReadFailed>
  /** Adds facts to the graph in the name of a reviewer. A fact with which the graph would not conform stays open. */
  readonly accept: (
    batch: BatchId,
    selection: ReviewSelection,
    by: string,
  ) => Effect.Effect<ReviewOutcome, PublishError | ReviewNotReady | ReviewFactUnknown>
  /** Keeps facts out of the graph. */
  readonly reject: (
    batch: BatchId,
    selection: ReviewSelection,
    by: string,
  ) => Effect.Effect<ReviewOutcome, PublishError | ReviewNotReady | ReviewFactUnknown>
  /**
   * Reverses decisions: the facts leave the graph and are open again. `all` selects the accepted and rejected facts that pass the filter.
   * Earlier decisions stay in the history of the fact.
   */
  readonly reopen: (
    batch: BatchId,
    selection: ReviewSelection,
    by: string,
  ) => Effect.Effect<ReviewOutcome, PublishError | ReviewNotReady | ReviewFactUnknown>
  /** Applies all pending decisions to their graphs. */
  readonly publishPending: Effect.Effect<void, PublishError>
}

export class Reviews extends Context.Service<Reviews, ReviewsService>()("@detent/knowledge/Reviews") {
  /** Files of batches and of the canonical graph are kept below the folder. */
  static readonly layer = (folder: StorageFolder) => Layer.effect(Reviews, make(folder))

  /** For a working process: applies decisions that another process stored and could not publish. */
  static readonly publishing: Layer.Layer<never, never, Reviews> = Layer.effectDiscard(
    Effect.gen(function* () {
      const { publishPending } = yield* Reviews
      yield* forkLoop("the publication of reviewed facts", Effect.andThen(publishPending, Effect.sleep("30 seconds")))
    }),
  )
}

/** The most facts that one request decides: all are in memory, and validated together. */
const decidedAtOnce = 10_000

/** How many runs' graphs are read at once. */
const runsAtOnce = 20

/** The lines of the graphs that runs extracted, before resolution. */
const linesOfRuns = (runs: ReadonlyArray<RunId>) =>
  Effect.gen(function* () {
    const found = yield* Effect.flatMap(RunStore, (store) => store.graphsOf(runs, "", runs.length))
    const texts = yield* Effect.forEach(
      found.flatMap(({ graphs }) => graphs),
      ({ run_id: run, artifact_key: key }) => loadArtifact(run, key),
    )
    return texts.flatMap((text) => text.split("\n").filter((line) => line !== ""))
  })

const pageOf = (limit: number | undefined): number => Math.max(1, Math.min(limit ?? 100, 1000))

const make = (folder: StorageFolder) =>
  Effect.gen(function* () {
    const store = yield* ReviewStore
    const batches = yield* Batches
    const canonical = yield* CanonicalGraph
    const storage = yield* Storage
    const context = yield* Effect.context<RunStore | ArtifactStore | Storage | Extractors | CanonicalGraph | ReviewStore>()
    const identities = yield* IdentityStore
    const one = yield* Semaphore.make(1)

    /** Returns the state of a batch. Makes the review list of a batch of an earlier release on the first request. */
    const ready = (batch: BatchId): Effect.Effect<BatchState, ReadFailed> =>
      Effect.gen(function* () {
        const state = yield* batches.state(batch)
        if (isEnded(state) && !(yield* store.isComplete(batch))) yield* Effect.provide(collectReviews(state), context)
        return state
      })

    const propertiesOf = (batch: BatchId, { property }: ReviewFilter) =>
      property === undefined
        ? Effect.succeed({})
        : Effect.map(store.properties(batch), (all) => ({
            properties: all.filter((iri) => iri === property || lastPartOf(iri) === property),
          }))

    const filterOf = (batch: BatchId, filter: ReviewFilter) =>
      Effect.map(propertiesOf(batch, filter), (properties) => ({
        ...properties,
        ...(filter.below === undefined ? {} : { below: filter.below }),
      }))

    const selected = (batch: BatchId, selection: ReviewSelection, statuses: ReadonlyArray<ReviewStatus>) =>
      Effect.gen(function* () {
        if (!("facts" in selection)) {
          const filter = yield* filterOf(batch, selection)
          const found = yield* Effect.forEach(statuses, (status) => store.list(batch, { ...filter, status, limit: decidedAtOnce }))
          return found.flat().slice(0, decidedAtOnce)
        }
        const wanted = [...new Set(selection.facts)].slice(0, decidedAtOnce)
        const found = yield* listedOf(
          batch,
          wanted.map((factId) => ({ factId })),
        )
        const known = new Set(found.map(({ factId }) => factId))
        const unknown = wanted.filter((id) => !known.has(id))
        if (unknown.length > 0) return yield* new ReviewFactUnknown({ batchId: batch, facts: unknown.slice(0, 20) })
        return found
      })

    const endedNamespace = (batch: BatchId) =>
      Effect.gen(function* () {
        const state = yield* ready(batch)
        return isEnded(state) ? state.targetNamespace : yield* new ReviewNotReady({ batchId: batch, state: state._tag })
      })

    const decide = (batch: BatchId, selection: ReviewSelection, verdict: "accepted" | "rejected", by: string) =>
      Effect.gen(function* () {
        const namespace = yield* endedNamespace(batch)
        const facts = yield* selected(batch, selection, ["open"])
        const at = yield* Clock.currentTimeMillis
        const made = facts.map(({ factId, fact }): Decision => ({ factId, namespace, fact, verdict, by, at, state: "pending" }))
        const isOwn = (decision: Pick<Decision, "verdict" | "by" | "at">) =>
          decision.verdict === verdict && decision.by === by && decision.at === at
        const stored = new Map((yield* store.decide(made)).map((decision) => [decision.factId, decision]))
        const own = made.filter(({ factId }) => isOwn(stored.get(factId) ?? { verdict, by: "", at: 0 }))
        const published = yield* Effect.exit(publish(namespace))
        // Publishing shows which facts the graph refuses.
        const settled = new Map((yield* listedOf(batch, own)).map(({ factId, decision }) => [factId, decision]))
        yield* published
        const problemOf = ({ factId }: Decision): string | undefined => {
          const before = stored.get(factId)
          if (before !== undefined && !isOwn(before)) return before.verdict === verdict ? undefined : decidedText(before)
          return settled.get(factId)?.problem
        }
        const refused = made.flatMap((decision) => {
          const problem = problemOf(decision)
          return problem === undefined ? [] : [{ factId: decision.factId, problem }]
        })
        const isRefused = new Set(refused.map(({ factId }) => factId))
        const decided = own.filter(({ factId }) => !isRefused.has(factId)).length
        const filter = "facts" in selection ? undefined : yield* filterOf(batch, selection)
        const stillOpen = own.length - decided
        const remaining = filter === undefined ? stillOpen : (yield* store.counts(batch, filter)).open
        const outcome: ReviewOutcome = {
          batchId: batch,
          namespace,
          decided,
          unchanged: made.length - decided - refused.length,
          refused,
          remaining,
          review: yield* store.counts(batch),
        }
        return outcome
      })

    const reopen = (batch: BatchId, selection: ReviewSelection, by: string) =>
      Effect.gen(function* () {
        const namespace = yield* endedNamespace(batch)
        // A decision is applied before it is reversed: until then another process may still be adding the fact to the graph.
        yield* publish(namespace)
        const facts = yield* selected(batch, selection, ["accepted", "rejected"])
        const reopened = yield* store.reopen(namespace, facts, by, yield* Clock.currentTimeMillis)
        yield* publish(namespace)
        const decided = facts.filter((fact) => statusOf(fact.decision) !== "open")
        const refused = decided.flatMap(({ factId, decision }) =>
          reopened.has(factId) || decision === undefined
            ? []
            : [{ factId, problem: `${decidedText(decision)}, and the decision is changing just now; try again` }],
        )
        const filter = "facts" in selection ? undefined : yield* filterOf(batch, selection)
        const counts = filter === undefined ? undefined : yield* store.counts(batch, filter)
        const outcome: ReviewOutcome = {
          batchId: batch,
          namespace,
          decided: reopened.size,
          unchanged: facts.length - decided.length,
          refused,
          remaining: counts === undefined ? refused.length : counts.accepted + counts.rejected,
          review: yield* store.counts(batch),
        }
        return outcome
      })

    /** Applies the pending decisions to a graph. Starts again when another batch or reviewer publishes meanwhile. */
    const publish = (namespace: Namespace): Effect.Effect<void, PublishError> =>
      Effect.gen(function* () {
        for (;;) {
          const pending = yield* store.pending(namespace, decidedAtOnce)
          if (pending.length === 0) return
          yield* publishSome(namespace, pending)
        }
      }).pipe(
        Effect.retry({ while: ({ _tag }) => _tag === "GraphMoved", schedule: Schedule.jittered(Schedule.spaced("20 millis")), times: 500 }),
        Effect.catchTag("GraphMoved", Effect.die),
        one.withPermit,
      )

    const publishSome = (namespace: Namespace, pending: ReadonlyArray<Decision>) =>
      Effect.gen(function* () {
        const current = yield* canonical.current(namespace)
        const shown = Option.isNone(current) ? new Map() : yield* canonical.documents(current.value)
        const ofBatch = new Map<BatchId | undefined, Array<Decision>>()
        for (const decision of pending) {
          const { documentId, contentHash } = decision.fact
          const document = shown.get(documentId)
          const batchId: BatchId | undefined = (document?.contentHash ?? "") === contentHash ? document?.batchId : undefined
          ofBatch.set(batchId, [...(ofBatch.get(batchId) ?? []), decision])
        }
        for (const [batchId, decisions] of ofBatch) {
          const refused = batchId === undefined ? outdated(decisions) : yield* publishInto(namespace, batchId, decisions)
          yield* Effect.forEach(decisions, (decision) => store.settle(decision, refused.get(decision.factId)), { discard: true })
        }
      })

    /** Returns the refused facts, each with the reason. */
    const publishInto = (namespace: Namespace, batchId: BatchId, decisions: ReadonlyArray<Decision>) =>
      Effect.gen(function* () {
        const current = Option.getOrUndefined(yield* canonical.current(namespace))
        const contribution = current?.contributions.find((each) => each.batchId === batchId)
        if (current === undefined || contribution === undefined) return outdated(decisions)
        const manifest = yield* loadManifest(storage, blobIn(folder, pathsOfBatch(batchId).manifest))
        const ontology = yield* Effect.provide(startedOntology(manifest), context)
        const { config } = yield* Effect.catchTag(batches.state(batchId), "BatchNotFound", () =>
          Effect.succeed({ config: defaultBatchConfig }),
        )
        const lines = storedLines(storage, contribution)
        const standing = yield* standingIn(lines, decisions)
        const reopened = decisions.filter(({ verdict, fact }) => verdict === "reopened" && standing.attributed.has(statementOfReview(fact)))
        // A fact that is not on the batch's own review list was certain enough: it stays in the graph, without the reviewer.
        const undone = yield* listedOf(batchId, reopened)
        const unsure = new Set(undone.map(({ fact }) => statementOfReview(fact)))
        const released = new Set([...statementsOf(reopened, "reopened")].filter((statement) => !unsure.has(statement)))
        const rejected = [...statementsOf(decisions, "rejected")].filter((statement) => standing.stated.has(statement))
        const taken = new Set([...rejected, ...unsure])
        const added = decisions.filter(({ verdict, fact }) => verdict === "accepted" && !standing.attributed.has(statementOfReview(fact)))
        const existing = canonical.lines(current)
        const names = yield* namesIn({
          namespace,
          existing,
          ontology,
          added,
          isResolved: config.resolveEntities,
          known: standing.canonical,
        })
        const stated = new Map(added.map((decision) => [decision, linesInGraph(decision, names, standing.canonical)]))
        const shapes =
          manifest.shaclUri === undefined ? undefined : { text: yield* getText(storage, manifest.shaclUri), source: manifest.shaclUri }
        const found =
          added.length === 0 || config.validation === "warn"
            ? undefined
            : yield* validateOnWorker(
                { shapes, isQuarantine: true },
                { added: Stream.fromIterable(sortedLines([...stated.values()].flat())), existing },
                ontology,
              )
        const held = new Set(found?.held?.lines)
        const reasons = new Map(
          (found?.statements ?? []).map(({ subject, property, value, message }) => [`${subject} ${property} ${value}`, message]),
        )
        const documents = held.size === 0 ? new Map<string, ShownDocument>() : yield* canonical.documents(current)
        const refused = new Map(
          [...stated].flatMap(([decision, own]): ReadonlyArray<readonly [string, string]> => {
            const line = statedLineOf(decision, own)
            if (!held.has(line)) return []
            const said = reasons.get(keyOfLine(line)) ?? "the shapes refuse it"
            return [[decision.factId, refusalText(decision.fact, line, said, found?.listed ?? [], documents)]]
          }),
        )
        const kept = [...stated].flatMap(([decision, own]) => (refused.has(decision.factId) ? [] : own))
        if (kept.length > 0 || taken.size > 0 || released.size > 0) {
          const accepted = yield* store.decisions(
            namespace,
            undone.map(({ fact }) => fact),
          )
          const others = accepted.filter(({ factId, verdict }) => verdict === "accepted" && !refused.has(factId))
          const entities = yield* entitiesOnlyOf({ undone, others, standing, lines, taken })
          const remaining = withoutEntities(withoutAcceptance(withoutStatements(lines, taken), released), entities)
          const changed = mergedStreams<GraphError>([remaining, Stream.fromIterable(sortedLines(kept))])
          const from = [contribution.hash, kept, [...taken], ...(released.size === 0 ? [] : [[...released]])]
          yield* replace(current, contribution, changed, contentHashOf(JSON.stringify(from)))
        }
        yield* Effect.provide(publishGraph(folder, namespace, ontology), context)
        return refused
      })

    /**
     * The entities that came into the graph with accepted facts, and leave it with them: those that neither the run of the document nor
     * another accepted fact brought. Of a run whose graph is deleted, those that no other statement of the document involves.
     */
    const entitiesOnlyOf = ({
      undone,
      others,
      standing,
      lines,
      taken,
    }: {
      readonly undone: ReadonlyArray<ListedFact>
      readonly others: ReadonlyArray<Decision>
      readonly standing: Standing
      readonly lines: Stream.Stream<string, GraphError>
      readonly taken: ReadonlySet<string>
    }) =>
      Effect.gen(function* () {
        if (undone.length === 0) return new Set<string>()
        const runs = [...new Set(undone.map(({ fact }) => fact.runId))]
        const readable = yield* Effect.flatMap(RunStore, (runStore) => runStore.withGraphs(runs))
        const candidates = new Set(undone.flatMap(({ fact }) => entitiesOf(fact)))
        const kept = new Set(others.flatMap(({ fact }) => entitiesOf(fact)))
        for (const some of Arr.chunksOf(
          [...readable].map((run) => RunId.make(run)),
          runsAtOnce,
        ))
          for (const line of yield* linesOfRuns(some)) {
            const { subject } = lineParts(line)
            if (candidates.has(subject)) kept.add(subject)
          }
        const involved = readable.size === runs.length ? new Set<string>() : yield* involvedIn(lines, taken)
        for (const { fact } of undone) {
          if (readable.has(fact.runId)) continue
          for (const entity of entitiesOf(fact))
            if (involved.has(`${fact.documentId} ${standing.canonical.get(entity) ?? entity}`)) kept.add(entity)
        }
        return new Set([...candidates].filter((entity) => !kept.has(entity)))
      }).pipe(Effect.provide(context))

    /** The given facts that are on the review list of a batch. */
    const listedOf = (batch: BatchId, facts: ReadonlyArray<Pick<Decision, "factId">>) =>
      Effect.map(
        Effect.forEach(Arr.chunksOf(facts, 500), (some) =>
          store.list(batch, { facts: some.map(({ factId }) => factId), limit: some.length }),
        ),
        (pages) => pages.flat(),
      )

    const replace = (
      current: GraphVersion,
      contribution: Contribution,
      lines: Stream.Stream<string, GraphError>,
      from: ReturnType<typeof contentHashOf>,
    ) =>
      Effect.gen(function* () {
        const { batchId, documents, held, validated } = contribution
        const written = yield* Effect.provide(writeLines(blobIn(folder, linesOfBatch(batchId, from).reviewed), lines), context)
        const list = {
          ...(documents === undefined ? {} : { documents }),
          ...(held === undefined ? {} : { held }),
          ...(validated === undefined ? {} : { validated }),
        }
        yield* canonical.contributeAt(current.namespace, { batchId, ...written, ...list }, Option.some(current.version))
      })

    /** The IRIs of the facts' entities in the graph. Entities that it does not have are resolved against it. */
    const namesIn = ({
      namespace,
      existing,
      ontology,
      added,
      isResolved,
      known,
    }: {
      readonly namespace: Namespace
      readonly existing: Stream.Stream<string, GraphError>
      readonly ontology: Effect.Success<ReturnType<typeof startedOntology>>
      readonly added: ReadonlyArray<Decision>
      readonly isResolved: boolean
      readonly known: ReadonlyMap<string, string>
    }) =>
      Effect.gen(function* () {
        const unknown = added.filter(({ fact }) => entitiesOf(fact).some((entity) => !known.has(entity)))
        if (unknown.length === 0 || !isResolved) return known
        const byDocument = Map.groupBy(unknown, ({ fact }) => fact.documentId)
        const documents = Stream.fromIterable(
          [...byDocument.values()].map((some) => Stream.fromIterable(sortedLines(some.flatMap(acceptedLines)))),
        )
        const decided = yield* identities.decided(namespace)
        const base = canonical.entityBase(namespace)
        const resolved = yield* resolveOnWorker<GraphError, never>({ documents, existing, ontology, base, decided })
        return new Map([...namesOf(yield* Stream.runCollect(resolved.lines)), ...known])
      })

    const service: ReviewsService = {
      list: (batch, query = {}) =>
        Effect.gen(function* () {
          const { targetNamespace } = yield* ready(batch)
          const limit = pageOf(query.limit)
          const rows = yield* store.list(batch, {
            ...(yield* filterOf(batch, query)),
            ...(query.status === undefined ? {} : { status: query.status }),
            ...(query.after === undefined ? {} : { after: query.after }),
            limit: limit + 1,
          })
          const facts = rows.slice(0, limit)
          const last = facts.at(-1)
          const next = rows.length > limit && last !== undefined ? { next: placeOf(last) } : {}
          const history = yield* store.history(targetNamespace, facts)
          return { facts: facts.map((fact) => itemOf(fact, history.get(fact.factId))), ...next }
        }),
      counts: (batch) =>
        Effect.gen(function* () {
          const state = yield* batches.state(batch)
          if (isEnded(state) && (yield* store.isComplete(batch))) return yield* store.counts(batch)
          return { open: "reviewCount" in state ? state.reviewCount : 0, accepted: 0, rejected: 0 }
        }),
      accept: (batch, selection, by) => decide(batch, selection, "accepted", by),
      reject: (batch, selection, by) => decide(batch, selection, "rejected", by),
      reopen,
      publishPending: Effect.flatMap(store.pendingIn, (namespaces) => Effect.forEach(namespaces, publish, { discard: true })),
    }
    return service
  })

const isEnded = ({ _tag }: BatchState): boolean => _tag === "Completed" || _tag === "PartiallyCompleted"

const lastPartOf = (iri: string): string => iri.slice(Math.max(iri.lastIndexOf("#"), iri.lastIndexOf("/"), iri.lastIndexOf(":")) + 1)

const outdated = (decisions: ReadonlyArray<Decision>): ReadonlyMap<string, string> =>
  new Map(
    decisions.flatMap(({ factId, verdict, fact }) =>
      verdict !== "accepted"
        ? []
        : [
            [
              factId,
              `the graph does not have this version of ${fact.source}: it has changed since, or is withdrawn; see the batch that read it last`,
            ],
          ],
    ),
  )

/** The most contradicting facts that a refusal names. */
const contradictionsShown = 3

/** Names the property, and the facts of the graph that the refused one contradicts, such as the other value of a property with one. */
const refusalText = (
  { fact: { quote: own } }: ReviewFact,
  line: string,
  said: string,
  violations: ReadonlyArray<Violation>,
  documents: ReadonlyMap<string, ShownDocument>,
): string => {
  const { subject, predicate } = lineParts(line)
  const property = termOf(predicate).value
  const contradicting = violations
    .filter(({ focus, property: of }) => focus === termOf(subject).value && of === property)
    .flatMap(({ sources }) => sources)
    .filter(({ quote }) => quote !== own)
    .map(({ document, quote }) => `${documents.get(documentOfIri(document))?.source ?? document}: "${quote}"`)
  const shown = [...new Set(contradicting)].slice(0, contradictionsShown)
  const beside = shown.length === 0 ? "" : `; the graph has ${shown.join(" and ")}`
  return `the graph would not conform: ${lastPartOf(property)}: ${said}${beside}`
}

const keyOfLine = (line: string): string => {
  const { subject, predicate, object } = lineParts(line)
  return [subject, predicate, object].map((term) => termOf(term).value).join(" ")
}

const decidedText = ({ verdict, by, at }: ReviewedOnce): string => `${by} ${verdict} it at ${DateTime.formatIso(DateTime.makeUnsafe(at))}`

const placeOf = ({ factId, fact }: ListedFact): ListPlace => ({ documentId: fact.documentId, start: fact.fact.span.start, factId })

const statusOf = (decision: ListedFact["decision"]): ReviewStatus =>
  decision === undefined || decision.state === "refused" || decision.verdict === "reopened" ? "open" : decision.verdict

const itemOf = ({ factId, fact: one, decision }: ListedFact, history: ReadonlyArray<ReviewedOnce> | undefined): ReviewItem => {
  const { documentId, source, title, extractor, fact } = one
  const status = statusOf(decision)
  return {
    factId,
    status,
    documentId,
    source,
    ...(title === undefined ? {} : { title }),
    subject: fact.subject.name ?? fact.subject.text,
    property: fact.property,
    ...objectOf(one),
    quote: fact.quote,
    start: fact.span.start,
    end: fact.span.end,
    confidence: fact.confidence,
    extractor,
    why: whyInReview(one),
    ...(decision === undefined || status === "open" ? {} : { decidedBy: decision.by, decidedAt: decision.at }),
    ...(decision?.problem === undefined ? {} : { refused: decision.problem }),
    ...(history === undefined ? {} : { history }),
  }
}

const objectOf = ({ fact: { object } }: ReviewFact) =>
  object._tag === "Entity" ? { object: object.mention.name ?? object.mention.text } : { object: object.lexical, datatype: object.datatype }
