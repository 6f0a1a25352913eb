/**
 * The batch: documents are extracted, what they name is resolved, the graph is validated and added to the canonical one. Each
 * active state does its stage's work for as long as it lasts; leaving it, by a cancel for one, ends the work. A process that
 * dies takes up the work of the state where it was.
 */
import { Event, Machine, refuse, type SendError, Slot } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ExtractorSelection } from "../KnowledgeSettings.ts"
import { ContentHash } from "../storage/Identity.ts"
import { Count } from "../storage/Quantity.ts"
import { StorageUri } from "../storage/Uri.ts"
import { BatchEvent } from "./BatchEvent.ts"
import { BatchFault, type BatchState, type BatchStats, BatchUsage, DocumentList, S, Stage, StageGraph } from "./BatchState.ts"

export { S } from "./BatchState.ts"

const counts = {
  documentsCompleted: Count,
  documentsFailed: Count,
  documentsUnchanged: Schema.optionalKey(Count),
  entityCount: Count,
  relationCount: Count,
  reviewCount: Schema.optionalKey(Count),
  usage: Schema.optionalKey(BatchUsage),
}

/** A larger budget or another address, for the attempt that begins. */
const changes = { selection: Schema.optionalKey(ExtractorSelection) }

export const E = Event({
  StartExtraction: {},
  /** How far it is, in all: told now and then, so that a batch of many documents does not keep an event of each. */
  DocumentsCounted: counts,
  /** Documents that failed are tried once more. */
  DocumentsRetried: { failuresSince: Schema.Int },
  /** By who has been through all documents. Another process that is not so far may have counted fewer just before. */
  ExtractionComplete: counts,
  ResolutionComplete: {
    graph: StageGraph,
    entitiesTotal: Count,
    clustersFormed: Count,
    documents: Schema.optionalKey(DocumentList),
    against: Schema.optionalKey(Schema.NullOr(ContentHash)),
  },
  ValidationComplete: { graph: StageGraph, violations: Count, quarantined: Count, reportUri: StorageUri },
  IngestionComplete: { canonicalVersion: ContentHash, canonicalGraphUri: StorageUri, graphTriples: Schema.optionalKey(Count) },
  /** Another batch has published since this one was resolved: it is resolved again, against the version of now. */
  GraphMoved: { version: ContentHash },
  Cancel: {},
  /** Starts a batch again that failed, or some of whose documents did, as often as its configuration allows. */
  Retry: changes,
  /** Starts a cancelled or failed batch again, as often as the user likes. */
  Resume: changes,
  /** Of the stage that cannot be finished: a batch that has left it, through another process, does not fail. */
  Fail: { stage: Stage, attempt: Count, error: BatchFault },
})

/** Sends an event from a stage to its batch. The batch stores the same id once, so that a stage that starts over counts nothing twice. */
export type Tell = (event: typeof E.Type, id?: string) => Effect.Effect<void, SendError>

/** What the stages do, and what the batch has to tell the world. A stage tells the batch by an event when it is done. */
export const stages = Slot.Effects({
  emitBatchEvent: { event: BatchEvent },
  processDocuments: { state: S.Extracting.schema },
  runResolution: { state: S.Resolving.schema },
  runValidation: { state: S.Validating.schema },
  runIngestion: { state: S.Ingesting.schema },
  endWork: { state: S.Cancelled.schema },
})

const facts = BatchEvent.cases

const active = [S.Pending, S.Extracting, S.Resolving, S.Validating, S.Ingesting] as const

