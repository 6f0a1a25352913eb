/** Batches of documents: start, show, cancel, retry, resume, follow, and read their results. */

import { StorageFolder, StorageUri } from "@detent/blobs/Storage"
import {
  BatchConfig,
  BatchId,
  BudgetText,
  DocumentDiff,
  DocumentId,
  ManifestFile,
  MappingPreview,
  ReviewItem,
  ReviewOutcome,
  ReviewStatus,
  UnreadProse,
} from "@detent/knowledge/schemas"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { answersWith, bytes, text } from "../contract/Answers.ts"
import { IdempotencyHeaders, LiveHeaders } from "../contract/Headers.ts"
import { InstanceCursor, Limit, Millis, Opaque, pageOf, paging } from "../contract/Paging.ts"
import { problems } from "../contract/Problem.ts"
import { BatchEstimate, BatchStateTag, BatchStatus } from "./BatchStatus.ts"
import { InstanceStatus } from "./InstanceApi.ts"

export { BatchEstimate, BatchOutcome, BatchStateTag, BatchStatus, ModelUsage } from "./BatchStatus.ts"
export { MappingPreview }

export const BatchListing = Schema.Struct({
  batchId: Schema.String,
  state: Schema.String,
  status: InstanceStatus,
  reason: Schema.optionalKey(Schema.String),
  startedAt: Millis,
  updatedAt: Millis,
  /** The status of the batch; absent where it cannot be read. */
  progress: Schema.optionalKey(BatchStatus),
})

const config = Schema.optionalKey(
  Schema.Struct({
    failurePolicy: Schema.optionalKey(BatchConfig.fields.failurePolicy),
    concurrency: Schema.optionalKey(BatchConfig.fields.concurrency.check(Schema.isLessThanOrEqualTo(1024))),
    maxRetries: Schema.optionalKey(BatchConfig.fields.maxRetries),
    resolveEntities: Schema.optionalKey(Schema.Boolean),
    validation: Schema.optionalKey(BatchConfig.fields.validation),
    dispatch: BatchConfig.fields.dispatch,
    // No base URL: the server sends its API key only to addresses in its own configuration.
    extractor: BatchConfig.fields.extractor,
    budget: BatchConfig.fields.budget,
    price: BatchConfig.fields.price,
    effort: BatchConfig.fields.effort,
    requestsPerMinute: BatchConfig.fields.requestsPerMinute,
    instructions: BatchConfig.fields.instructions,
    glossary: BatchConfig.fields.glossary,
  }),
)

export const StartManifest = Schema.Struct({
  /** The folder that paths in the manifest are relative to. Default: the server's folder. */
  folder: Schema.optionalKey(StorageFolder),
  manifest: ManifestFile,
  config,
})

export const StartManifestUri = Schema.Struct({
  /** The address of the manifest, below a folder that the server may read. Paths in the manifest are relative to its own folder. */
  manifestUri: StorageUri,
  /** A mapping of tables and objects to facts, as YAML or JSON, in place of that of the manifest. */
  mappingText: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1_000_000))),
  config,
})

/** The manifest itself, or its address. */
export const StartBatch = Schema.Union([StartManifest, StartManifestUri]).annotate({ identifier: "StartBatch" })

/** `pending`: not begun. `set-aside`: the document exceeded a limit twice and is not retried in this batch; `error` has the next step. */
export const DocumentState = Schema.Literals(["pending", "processing", "completed", "failed", "set-aside"])

export const DocumentStatus = Schema.Struct({
  documentId: Schema.String,
  /** The address of the document. */
  source: Schema.String,
  status: DocumentState,
  error: Schema.NullOr(Schema.String),
  /** The latest run of the document, its attempt, and when it began and ended. */
  runId: Schema.optionalKey(Schema.String),
  attempt: Schema.optionalKey(Schema.Int),
  startedAt: Schema.optionalKey(Millis),
  completedAt: Schema.optionalKey(Millis),
  /** Entities and facts extracted from the document. */
  entities: Schema.optionalKey(Schema.Int),
  facts: Schema.optionalKey(Schema.Int),
  /** Facts of the document whose confidence is too low for the graph. */
  forReview: Schema.optionalKey(Schema.Int),
  /** Chunks of its text that are done. */
  chunks: Schema.optionalKey(Schema.Int),
  /** Tokens that a model used for the document. */
  tokens: Schema.optionalKey(Schema.Int),
  /** The cost of the tokens, in the currency of the batch's `usage`; absent where the price of the model is unknown. */
  cost: Schema.optionalKey(Schema.Finite),
  language: Schema.optionalKey(Schema.String),
  /** Why the prose of the document was not read; `nextStep` says what to do. */
  unread: Schema.optionalKey(UnreadProse),
  nextStep: Schema.optionalKey(Schema.String),
})

