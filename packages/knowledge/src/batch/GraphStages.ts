/** The three stages after extraction. Each reads stored triples and passes on a file of triples, or publishes it. */

import { contentHashOf } from "@detent/blobs/ContentHash"
import { blobIn, getText, Storage, type StorageFolder, type StorageUri } from "@detent/blobs/Storage"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { documentLines } from "../fact/FactGraph.ts"
import { type BatchDocuments, decodeDocuments, writeDocuments } from "../graph/BatchDocuments.ts"
import { CanonicalGraph, type GraphError, type GraphVersion } from "../graph/CanonicalGraph.ts"
import { exportGraph } from "../graph/GraphExport.ts"
import { linesOnlyIn, mergedParts, ownersOfLines, storedLines, withoutDocuments, writeLines } from "../graph/GraphLines.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { type SortFailed, sortLines } from "../rdf/LineSort.ts"
import { resolveOnWorker } from "../resolve/ResolvedGraph.ts"
import { IdentityStore } from "../review/IdentityStore.ts"
import { collectReviews } from "../review/ReviewCollection.ts"
import { byDocument, withDecisions } from "../review/ReviewedGraph.ts"
import { ReviewStore } from "../review/ReviewStore.ts"
import { RunEnding } from "../runs/Run.ts"
import type { ArtifactError } from "../runs/RunArtifacts.ts"
import { contentOf, loadArtifact } from "../runs/RunArtifacts.ts"
import { RunStore } from "../runs/RunStore.ts"
import type { StoredArtifact } from "../runs/RunTables.ts"
import type { ArtifactStore } from "../storage/ArtifactStore.ts"
import { type BatchId, type Namespace, RunId } from "../storage/Identity.ts"
import { linesOfBatch, pathsOfBatch, pathsOfNamespace } from "../storage/Paths.ts"
import { onlyHeld, withoutHeld } from "../validate/Quarantine.ts"
import { reportTurtle, type ValidationReport, ValidationReportJson, type Violation, violationText } from "../validate/Report.ts"
import { validateOnWorker } from "../validate/WorkerValidation.ts"
import {
  type BatchState,
  BatchStopped,
  type Ingested,
  type Moved,
  type Resolved,
  type S,
  type StageGraph,
  type Validated,
} from "./BatchState.ts"
import { type DocumentAgain, documentIds, documentsAgain, documentsBrought, graphBeside, rulesOf, settingOf } from "./Document.ts"
import { loadManifest } from "./Manifest.ts"
import { startedOntology } from "./ManifestMaking.ts"

/** The state that a stage works on. An activity of a batch that is not in the database does not know what earlier stages recorded there. */
type StageInput<A> = Omit<A, Recorded> & Partial<Pick<A, Recorded & keyof A>>

type Recorded = "resolvedAgainst" | "validationStartedAt" | "triplesTotal" | "triplesIngested"

type StageReadError = ArtifactError | SortFailed | GraphError

type StageServices = RunStore | ArtifactStore | Storage

type Lines = Stream.Stream<string, StageReadError, StageServices>

/** The sorted lines of each document. */
export type DocumentGraphs = Stream.Stream<Lines, StageReadError, StageServices>

const equipped = (state: { readonly manifestUri: Parameters<typeof loadManifest>[1] }) =>
  Effect.gen(function* () {
    const manifest = yield* loadManifest(yield* Storage, state.manifestUri)
    return { manifest, ontology: yield* startedOntology(manifest) }
  })

/** Graphs of documents with their identity: address and generation. */
export interface GivenGraphs {
  readonly graphs: DocumentGraphs
  readonly versions: ReadonlyArray<readonly [uri: string, generation: string]>
}

/**
 * Resolves the entities of the documents that the batch has extracted, or of `others`. The result is stored under the hash of all inputs,
 * so two resolutions of a batch write to the same file only when they write the same content.
 */
