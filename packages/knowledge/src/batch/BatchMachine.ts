/**
 * The batch: documents are extracted, their entities are resolved, the graph is validated and added to the canonical one. Each
 * active state runs the work of its stage; leaving the state, for example by a cancel, interrupts the work. After a crash, a process
 * runs the work of the current state again.
 *
 * A stage is an effect that returns its result. The state's `spawn` sends that result as an event.
 */

import { ContentHash } from "@detent/blobs/ContentHash"
import { Event, Machine, refuse, type SendError, Slot, schemaOf } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ExtractorSelection } from "../KnowledgeSettings.ts"
import { BatchId, DocumentId } from "../storage/Identity.ts"
import { Count } from "../storage/Quantity.ts"
import {
  BatchFault,
  type BatchState,
  type BatchStats,
  extracted,
  Ingested,
  type LanguageCount,
  Moved,
  noCounts,
  Resolved,
  S,
  Stage,
  Validated,
} from "./BatchState.ts"

const common = { batchId: BatchId, at: Schema.Int }

/** The round of the batch: documents that failed in one round are started again in a later one. */
const round = Count

/** The events a batch publishes, for logs, projections and subscribers. Not to be confused with the events it receives: see `E`. */
export const BatchEvent = Schema.TaggedUnion({
  BatchCreated: { ...common, totalDocuments: Count },
  DocumentStarted: { ...common, documentId: DocumentId, round },
  DocumentCompleted: {
    ...common,
    documentId: DocumentId,
    entityCount: Count,
    relationCount: Count,
    /** Facts too uncertain for the graph, which are on the review list. */
    reviewCount: Count,
  },
  /** The graph already has these versions of the documents, so they are completed. One event names many: none of them needs work. */
  DocumentsUnchanged: { ...common, documentIds: Schema.Array(DocumentId) },
  DocumentFailed: { ...common, documentId: DocumentId, round, error: Schema.String },
  /** The document exceeded a limit twice and is not tried again in this batch. */
  DocumentSetAside: { ...common, documentId: DocumentId, round, error: Schema.String },
  /** Only the latest progress of a batch is kept. */
  StageProgress: { ...common, completedDocuments: Count, totalDocuments: Count, progress: Schema.Finite },
  ResolutionStarted: common,
  ResolutionCompleted: { ...common, mergeCount: Count },
  ValidationStarted: common,
  ValidationCompleted: { ...common, violations: Count, quarantined: Count },
  IngestionStarted: { ...common, triplesTotal: Count },
  IngestionCompleted: { ...common, triplesIngested: Count, canonicalVersion: ContentHash },
  BatchCompleted: { ...common, totalDocuments: Count, entityCount: Count, relationCount: Count },
  /** The batch failed or was cancelled. */
  BatchFailed: { ...common, end: Schema.Literals(["failed", "cancelled"]), error: Schema.String, failedDocuments: Count },
})
export type BatchEvent = typeof BatchEvent.Type

/** The result of extraction. */
const Extracted = Schema.Struct(extracted)

/** The progress of extraction. */
export const Counted = Schema.Struct({ ...extracted, currentDocumentId: Schema.optionalKey(DocumentId) })
export type Counted = typeof Counted.Type

/** A larger budget or another address, for the new attempt. */
const changes = { selection: Schema.optionalKey(ExtractorSelection) }

/** The attempt whose stage has ended. Refused when the batch is in a later one: the stage has read the documents of its own attempt. */
const ofAttempt = { attempt: Count }