export const FailureGroup = Schema.Struct({
  fingerprint: Schema.String,
  /** The problem of the first document. */
  problem: Schema.String,
  status: Schema.Literals(["failed", "set-aside"]),
  count: Schema.Int,
  /** Ids of the first documents of the group. */
  documents: Schema.Array(Schema.String),
}).annotate({ identifier: "FailureGroup" })

export const Artifact = Schema.Struct({ name: Schema.String, bytes: Schema.Int })

export const RetryBatch = Schema.Struct({
  /** The failed documents to retry. Default: all. */
  documents: Schema.optionalKey(Schema.Array(DocumentId).check(Schema.isMinLength(1), Schema.isMaxLength(10_000))),
}).annotate({ identifier: "RetryBatch" })

export const LargerBudget = Schema.Struct({ budget: BudgetText })

export const Withdrawal = Schema.Struct({
  /** Withdraws the batch even if the graph would then violate shapes that it does not violate now. */
  force: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "Withdrawal" })

export const Withdrawn = Schema.Struct({
  batchId: Schema.String,
  namespace: Schema.String,
  /** The version of the graph without the batch; absent where the batch had added nothing. */
  version: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "Withdrawn" })

/** The content type of an artifact, by the ending of its name. */
export const artifactType = (name: string): string => artifactTypes[name.slice(name.lastIndexOf("."))] ?? otherArtifact

const otherArtifact = "application/octet-stream"

const artifactTypes: Readonly<Record<string, string>> = {
  ".json": "application/json",
  ".ttl": "text/turtle; charset=utf-8",
  ".nt": "application/n-triples; charset=utf-8",
}

const artifacts = Object.fromEntries(Object.values(artifactTypes).map((type) => [type, type.includes("json") ? {} : text]))

export const BatchChanges = Schema.Struct({
  batchId: Schema.String,
  namespace: Schema.String,
  /** The version of the graph that the batch published; absent where it has published nothing. */
  version: Schema.optionalKey(Schema.String),
  previous: Schema.optionalKey(Schema.String),
  /** How many facts the graph gained and lost, listed or not. */
  added: Schema.Int,
  removed: Schema.Int,
  documents: Schema.Array(DocumentDiff),
}).annotate({ identifier: "BatchChanges" })

/** The cursor of a page of a review list. */
const ReviewCursor = Opaque.pipe(
  Schema.decodeTo(Schema.fromJsonString(Schema.Struct({ documentId: Schema.String, start: Schema.Int, factId: Schema.String }))),
)

export const ReviewedFact = ReviewItem.annotate({ identifier: "ReviewedFact" })

const factId = Schema.String.check(Schema.isPattern(/^[a-f0-9]{16}$/u, { expected: "the id of a fact, 16 hexadecimal digits" }))

const confidence = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

const property = Schema.String.check(Schema.isMaxLength(2000))

/** The facts to decide: by id, or with `all` every open fact (to reopen: every decided fact) that matches `property` and `below`. */
export const ReviewDecision = Schema.Struct({
  facts: Schema.optionalKey(Schema.Array(factId).check(Schema.isMinLength(1), Schema.isMaxLength(1000))),
  all: Schema.optionalKey(Schema.Literal(true)),
  /** An IRI, or its last part. */
  property: Schema.optionalKey(property),
  /** Facts with a lower confidence. */
  below: Schema.optionalKey(confidence),
  /** Who decides. Default: `operator`. */
  by: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))),
})
  .check(
    Schema.makeFilter(
      ({ facts, all, property: one, below }) =>
        facts === undefined ? all === true : all === undefined && one === undefined && below === undefined,
      {
        expected: "either facts, or all with or without property and below",
      },
    ),
  )
  .annotate({ identifier: "ReviewDecision" })
export type ReviewDecision = typeof ReviewDecision.Type