export const resolveEntities = (folder: StorageFolder, state: typeof S.Resolving.Type, others?: GivenGraphs) =>
  Effect.gen(function* () {
    const canonical = yield* CanonicalGraph
    const { manifest, ontology } = yield* equipped(state)
    const current = yield* canonical.current(state.targetNamespace)
    const setting = yield* settingOf(manifest, state.config)
    const changed = yield* documentsBrought(state, manifest, setting, current, yield* Clock.currentTimeMillis)
    const again = others === undefined ? yield* documentsAgain(state, manifest, setting, current, changed) : []
    const brought = { ...changed, documents: [...changed.documents, ...again.map(({ document }) => document)] }
    const isEmpty = others === undefined && brought.documents.length === 0
    const reviewCount = yield* collectReviews(state)
    const decisions = yield* decisionsOn(state.targetNamespace, brought, ontology)
    const decidedMentions = yield* Effect.flatMap(IdentityStore, (identities) => identities.decided(state.targetNamespace))
    const documents = isEmpty
      ? Stream.empty
      : withDecisions<StageReadError, StageServices>(others?.graphs ?? graphsOf(state.batchId, again), byDocument(decisions))
    // Without the batch's earlier contribution and earlier versions of its documents: they are no reason to keep an IRI.
    const existing =
      isEmpty || Option.isNone(current) ? Stream.empty : canonical.linesBeside(current.value, state.batchId, documentIds(brought))
    const graph = state.config.resolveEntities
      ? yield* resolveOnWorker<StageReadError, StageServices>({
          documents,
          existing,
          ontology,
          base: canonical.entityBase(state.targetNamespace),
          decided: decidedMentions,
          // Documents that are only validated again come last, and do not count.
          ...(others === undefined ? { counted: changed.documents.length } : {}),
        })
      : {
          lines: sortLines(Stream.flatten(documents)),
          counts: () => ({ mentions: state.entityCount, entities: state.entityCount, merges: [], proposals: [] }),
        }
    const against = Option.match(current, { onNone: () => null, onSome: ({ version }) => version })
    const versions = others?.versions ?? brought.documents.map(({ documentId, runId, at }) => [documentId, runId, at])
    const decided = decisions.map(({ factId, verdict, by, at }) => [factId, verdict, by, at])
    const identities = [...decidedMentions.entities, ...decidedMentions.merged]
    const inputs = [state.attempt, against ?? "", versions, decided, ...(identities.length === 0 ? [] : [identities])]
    const from = contentHashOf(JSON.stringify(inputs))
    const written = yield* writeLines(blobIn(folder, linesOfBatch(state.batchId, from).resolved), graph.lines)
    const { mentions, entities, merges, proposals } = graph.counts()
    // Tells users why two names are one entity, and which names may be.
    yield* (yield* Storage).set(blobIn(folder, pathsOfBatch(state.batchId).merges), JSON.stringify({ merges, proposals }))
    const list = yield* writeDocuments(yield* Storage, folder, state.batchId, brought)
    return {
      graph: written,
      entitiesTotal: mentions,
      clustersFormed: entities,
      documents: { ...list, brought: brought.documents.length, withdrawn: brought.withdrawn.length },
      against,
      reviewCount,
    } satisfies typeof Resolved.Type
  })

/** How many documents' graphs are fetched concurrently. */
const graphsAtOnce = 200

/** The graphs of the documents that the batch has extracted, then those of documents that earlier batches have extracted. */
const graphsOf = (batch: BatchId, again: ReadonlyArray<DocumentAgain>) =>
  Stream.concat(
    documentGraphs(batch),
    Stream.flatMap(Stream.fromIterable(Arr.chunksOf(again, graphsAtOnce)), (page) => documentGraphs(page.map(({ runId }) => runId))),
  )

/** The ending of a run whose graph is damaged or lost. */
const lossOf = ({ _tag, message }: { readonly _tag: string; readonly message: string }) =>
  RunEnding.cases.Failed.make({ code: _tag, detail: message })