export const BatchMachine = Machine.make({ name: "batch", version: 1, state: S, event: E, effects: stages, initial: S.Pending })
  .on(S.Pending, E.StartExtraction, S.Extracting, ({ state, at }) =>
    S.Extracting.derive(state, { ...nothing, failuresSince: at, round: 0 }),
  )

  // A transition to the same state changes its data and nothing else: the extraction goes on.
  // After a restart the work counts from the beginning again: what is completed stays so.
  .on(S.Extracting, E.DocumentsCounted, S.Extracting, ({ state, event }) =>
    S.Extracting.derive(state, {
      documentsCompleted: Math.max(state.documentsCompleted, event.documentsCompleted),
      documentsFailed: event.documentsFailed,
      documentsUnchanged: Math.max(state.documentsUnchanged ?? 0, event.documentsUnchanged ?? 0),
      entityCount: Math.max(state.entityCount, event.entityCount),
      relationCount: Math.max(state.relationCount, event.relationCount),
      reviewCount: Math.max(state.reviewCount ?? 0, event.reviewCount ?? 0),
      ...(event.usage === undefined ? {} : { usage: event.usage }),
    }),
  )
  .on(S.Extracting, E.DocumentsRetried, S.Extracting, ({ state, event }) =>
    S.Extracting.derive(state, { failuresSince: event.failuresSince, round: state.round + 1 }),
  )
  .on(S.Extracting, E.ExtractionComplete, [S.Resolving, S.Failed], ({ state, event, at }) => {
    const { documentsCompleted, documentsFailed, documentsUnchanged = 0, entityCount, relationCount, reviewCount = 0, usage } = event
    const used = usage === undefined ? {} : { usage }
    const counted = { documentsCompleted, documentsFailed, documentsUnchanged, entityCount, relationCount, reviewCount, ...used }
    if (documentsCompleted > 0) return S.Resolving.derive(state, counted)
    const message = "every document failed; see the documents for why, then retry"
    return S.Failed.derive(state, { ...counted, failedInStage: "extracting", failedAt: at, error: { code: "AllDocumentsFailed", message } })
  })
  .on(S.Resolving, E.ResolutionComplete, S.Validating, ({ state, event }) =>
    S.Validating.derive(state, {
      resolvedGraph: event.graph,
      entitiesTotal: event.entitiesTotal,
      clustersFormed: event.clustersFormed,
      ...(event.documents === undefined ? {} : { documents: event.documents }),
      ...(event.against === undefined ? {} : { resolvedAgainst: event.against }),
    }),
  )
  .on(S.Validating, E.ValidationComplete, S.Ingesting, ({ state, event }) =>
    S.Ingesting.derive(state, {
      validatedGraph: event.graph,
      violations: event.violations,
      quarantined: event.quarantined,
      reportUri: event.reportUri,
    }),
  )
  .on(S.Ingesting, E.GraphMoved, S.Resolving, ({ state }) => S.Resolving.derive(state, { resolvedAgain: (state.resolvedAgain ?? 0) + 1 }))
  .on(S.Ingesting, E.IngestionComplete, [S.Completed, S.PartiallyCompleted], ({ state, event, at }) => {
    const outcome = {
      canonicalVersion: event.canonicalVersion,
      canonicalGraphUri: event.canonicalGraphUri,
      ...(state.resolvedAgainst === undefined ? {} : { previousVersion: state.resolvedAgainst }),
      stats: { ...statsOf(state, at), ...(event.graphTriples === undefined ? {} : { triplesTotal: event.graphTriples }) },
      completedAt: at,
    }
    return state.documentsFailed > 0 ? S.PartiallyCompleted.derive(state, outcome) : S.Completed.derive(state, outcome)
  })

  .on(active, E.Cancel, S.Cancelled, ({ state, at }) =>
    S.Cancelled.derive({ ...nothing, ...state }, { cancelledInStage: stageOf(state), cancelledAt: at }),
  )
  .on(active, E.Fail, S.Failed, ({ state, event, at }) =>
    event.stage === stageOf(state) && event.attempt === state.attempt
      ? S.Failed.derive({ ...nothing, ...state }, { failedInStage: event.stage, failedAt: at, error: event.error })
      : refuse(`stage ${event.stage} of attempt ${event.attempt} is over; the batch is ${stageOf(state)} in attempt ${state.attempt}`),
  )
  // What a partially completed batch has added stays until the new attempt adds its own in its place.
  .on([S.Failed, S.PartiallyCompleted], E.Retry, S.Pending, ({ state, event }) =>
    state.retryCount < state.config.maxRetries
      ? S.Pending.derive(state, { retryCount: state.retryCount + 1, attempt: state.attempt + 1, config: changed(state, event) })
      : refuse(`retried ${state.retryCount} times, as often as allowed; resume it, or raise maxRetries in a new batch`),
  )
  .on([S.Failed, S.PartiallyCompleted, S.Cancelled], E.Resume, S.Pending, ({ state, event }) =>
    S.Pending.derive(state, { attempt: state.attempt + 1, config: changed(state, event) }),
  )

  // A batch that was started goes on by itself. That it was is told before anything is told of its documents.
  .spawn(
    S.Pending,
    ({ state: { batchId, attempt, createdAt, documentsTotal }, effects, self }) =>
      Effect.andThen(
        attempt > 0
          ? Effect.void
          : effects.emitBatchEvent({ event: facts.BatchCreated.make({ batchId, at: createdAt, totalDocuments: documentsTotal }) }),
        self.send(E.StartExtraction()),
      ),
    { runs: ["emitBatchEvent"] },
  )
  .spawn(S.Extracting, ({ state, effects }) => effects.processDocuments({ state }), { runs: ["processDocuments"] })
  .spawn(S.Resolving, ({ state, effects }) => effects.runResolution({ state }), { runs: ["runResolution"] })
  .spawn(S.Validating, ({ state, effects }) => effects.runValidation({ state }), { runs: ["runValidation"] })
  .spawn(S.Ingesting, ({ state, effects }) => effects.runIngestion({ state }), { runs: ["runIngestion"] })
  .spawn(S.Cancelled, ({ state, effects }) => effects.endWork({ state }), { runs: ["endWork"] })

  // Called in `enter`, an effect is requested: it is carried out after the transition is stored, by whichever process has time.
  .enter(
    S.Resolving,
    ({ state: { batchId }, effects, at }) => effects.emitBatchEvent({ event: facts.ResolutionStarted.make({ batchId, at }) }),
    { requests: ["emitBatchEvent"] },
  )
  .enter(
    S.Validating,
    ({ state: { batchId, entitiesTotal, clustersFormed }, effects, at }) =>
      effects.emitBatchEvent({
        event: facts.ResolutionCompleted.make({ batchId, at, mergeCount: Math.max(0, entitiesTotal - clustersFormed) }),
      }),
    { requests: ["emitBatchEvent"] },
  )
  .enter(
    [S.Completed, S.PartiallyCompleted],
    ({ state: { batchId, documentsTotal, entityCount, relationCount }, effects, at }) =>
      effects.emitBatchEvent({
        event: facts.BatchCompleted.make({ batchId, at, totalDocuments: documentsTotal, entityCount, relationCount }),
      }),
    { requests: ["emitBatchEvent"] },
  )
  .enter(
    S.Failed,
    ({ state: { batchId, documentsFailed, error }, effects, at }) =>
      effects.emitBatchEvent({ event: facts.BatchFailed.make({ batchId, at, error: error.message, failedDocuments: documentsFailed }) }),
    { requests: ["emitBatchEvent"] },
  )
  .enter(
    S.Cancelled,
    ({ state: { batchId, documentsFailed }, effects, at }) =>
      effects.emitBatchEvent({ event: facts.BatchFailed.make({ batchId, at, error: "cancelled", failedDocuments: documentsFailed }) }),
    { requests: ["emitBatchEvent"] },
  )
  .commands({ emitBatchEvent: { ordered: true } })
  .final(S.Completed)