export const ReviewAnswer = ReviewOutcome.annotate({ identifier: "ReviewOutcome" })

const params = { batchId: BatchId }
const error = problems

export class BatchApi extends HttpApiGroup.make("batches")
  .add(
    HttpApiEndpoint.post("start", "/api/v1/batch", {
      headers: IdempotencyHeaders,
      payload: StartBatch,
      success: BatchStatus.pipe(HttpApiSchema.status(202)),
      error,
    })
      .annotate(OpenApi.Summary, "Start a batch")
      .annotate(
        OpenApi.Description,
        "Checks the manifest, stores it and starts the batch. `manifestUri` names a manifest that was written by hand, or the manifest.json " +
          "of a batch: then that batch is returned. With an Idempotency-Key, a repeated request returns the same batch.",
      ),
    HttpApiEndpoint.post("estimate", "/api/v1/batch/estimate", { payload: StartBatch, success: BatchEstimate, error })
      .annotate(OpenApi.Summary, "Estimate a batch")
      .annotate(
        OpenApi.Description,
        "Reads the documents and estimates the batch: chunks, calls, tokens and cost. No model is called, and nothing is stored.",
      ),
    HttpApiEndpoint.post("previewMapping", "/api/v1/batch/mapping", { payload: StartBatch, success: MappingPreview, error })
      .annotate(OpenApi.Summary, "Preview a mapping")
      .annotate(
        OpenApi.Description,
        "Reads the first records of each kind of file, and shows which facts the mapping of the manifest gives and which columns it does not " +
          "read. Without a mapping, one is proposed from the names and values of columns. Nothing is stored.",
      ),
    HttpApiEndpoint.get("list", "/api/v1/batch", {
      query: {
        state: Schema.optionalKey(BatchStateTag),
        status: Schema.optionalKey(InstanceStatus),
        order: Schema.optionalKey(Schema.Literals(["oldest", "newest"])),
        ...paging(InstanceCursor),
      },
      success: pageOf({ batches: Schema.Array(BatchListing) }, InstanceCursor),
      error,
    }).annotate(OpenApi.Summary, "List batches"),
    HttpApiEndpoint.get("get", "/api/v1/batch/:batchId", { params, success: BatchStatus, error }).annotate(OpenApi.Summary, "Show a batch"),
    HttpApiEndpoint.post("cancel", "/api/v1/batch/:batchId/cancel", { params, success: BatchStatus, error }).annotate(
      OpenApi.Summary,
      "Cancel a batch",
    ),
    HttpApiEndpoint.post("retry", "/api/v1/batch/:batchId/retry", {
      params,
      payload: [RetryBatch, HttpApiSchema.NoContent],
      success: BatchStatus,
      error,
    })
      .annotate(OpenApi.Summary, "Retry a failed batch")
      .annotate(OpenApi.Description, "Retries the failed documents, or only those in `documents`. The results of the others are kept."),
    HttpApiEndpoint.post("resume", "/api/v1/batch/:batchId/resume", { params, success: BatchStatus, error }).annotate(
      OpenApi.Summary,
      "Resume a cancelled batch",
    ),
    HttpApiEndpoint.post("raiseBudget", "/api/v1/batch/:batchId/budget", {
      params,
      payload: LargerBudget,
      success: BatchStatus,
      error,
    })
      .annotate(OpenApi.Summary, "Resume a batch with a larger budget")
      .annotate(OpenApi.Description, "Resumes a batch that stopped at its budget, with a larger budget: `5usd` or `200000tokens`."),
    HttpApiEndpoint.post("withdraw", "/api/v1/batch/:batchId/withdraw", {
      params,
      payload: [Withdrawal, HttpApiSchema.NoContent],
      success: Withdrawn,
      error,
    })
      .annotate(OpenApi.Summary, "Withdraw a batch from its graph")
      .annotate(
        OpenApi.Description,
        "Removes the facts of the batch from its graph. The batch and its artifacts stay. Refused with 409 where the graph would " +
          "violate shapes that it does not violate now, except with `force`.",
      ),
    HttpApiEndpoint.get("review", "/api/v1/batch/:batchId/review", {
      params,
      query: {
        status: Schema.optionalKey(ReviewStatus),
        property: Schema.optionalKey(property),
        below: Schema.optionalKey(Schema.NumberFromString.pipe(Schema.decodeTo(confidence))),
        ...paging(ReviewCursor),
      },
      success: pageOf({ facts: Schema.Array(ReviewedFact) }, ReviewCursor),
      error,
    })
      .annotate(OpenApi.Summary, "List the facts for review")
      .annotate(
        OpenApi.Description,
        "Facts whose confidence is too low for the graph, with the words that state them, and why they are on the list.",
      ),
    HttpApiEndpoint.post("accept", "/api/v1/batch/:batchId/review/accept", {
      params,
      payload: ReviewDecision,
      success: ReviewAnswer,
      error,
    })
      .annotate(OpenApi.Summary, "Accept facts of the review list")
      .annotate(
        OpenApi.Description,
        "Adds the facts to the graph and records the reviewer. A fact with which the graph would violate its shapes is refused and stays open.",
      ),
    HttpApiEndpoint.post("reject", "/api/v1/batch/:batchId/review/reject", {
      params,
      payload: ReviewDecision,
      success: ReviewAnswer,
      error,
    })
      .annotate(OpenApi.Summary, "Reject facts of the review list")
      .annotate(OpenApi.Description, "Keeps the facts out of the graph, also when the same version of their document is extracted again."),
    HttpApiEndpoint.post("reopen", "/api/v1/batch/:batchId/review/reopen", {
      params,
      payload: ReviewDecision,
      success: ReviewAnswer,
      error,
    })
      .annotate(OpenApi.Summary, "Reverse decisions on facts of the review list")
      .annotate(
        OpenApi.Description,
        "Removes the facts from the graph and opens them again. The `history` of each fact keeps every decision, with its reviewer and time. " +
          "`all` selects the accepted and rejected facts that match the filter.",
      ),
    HttpApiEndpoint.get("documents", "/api/v1/batch/:batchId/documents", {
      params,
      query: { status: Schema.optionalKey(DocumentState), ...paging(DocumentId) },
      success: pageOf({ documents: Schema.Array(DocumentStatus) }, Schema.String),
      error,
    }).annotate(OpenApi.Summary, "List the documents of a batch"),
    HttpApiEndpoint.get("failures", "/api/v1/batch/:batchId/failures", {
      params,
      success: Schema.Struct({ groups: Schema.Array(FailureGroup) }),
      error,
    })
      .annotate(OpenApi.Summary, "Group the failed documents of a batch")
      .annotate(OpenApi.Description, "Documents that failed or were set aside, grouped by problem, largest group first."),
    HttpApiEndpoint.get("changes", "/api/v1/batch/:batchId/changes", {
      params,
      query: { limit: Limit },
      success: BatchChanges,
      error,
    })
      .annotate(OpenApi.Summary, "Show what a batch changed")
      .annotate(OpenApi.Description, "The facts that the batch added to its graph and removed from it, by document."),
    HttpApiEndpoint.get("artifacts", "/api/v1/batch/:batchId/artifacts", {
      params,
      success: Schema.Struct({ artifacts: Schema.Array(Artifact) }),
      error,
    }).annotate(OpenApi.Summary, "List the artifacts of a batch"),
    HttpApiEndpoint.get("artifact", "/api/v1/batch/:batchId/artifacts/:name", {
      params: { ...params, name: Schema.String },
      success: HttpApiSchema.StreamUint8Array(),
      error,
    })
      .annotate(OpenApi.Summary, "Read an artifact of a batch")
      .annotate(OpenApi.Description, "The content of an artifact. Encode slashes in its name as %2F.")
      .annotate(OpenApi.Transform, answersWith({ ...artifacts, [otherArtifact]: bytes })),
    HttpApiEndpoint.get("events", "/api/v1/batch/:batchId/events", {
      params,
      headers: LiveHeaders,
      success: [HttpApiSchema.StreamUint8Array({ contentType: "text/event-stream" }), HttpApiSchema.NoContent],
      error,
    })
      .annotate(OpenApi.Summary, "Follow a batch")
      .annotate(
        OpenApi.Description,
        "Server-sent events: the status of the batch, then each of its events. With Last-Event-ID, all events after that id. " +
          "When the batch has ended, the last event is `status` with `isTerminal`, and the stream ends. A client that reconnects " +
          "after that gets 204, so that an EventSource stops reconnecting.",
      ),
  )
  .annotate(OpenApi.Description, "Batches of documents") {}