/** The graph of each document that a batch or the given runs have extracted, in the order of document ids, each as sorted lines. */
const documentGraphs = (of: BatchId | ReadonlyArray<RunId>) =>
  Stream.unwrap(
    Effect.gen(function* () {
      const runs = yield* RunStore
      const context = yield* Effect.context<RunStore | ArtifactStore>()
      const textOf = (graph: StoredArtifact) =>
        Effect.provide(isWhole(graph) ? contentOf(graph) : loadArtifact(graph.run_id, graph.artifact_key), context).pipe(
          Effect.tapError((error) => (isLoss(error) ? runs.reopen(graph.run_id, graph.artifact_key, lossOf(error)) : Effect.void)),
        )
      const linesOf = (graph: StoredArtifact) =>
        Stream.unwrap(Effect.map(textOf(graph), (text) => Stream.fromIterable(text.split("\n").filter((line) => line !== ""))))
      const pageAfter = (after: string) =>
        Effect.tapErrorTag(runs.graphsOf(of, after, graphsAtOnce), "ArtifactMissing", (error) =>
          runs.reopen(RunId.make(error.run), error.key, lossOf(error)),
        )
      const pages = Stream.paginate("", (after) =>
        Effect.map(pageAfter(after), (page) => {
          const last = page.length < graphsAtOnce ? undefined : page.at(-1)?.documentId
          return [page, last === undefined ? Option.none<string>() : Option.some<string>(last)] as const
        }),
      )
      // The lines of the document itself sort before those of its entities.
      return Stream.map(pages, ({ graphs, ...document }) =>
        Stream.concat(Stream.fromIterable(documentLines(document)), mergedParts(graphs.map(linesOf))),
      )
    }),
  )

/** Whether content that a run has stored is lost. A retry of the batch then extracts that part again. */
const isLoss = ({ _tag }: ArtifactError) => _tag === "ArtifactDamaged" || _tag === "ArtifactMissing" || _tag === "BlobNotFound"

/** Whether the row has the content itself. Pages include only small contents. */
const isWhole = ({ content, packed }: StoredArtifact) => content !== null || packed !== null

/** Reviewers' decisions on the document versions that a batch adds. Leaves out accepted facts whose property the ontology no longer has. */
const decisionsOn = (namespace: Namespace, { documents }: BatchDocuments, ontology: OntologyIndex) =>
  Effect.gen(function* () {
    const reviews = yield* ReviewStore
    const versions = documents.map(({ documentId, contentHash = "" }) => ({ documentId, contentHash }))
    const properties = new Set(ontology.ontology.properties.map(({ iri }) => iri))
    const decisions = yield* reviews.decisions(namespace, versions)
    return decisions
      .filter(({ verdict, fact }) => verdict === "rejected" || properties.has(fact.fact.property))
      .toSorted((left, right) => (left.factId < right.factId ? -1 : 1))
  })

/** Validates against `otherShapes`, else the shapes of the manifest, else those derived from the ontology. */
export const validateGraph = (folder: StorageFolder, state: StageInput<typeof S.Validating.Type>, otherShapes?: StorageUri) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const { manifest, ontology } = yield* equipped(state)
    const shapes = yield* shapesOf(otherShapes ?? manifest.shaclUri)
    const lines = storedLines(storage, state.resolvedGraph)
    const change = yield* changeBy(state, lines)
    const found = yield* validateOnWorker({ shapes, isQuarantine: state.config.validation === "quarantine" }, change, ontology)
    const held = new Set(found.held?.lines)
    const paths = pathsOfBatch(state.batchId)
    const reportUri = blobIn(folder, paths.validation)
    const report: ValidationReport = {
      conforms: found.violations === 0,
      violations: found.violations,
      warnings: found.warnings,
      listed: found.listed,
      quarantined: found.held?.entities ?? [],
      statements: found.statements ?? [],
      remaining: found.remaining ?? found.violations,
    }
    yield* storage.setStream(blobIn(folder, paths.report), Stream.encodeText(reportTurtle(state.batchId, report)))
    yield* storage.set(reportUri, yield* Effect.orDie(Schema.encodeEffect(ValidationReportJson)(report)))
    const first = found.listed.find(({ severity }) => severity === "Violation")
    if (first !== undefined && state.config.validation === "fail")
      return yield* new BatchStopped({
        code: "ValidationFailed",
        problem: `${found.violations} violations, the first: ${violationText(first)}; see ${reportUri}`,
      })
    const quarantined = held.size
    const parted = linesOfBatch(state.batchId, contentHashOf(JSON.stringify([state.resolvedGraph.hash, [...held]])))
    const graph = quarantined === 0 ? state.resolvedGraph : yield* writeLines(blobIn(folder, parted.validated), withoutHeld(lines, held))
    const kept = quarantined === 0 ? {} : { held: yield* writeLines(blobIn(folder, parted.quarantine), onlyHeld(lines, held)) }
    return {
      ...(yield* onlyChanged(folder, state, { graph, ...kept })),
      violations: found.violations,
      quarantined,
      reportUri,
    } satisfies typeof Validated.Type
  })