/** The events a batch receives. */
export const E = Event({
  StartExtraction: {},
  /** All counts so far. Sent at intervals, so that the journal of a batch does not hold an event for each document. */
  DocumentsCounted: Counted.fields,
  /** Documents that failed are tried once more. */
  DocumentsRetried: { failuresSince: Schema.Int },
  /** Sent by the process that finished all documents. Another process that is behind may have sent lower counts just before. */
  ExtractionComplete: { ...Extracted.fields, ...ofAttempt },
  ResolutionComplete: { ...Resolved.fields, ...ofAttempt },
  ValidationComplete: { ...Validated.fields, ...ofAttempt },
  IngestionComplete: { ...Ingested.fields, ...ofAttempt },
  /** Another batch has published since this one was resolved: this one is resolved again, against the current version. */
  GraphMoved: { version: ContentHash, ...ofAttempt },
  Cancel: {},
  /** Restarts a failed or partially completed batch, as often as its configuration allows. */
  Retry: { ...changes, documents: Schema.optionalKey(Schema.Array(DocumentId)) },
  /** Restarts a cancelled, failed or partially completed batch, without a limit. */
  Resume: changes,
  /** The stage cannot finish. Refused when another process has already moved the batch out of that stage. */
  Fail: { stage: Stage, attempt: Count, error: BatchFault },
})

/** The stages, which return their results, and the effects that publish events and undo work. */
const stages = Slot.Effects({
  emitBatchEvent: { event: BatchEvent },
  /** Writes the current state to `status.json`. */
  writeStatus: {},
  processDocuments: Slot.effect({ state: schemaOf(S.Extracting) }, { success: Extracted, failure: BatchFault }),
  runResolution: Slot.effect({ state: schemaOf(S.Resolving) }, { success: Resolved, failure: BatchFault }),
  runValidation: Slot.effect({ state: schemaOf(S.Validating) }, { success: Validated, failure: BatchFault }),
  runIngestion: Slot.effect({ state: schemaOf(S.Ingesting) }, { success: Schema.Union([Ingested, Moved]), failure: BatchFault }),
  endWork: { state: schemaOf(S.Cancelled) },
  /** Removes the facts of a failed ingestion from the graph. */
  takeBackFacts: { state: schemaOf(S.Failed) },
  /** Dispatches the work of a stage to tasks or activities, and runs until the batch leaves the state. */
  dispatchStage: Slot.effect(
    { state: Schema.Union([schemaOf(S.Extracting), schemaOf(S.Resolving), schemaOf(S.Validating), schemaOf(S.Ingesting)]) },
    { success: Schema.Never, failure: BatchFault },
  ),
})

type Dispatched = typeof S.Extracting.Type | typeof S.Resolving.Type | typeof S.Validating.Type | typeof S.Ingesting.Type

const facts = BatchEvent.cases

const active = [S.Pending, S.Extracting, S.Resolving, S.Validating, S.Ingesting] as const

/** Whether the batch refused the event because another process has already ended the stage. */
export const isPassedBy = ({ _tag }: { readonly _tag: string }): boolean => refusals.has(_tag)

const refusals: ReadonlySet<string> = new Set(["InvalidTransition", "TransitionRefused", "MachineStopped"] satisfies ReadonlyArray<
  SendError["_tag"]
>)

const outdated = (state: Dispatched, attempt: number) =>
  refuse(`stage ${stageOf(state)} of attempt ${attempt} has ended; the batch is in attempt ${state.attempt}`)

/** Runs a stage and sends its result. With another `dispatch` than `process`, tasks or activities do the work and report the result. */
const staged = <A>(
  state: Dispatched,
  send: (event: typeof E.Type) => Effect.Effect<void, SendError>,
  dispatchStage: (request: { readonly state: Dispatched }) => Effect.Effect<never, BatchFault>,
  stage: Effect.Effect<A, BatchFault>,
  eventOf: (value: A) => typeof E.Type,
): Effect.Effect<void, SendError> => {
  const { dispatch = "process" } = state.config
  const work: Effect.Effect<A, BatchFault> = dispatch === "process" ? stage : dispatchStage({ state })
  return work.pipe(
    Effect.match({
      onSuccess: eventOf,
      onFailure: (error): typeof E.Type => E.Fail({ stage: stageOf(state), attempt: state.attempt, error }),
    }),
    Effect.flatMap(send),
    Effect.catchIf(isPassedBy, () => Effect.void),
  )
}