const changed = ({ config }: Pick<BatchState, "config">, { selection }: { readonly selection?: ExtractorSelection }) => ({
  ...config,
  ...selection,
})

const nothing = { documentsCompleted: 0, documentsFailed: 0, entityCount: 0, relationCount: 0 }

type Active = Extract<BatchState, { readonly _tag: "Pending" | "Extracting" | "Resolving" | "Validating" | "Ingesting" }>

const stageNames = {
  Pending: "pending",
  Extracting: "extracting",
  Resolving: "resolving",
  Validating: "validating",
  Ingesting: "ingesting",
} as const

export const stageOf = ({ _tag }: Pick<Active, "_tag">): Stage => stageNames[_tag]

const statsOf = (state: typeof S.Ingesting.Type, at: number): BatchStats => ({
  documentsProcessed: state.documentsCompleted,
  documentsFailed: state.documentsFailed,
  documentsUnchanged: state.documentsUnchanged ?? 0,
  documentsWithdrawn: state.documents?.withdrawn ?? 0,
  entitiesExtracted: state.entityCount,
  relationsExtracted: state.relationCount,
  clustersResolved: state.clustersFormed,
  violations: state.violations,
  quarantined: state.quarantined,
  forReview: state.reviewCount ?? 0,
  triplesIngested: state.validatedGraph.triples,
  totalDurationMs: Math.max(0, at - state.createdAt),
})