/**
 * Leaves out documents that the batch validated again with the same result: they stay with the batch that extracted them, so that its
 * withdrawal removes them. The report has their statements.
 */
const onlyChanged = (
  folder: StorageFolder,
  state: StageInput<typeof S.Validating.Type>,
  validated: Pick<typeof Validated.Type, "graph" | "held">,
) =>
  Effect.gen(function* () {
    if (state.documents === undefined) return validated
    const storage = yield* Storage
    const list = yield* Effect.orDie(decodeDocuments(yield* getText(storage, state.documents.uri)))
    const again = list.documents.filter((document) => document.again === true)
    if (again.length === 0) return validated
    const { replaced } = yield* graphBeside(state)
    if (replaced === undefined) return validated
    const lines = storedLines(storage, validated.graph)
    const changed = yield* ownersOfLines(Stream.concat(linesOnlyIn(lines, replaced), linesOnlyIn(replaced, lines)))
    const same = new Set<string>(again.map(({ documentId }) => documentId).filter((id) => !changed.has(id)))
    if (same.size === 0) return validated
    const paths = linesOfBatch(state.batchId, contentHashOf(JSON.stringify([validated.graph.hash, [...same]])))
    const graph = yield* writeLines(blobIn(folder, paths.validated), withoutDocuments(lines, same))
    const held =
      validated.held === undefined
        ? undefined
        : yield* writeLines(blobIn(folder, paths.quarantine), withoutDocuments(storedLines(storage, validated.held), same))
    const rest = { ...list, documents: list.documents.filter(({ documentId }) => !same.has(documentId)) }
    const written = yield* writeDocuments(storage, folder, state.batchId, rest)
    return {
      graph,
      ...(held === undefined || held.triples === 0 ? {} : { held }),
      documents: { ...written, brought: rest.documents.length, withdrawn: rest.withdrawn.length },
    }
  })

/** The change that the batch makes to the graph: its lines replace those of its documents and of its earlier contribution. */
const changeBy = <E>(state: StageInput<typeof S.Validating.Type>, added: Stream.Stream<string, E>) =>
  Effect.map(changesNothing(state, state.resolvedGraph) ? Effect.succeed({}) : graphBeside(state), (beside) => ({ added, ...beside }))

/** Whether all documents of the batch are unchanged and none is gone, so that the graph need not be read. */
const changesNothing = ({ documents }: Pick<StageInput<typeof S.Validating.Type>, "documents">, { triples }: StageGraph): boolean =>
  triples === 0 && documents !== undefined && documents.brought + documents.withdrawn === 0

const contributionOf = ({ contributions }: GraphVersion, batchId: BatchId) => Arr.findFirst(contributions, (one) => one.batchId === batchId)

/**
 * Adds the contribution of the batch to the canonical graph, after writing it to `final.ttl` as sorted N-Triples, which every Turtle
 * parser reads. A failure may leave it in the graph: a repeated call changes nothing, and a batch that fails removes it.
 */