export const BatchMachine = Machine.make({ name: "batch", version: 1, state: S, event: E, effects: stages, initial: S.Pending })
  .on(S.Pending, E.StartExtraction, S.Extracting, ({ state, at }) =>
    S.Extracting.derive(state, { ...noCounts, failuresSince: at, round: 0, updatedAt: at }),
  )

  // A transition to the same state changes only its data: the running extraction continues.
  // After a restart the extraction counts from zero again: `Math.max` keeps the counts of completed documents.
  .on(S.Extracting, E.DocumentsCounted, S.Extracting, ({ state, event, at }) =>
    S.Extracting.derive(state, {
      updatedAt: at,
      documentsCompleted: Math.max(state.documentsCompleted, event.documentsCompleted),
      documentsFailed: event.documentsFailed,
      documentsSetAside: event.documentsSetAside,
      documentsUnchanged: Math.max(state.documentsUnchanged, event.documentsUnchanged),
      entityCount: Math.max(state.entityCount, event.entityCount),
      relationCount: Math.max(state.relationCount, event.relationCount),
      reviewCount: Math.max(state.reviewCount, event.reviewCount),
      ...(event.usage === undefined ? {} : { usage: event.usage }),
      ...((event.misfits?.count ?? 0) < (state.misfits?.count ?? 0) || event.misfits === undefined ? {} : { misfits: event.misfits }),
      ...((event.refused?.count ?? 0) < (state.refused?.count ?? 0) || event.refused === undefined ? {} : { refused: event.refused }),
      ...((event.notRead?.count ?? 0) < (state.notRead?.count ?? 0) || event.notRead === undefined ? {} : { notRead: event.notRead }),
      ...((event.skipped?.count ?? 0) < (state.skipped?.count ?? 0) || event.skipped === undefined ? {} : { skipped: event.skipped }),
      ...(event.currentDocumentId === undefined ? {} : { currentDocumentId: event.currentDocumentId }),
      ...(languageTotal(event.languages) < languageTotal(state.languages) || event.languages === undefined
        ? {}
        : { languages: event.languages }),
    }),
  )
  .on(S.Extracting, E.DocumentsRetried, S.Extracting, ({ state, event, at }) =>
    S.Extracting.derive(state, { failuresSince: event.failuresSince, round: state.round + 1, updatedAt: at }),
  )
  .on(S.Extracting, E.ExtractionComplete, [S.Resolving, S.Failed], ({ state, event, at }) => {
    const { _tag, attempt, ...counts } = event
    if (attempt !== state.attempt) return outdated(state, attempt)
    const counted = { ...counts, updatedAt: at }
    if (event.documentsCompleted > 0) return S.Resolving.derive(state, { ...counted, resolvedAgain: 0 })
    const message =
      event.documentsSetAside === 0
        ? "every document failed; see the documents for why, then retry"
        : `${event.documentsFailed} documents failed and ${event.documentsSetAside} were set aside; see the documents for why`
    const error = { code: "AllDocumentsFailed", message }
    return S.Failed.derive(state, { ...counted, ...failedIn("extracting"), failedAt: at, error })
  })
  .on(S.Resolving, E.ResolutionComplete, S.Validating, ({ state, event, at }) => {
    if (event.attempt !== state.attempt) return outdated(state, event.attempt)
    return S.Validating.derive(state, {
      updatedAt: at,
      validationStartedAt: at,
      resolvedGraph: event.graph,
      entitiesTotal: event.entitiesTotal,
      clustersFormed: event.clustersFormed,
      ...(event.documents === undefined ? {} : { documents: event.documents }),
      resolvedAgainst: event.against,
      reviewCount: event.reviewCount,
    })
  })
  .on(S.Validating, E.ValidationComplete, S.Ingesting, ({ state, event, at }) => {
    if (event.attempt !== state.attempt) return outdated(state, event.attempt)
    return S.Ingesting.derive(state, {
      updatedAt: at,
      validatedGraph: event.graph,
      triplesTotal: event.graph.triples,
      triplesIngested: 0,
      violations: event.violations,
      quarantined: event.quarantined,
      ...(event.held === undefined ? {} : { held: event.held }),
      ...(event.documents === undefined ? {} : { documents: event.documents }),
      reportUri: event.reportUri,
    })
  })
  .on(S.Ingesting, E.GraphMoved, S.Resolving, ({ state, event, at }) =>
    event.attempt === state.attempt
      ? S.Resolving.derive(state, { resolvedAgain: state.resolvedAgain + 1, updatedAt: at })
      : outdated(state, event.attempt),
  )
  .on(S.Ingesting, E.IngestionComplete, [S.Completed, S.PartiallyCompleted], ({ state, event, at }) => {
    if (event.attempt !== state.attempt) return outdated(state, event.attempt)
    const outcome = {
      canonicalVersion: event.canonicalVersion,
      canonicalGraphUri: event.canonicalGraphUri,
      previousVersion: state.resolvedAgainst,
      stats: { ...statsOf(state, at), ...(event.graphTriples === undefined ? {} : { triplesTotal: event.graphTriples }) },
      completedAt: at,
      updatedAt: at,
    }
    return state.documentsFailed + state.documentsSetAside > 0
      ? S.PartiallyCompleted.derive(state, outcome)
      : S.Completed.derive(state, outcome)
  })

  .on(active, E.Cancel, S.Cancelled, ({ state, at }) =>
    S.Cancelled.derive({ ...noCounts, ...state }, { cancelledInStage: stageOf(state), cancelledAt: at, updatedAt: at }),
  )
  .on(active, E.Fail, S.Failed, ({ state, event, at }) =>
    event.stage === stageOf(state) && event.attempt === state.attempt
      ? S.Failed.derive({ ...noCounts, ...state }, { ...failedIn(event.stage), failedAt: at, updatedAt: at, error: event.error })
      : refuse(`stage ${event.stage} of attempt ${event.attempt} has ended; the batch is ${stageOf(state)} in attempt ${state.attempt}`),
  )
  // The facts of a partially completed batch stay until the new attempt replaces them.
  .on([S.Failed, S.PartiallyCompleted], E.Retry, S.Pending, ({ state, event, at }) =>
    state.retryCount < state.config.maxRetries
      ? S.Pending.derive(state, {
          retryCount: state.retryCount + 1,
          attempt: state.attempt + 1,
          config: changed(state, event),
          updatedAt: at,
          ...(event.documents === undefined ? {} : { retried: event.documents }),
        })
      : refuse(`retried ${state.retryCount} times, as often as allowed; resume it, or raise maxRetries in a new batch`),
  )
  .on([S.Failed, S.PartiallyCompleted, S.Cancelled], E.Resume, S.Pending, ({ state, event, at }) =>
    S.Pending.derive(state, { attempt: state.attempt + 1, config: changed(state, event), updatedAt: at }),
  )

  // A started batch moves on by itself. `BatchCreated` is published before any event about its documents.
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
  .spawn(
    S.Extracting,
    ({ state, effects, self }) =>
      staged(state, self.send, effects.dispatchStage, effects.processDocuments({ state }), (value) =>
        E.ExtractionComplete({ ...value, attempt: state.attempt }),
      ),
    {
      runs: ["processDocuments", "dispatchStage"],
    },
  )
  .spawn(
    S.Resolving,
    ({ state, effects, self }) =>
      staged(state, self.send, effects.dispatchStage, effects.runResolution({ state }), (value) =>
        E.ResolutionComplete({ ...value, attempt: state.attempt }),
      ),
    {
      runs: ["runResolution", "dispatchStage"],
    },
  )
  .spawn(
    S.Validating,
    ({ state, effects, self }) =>
      staged(state, self.send, effects.dispatchStage, effects.runValidation({ state }), (value) =>
        E.ValidationComplete({ ...value, attempt: state.attempt }),
      ),
    {
      runs: ["runValidation", "dispatchStage"],
    },
  )
  .spawn(
    S.Ingesting,
    ({ state, effects, self }) =>
      staged(state, self.send, effects.dispatchStage, effects.runIngestion({ state }), (done) =>
        "movedTo" in done
          ? E.GraphMoved({ version: done.movedTo, attempt: state.attempt })
          : E.IngestionComplete({ ...done, attempt: state.attempt }),
      ),
    { runs: ["runIngestion", "dispatchStage"] },
  )
  .spawn(S.Cancelled, ({ state, effects }) => effects.endWork({ state }), { runs: ["endWork"] })

  // An effect that `enter` calls becomes a command: any process runs it after the transition is committed.
  .enter(
    S.Resolving,
    ({ state: { batchId }, effects, at }) => effects.emitBatchEvent({ event: facts.ResolutionStarted.make({ batchId, at }) }),
    {
      requests: ["emitBatchEvent"],
    },
  )
  .enter(
    S.Validating,
    ({ state: { batchId, entitiesTotal, clustersFormed }, effects, at }) => {
      const mergeCount = Math.max(0, entitiesTotal - clustersFormed)
      effects.emitBatchEvent({ event: facts.ResolutionCompleted.make({ batchId, at, mergeCount }) })
      effects.emitBatchEvent({ event: facts.ValidationStarted.make({ batchId, at }) })
    },
    { requests: ["emitBatchEvent"] },
  )
  .enter(
    S.Ingesting,
    ({ state: { batchId, violations, quarantined, validatedGraph }, effects, at }) => {
      effects.emitBatchEvent({ event: facts.ValidationCompleted.make({ batchId, at, violations, quarantined }) })
      effects.emitBatchEvent({ event: facts.IngestionStarted.make({ batchId, at, triplesTotal: validatedGraph.triples }) })
    },
    { requests: ["emitBatchEvent"] },
  )
  .enter(
    [S.Completed, S.PartiallyCompleted],
    ({ state: { batchId, documentsTotal, entityCount, relationCount, canonicalVersion, stats }, effects, at }) => {
      const { triplesIngested } = stats
      effects.emitBatchEvent({ event: facts.IngestionCompleted.make({ batchId, at, triplesIngested, canonicalVersion }) })
      effects.emitBatchEvent({
        event: facts.BatchCompleted.make({ batchId, at, totalDocuments: documentsTotal, entityCount, relationCount }),
      })
    },
    { requests: ["emitBatchEvent"] },
  )
  .enter(
    S.Failed,
    ({ state: { batchId, documentsFailed, error }, effects, at }) =>
      effects.emitBatchEvent({
        event: facts.BatchFailed.make({ batchId, at, end: "failed", error: error.message, failedDocuments: documentsFailed }),
      }),
    { requests: ["emitBatchEvent"] },
  )
  .enter(
    S.Failed,
    ({ state, effects }) => {
      if (state.failedInStage === "ingesting") effects.takeBackFacts({ state })
    },
    { requests: ["takeBackFacts"] },
  )
  .enter(
    S.Cancelled,
    ({ state: { batchId, documentsFailed }, effects, at }) =>
      effects.emitBatchEvent({
        event: facts.BatchFailed.make({ batchId, at, end: "cancelled", error: "cancelled", failedDocuments: documentsFailed }),
      }),
    { requests: ["emitBatchEvent"] },
  )
  .enter([...active, S.Completed, S.PartiallyCompleted, S.Failed, S.Cancelled], ({ effects }) => effects.writeStatus({}), {
    requests: ["writeStatus"],
  })
  .commands({ emitBatchEvent: { ordered: true } })
  .final(S.Completed)

const languageTotal = (languages: ReadonlyArray<LanguageCount> | undefined): number =>
  (languages ?? []).reduce((sum, { documents }) => sum + documents, 0)

const changed = ({ config }: Pick<BatchState, "config">, { selection }: { readonly selection?: ExtractorSelection }) => ({
  ...config,
  ...selection,
})

const failedIn = (failedInStage: Stage) => {
  const before = Stage.literals[Stage.literals.indexOf(failedInStage) - 1]
  return { failedInStage, ...(before === undefined ? {} : { lastSuccessfulStage: before }) }
}

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
  documentsSetAside: state.documentsSetAside,
  documentsUnchanged: state.documentsUnchanged,
  documentsWithdrawn: state.documents?.withdrawn ?? 0,
  entitiesExtracted: state.entityCount,
  relationsExtracted: state.relationCount,
  clustersResolved: state.clustersFormed,
  violations: state.violations,
  quarantined: state.quarantined,
  forReview: state.reviewCount,
  triplesIngested: state.validatedGraph.triples,
  totalDurationMs: Math.max(0, at - state.createdAt),
})
