/**
 * The extraction of one document of a batch: the same whether the batch extracts it in its own process, as a task of a queue or as an
 * activity that a job runner starts. It decides which run the document has, and what the end of that run means for the document and for
 * the batch.
 */

import * as Effect from "effect/Effect"
import type { GraphDocument } from "../graph/BatchDocuments.ts"
import { Extractions } from "../runs/Extractions.ts"
import type { RunResult } from "../runs/ExtractionWorkflow.ts"
import { isStoreAway, type RunFailed, setAsideCode } from "../runs/Run.ts"
import type { BatchId } from "../storage/Identity.ts"
import { BatchEvent } from "./BatchMachine.ts"
import { timedDocument } from "./BatchMetrics.ts"
import { type BatchState, BatchStopped, type S, selectionOf } from "./BatchState.ts"
import type { Manifest, ManifestDocument } from "./Manifest.ts"

/** What became of a document. */
export type DocumentOutcome =
  | {
      readonly _tag: "Completed"
      readonly result: Pick<
        RunResult,
        "entities" | "facts" | "forReview" | "misfits" | "skipped" | "refused" | "notRead" | "language" | "unread"
      >
    }
  /** The graph already has this version of the document, as it is described there. */
  | { readonly _tag: "Unchanged"; readonly before: Pick<GraphDocument, "language" | "unread"> }
  | { readonly _tag: "Failed"; readonly problem: string }
  /** The document exceeded a limit twice, and is not tried again in this batch. */
  | { readonly _tag: "SetAside"; readonly problem: string }

const facts = BatchEvent.cases

/** The event that a batch publishes about the end of a document. */
export type DocumentEnd =
  | typeof facts.DocumentCompleted.Type
  | typeof facts.DocumentsUnchanged.Type
  | typeof facts.DocumentFailed.Type
  | typeof facts.DocumentSetAside.Type

export const endEvent = (
  { batchId, at, round }: { readonly batchId: BatchId; readonly at: number; readonly round: number },
  { documentId }: Pick<ManifestDocument, "documentId">,
  outcome: DocumentOutcome,
): DocumentEnd => {
  switch (outcome._tag) {
    case "Completed": {
      const { entities: entityCount, facts: relationCount, forReview: reviewCount } = outcome.result
      return facts.DocumentCompleted.make({ batchId, at, documentId, entityCount, relationCount, reviewCount })
    }
    case "Unchanged":
      return facts.DocumentsUnchanged.make({ batchId, at, documentIds: [documentId] })
    case "Failed":
      return facts.DocumentFailed.make({ batchId, at, documentId, round, error: outcome.problem })
    case "SetAside":
      return facts.DocumentSetAside.make({ batchId, at, documentId, round, error: outcome.problem })
  }
}

/** What a failed run means: the outcome of its document, unless the document may still be extracted, and whether the batch stops. */
export interface FailureMeaning {
  readonly outcome?: DocumentOutcome
  readonly stop?: BatchStopped
}

export const meaningOf = (
  { failurePolicy }: Pick<BatchState["config"], "failurePolicy">,
  { sourceUri }: Pick<ManifestDocument, "sourceUri">,
  failed: RunFailed,
): FailureMeaning => {
  const { code, detail, stops } = failed
  // The database is unavailable, not the document faulty: under every failure policy the batch stops, and resumes the document.
  if (isStoreAway(failed)) return { stop: new BatchStopped({ code, problem: detail }) }
  if (stops !== undefined) return { stop: new BatchStopped({ code: stops, problem: detail }) }
  if (code === setAsideCode) return { outcome: { _tag: "SetAside", problem: detail } }
  const outcome = { _tag: "Failed", problem: detail } as const
  if (failurePolicy !== "failFast") return { outcome }
  return { outcome, stop: new BatchStopped({ code, problem: `document ${sourceUri}: ${detail}` }) }
}

/** The batch whose document is extracted. */
export type ExtractingBatch = Pick<typeof S.Extracting.Type, "batchId" | "attempt" | "config">

/** A document has the same run in all attempts of the batch: a failed run is resumed, a finished one is kept. */
export const requestOf = ({ batchId, attempt, config }: ExtractingBatch, manifest: Manifest, document: ManifestDocument) => ({
  sourceUri: document.sourceUri,
  contentType: document.contentType,
  ontologyUri: manifest.ontologyUri,
  ...(manifest.examplesUri === undefined ? {} : { examplesUri: manifest.examplesUri }),
  ...(manifest.mappingUri === undefined ? {} : { mappingUri: manifest.mappingUri }),
  config: config.pipeline,
  selection: selectionOf(config),
  part: { batchId, attempt: 0, batchAttempt: attempt },
})

/** Extracts the document. A run that failed before `failuresSince` is resumed; a later failure stands. */
export const extractDocument = (batch: ExtractingBatch, manifest: Manifest, document: ManifestDocument, failuresSince: number) =>
  Effect.flatMap(Extractions, (extractions) => timedDocument(extractions.complete(requestOf(batch, manifest, document), failuresSince)))