export const addToGraph = (folder: StorageFolder, state: StageInput<typeof S.Ingesting.Type>) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const canonical = yield* CanonicalGraph
    const { targetNamespace, batchId, validatedGraph, held, documents, resolvedAgainst } = state
    const { manifest, ontology } = yield* equipped(state)
    yield* storage.setStream(blobIn(folder, pathsOfBatch(batchId).canonical), storage.getStream(validatedGraph.uri))
    const current = yield* canonical.current(targetNamespace)
    const isNew = Option.isNone(Option.flatMap(current, (version) => contributionOf(version, batchId)))
    if (changesNothing(state, validatedGraph) && Option.isSome(current) && isNew) {
      const canonicalGraphUri = blobIn(folder, pathsOfNamespace(targetNamespace).entities)
      return { canonicalVersion: current.value.version, canonicalGraphUri } satisfies typeof Ingested.Type
    }
    const list = documents === undefined ? {} : { documents: { uri: documents.uri, hash: documents.hash } }
    const validated =
      resolvedAgainst === undefined ? {} : { validated: { against: resolvedAgainst, rules: rulesOf(manifest, state.config) } }
    const contribution = { batchId, ...validatedGraph, ...list, ...(held === undefined ? {} : { held }), ...validated }
    const { version: canonicalVersion } =
      resolvedAgainst === undefined
        ? yield* canonical.contribute(targetNamespace, contribution)
        : yield* canonical.contributeAt(targetNamespace, contribution, Option.fromNullOr(resolvedAgainst))
    const { uri: canonicalGraphUri, triples: graphTriples } = yield* publishGraph(folder, targetNamespace, ontology)
    return { canonicalVersion, canonicalGraphUri, graphTriples } satisfies typeof Ingested.Type
  }).pipe(
    // Nothing was added: the graph is as the other batch left it.
    Effect.catchTag("GraphMoved", ({ version }) => Effect.succeed<typeof Moved.Type>({ movedTo: version })),
    Effect.map((done): typeof Ingested.Type | typeof Moved.Type => done),
  )

/**
 * Writes the canonical graph of a namespace as one Turtle file, for other tools, after every change of the graph. Returns the file and
 * its number of triples. Of two concurrent writers, the later one may write an older version; it then sees the newer one and writes again.
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
      yield* storage.setStream(uri, Stream.encodeText(exportGraph(lines, "turtle", { prefixes })))
      yield* canonical.recordTriples(written, triples)
      current = Option.filter(yield* canonical.current(namespace), ({ version }) => version !== written.version)
    }
    return { uri, triples }
  })

/**
 * Removes the facts of a failed ingestion from the graph: restores the contribution that the batch had in the version it was resolved
 * against. Idempotent.
 */
export const takeBack = (
  folder: StorageFolder,
  state: Pick<typeof S.Failed.Type, "manifestUri" | "batchId" | "targetNamespace" | "resolvedAgainst">,
) =>
  Effect.gen(function* () {
    const { batchId, targetNamespace, resolvedAgainst } = state
    if (resolvedAgainst === undefined) return
    const canonical = yield* CanonicalGraph
    const added = Option.getOrUndefined(
      Option.flatMap(yield* canonical.current(targetNamespace), (version) => contributionOf(version, batchId)),
    )
    if (added === undefined) return
    const before =
      resolvedAgainst === null
        ? undefined
        : Option.getOrUndefined(contributionOf(yield* canonical.version(targetNamespace, resolvedAgainst), batchId))
    if (before === undefined) yield* canonical.withdraw(targetNamespace, batchId)
    else if (before.hash !== added.hash || before.documents?.hash !== added.documents?.hash)
      yield* canonical.contribute(targetNamespace, before)
    const { ontology } = yield* equipped(state)
    yield* publishGraph(folder, targetNamespace, ontology)
  })

/** The graph would not conform without the batch. */
export class WithdrawalRefused extends Schema.TaggedError<WithdrawalRefused>()("WithdrawalRefused", {
  batchId: Schema.String,
  namespace: Schema.String,
  /** How many violations the graph would have that it does not have now. */
  violations: Schema.Int,
  first: Schema.String,
}) {
  override get message() {
    return `the graph ${this.namespace} would not conform without ${this.batchId}: ${this.violations} new violations, the first: ${this.first}`
  }
}

/**
 * Removes the facts of a batch from the canonical graph, unless the graph would have new violations without them. With the policy
 * `warn`, the graph is not validated.
 */
export const withdrawChecked = (folder: StorageFolder, state: BatchState) =>
  Effect.gen(function* () {
    const { targetNamespace, batchId } = state
    const canonical = yield* CanonicalGraph
    const { manifest, ontology } = yield* equipped(state)
    const current = Option.getOrUndefined(yield* canonical.current(targetNamespace))
    if (current === undefined) return Option.none<GraphVersion>()
    if (state.config.validation !== "warn") yield* checkWithdrawal(state, current, yield* shapesOf(manifest.shaclUri), ontology)
    const withdrawn = yield* canonical.withdrawAt(targetNamespace, batchId, current.version)
    yield* publishGraph(folder, targetNamespace, ontology)
    return withdrawn
  }).pipe(
    // Another batch has published meanwhile.
    Effect.retry({ while: ({ _tag }) => _tag === "GraphMoved", schedule: Schedule.jittered(Schedule.spaced("20 millis")), times: 500 }),
    Effect.catchTag("GraphMoved", Effect.die),
  )

const shapesOf = (uri: StorageUri | undefined) =>
  Effect.gen(function* () {
    return uri === undefined ? undefined : { text: yield* getText(yield* Storage, uri), source: uri }
  })

const checkWithdrawal = (
  { batchId, targetNamespace: namespace }: BatchState,
  current: GraphVersion,
  shapes: Effect.Success<ReturnType<typeof shapesOf>>,
  ontology: OntologyIndex,
) =>
  Effect.gen(function* () {
    if (!current.contributions.some((one) => one.batchId === batchId)) return
    const canonical = yield* CanonicalGraph
    const before = canonical.lines(current)
    // Brings back the documents that the batch replaced or withdrew.
    const after = canonical.linesBeside(current, batchId, new Set())
    const [gone, back] = [linesOnlyIn(before, after), linesOnlyIn(after, before)]
    const existing = linesOnlyIn(before, gone)
    const { violations, first } = yield* newViolations({ shapes, isQuarantine: false }, { gone, back, existing }, ontology)
    if (first !== undefined) return yield* new WithdrawalRefused({ batchId, namespace, violations, first })
  })

/** A change of a graph: the sorted lines that go, that come, and that stay. */
interface LineChange<E> {
  readonly gone: Stream.Stream<string, E>
  readonly back: Stream.Stream<string, E>
  readonly existing: Stream.Stream<string, E>
}

/** How many violations a graph would have that it does not have now, and the first of them. */
export const newViolations = (
  validation: Parameters<typeof validateOnWorker>[0],
  { gone, back, existing }: LineChange<GraphError>,
  ontology: OntologyIndex,
) =>
  Effect.gen(function* () {
    const then = yield* validateOnWorker<GraphError>(validation, { added: back, existing, replaced: gone }, ontology)
    if (then.violations === 0) return { violations: 0, first: undefined }
    // Validates the same nodes as they are now: the change does not cause violations that exist already.
    const now = yield* validateOnWorker<GraphError>(validation, { added: gone, existing, replaced: back }, ontology)
    const known = new Set(now.listed.map(violationKey))
    const news = then.listed.filter((one) => one.severity === "Violation" && !known.has(violationKey(one)))
    const [first] = news
    if (first === undefined) return { violations: 0, first: undefined }
    return { violations: Math.max(news.length, then.violations - now.violations), first: violationText(first) }
  })

const violationKey = ({ sources: _, ...violation }: Violation): string => JSON.stringify(violation)

/** Removes the facts of a batch from the canonical graph, even when the graph does not conform without them. */
export const withdrawGraph = (folder: StorageFolder, state: Pick<BatchState, "manifestUri" | "batchId" | "targetNamespace">) =>
  Effect.gen(function* () {
    const withdrawn = yield* Effect.flatMap(CanonicalGraph, (canonical) => canonical.withdraw(state.targetNamespace, state.batchId))
    const { ontology } = yield* equipped(state)
    yield* publishGraph(folder, state.targetNamespace, ontology)
    return withdrawn
  })
