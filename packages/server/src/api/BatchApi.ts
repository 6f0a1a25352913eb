/** Batches of documents: start, look, cancel, retry, resume, follow, and read what they left. */
import { BatchConfig, BatchId, DocumentId, ManifestFile, StorageFolder } from "@detent/knowledge"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/unstable/httpapi/HttpApiEndpoint"
import * as HttpApiGroup from "effect/unstable/httpapi/HttpApiGroup"
import * as HttpApiSchema from "effect/unstable/httpapi/HttpApiSchema"
import * as OpenApi from "effect/unstable/httpapi/OpenApi"
import { IdempotencyHeaders, LiveHeaders } from "./Headers.ts"
import { InstanceCursor, Limit, Millis } from "./Paging.ts"
import { problems } from "./Problem.ts"

export const BatchStateTag = Schema.Literals([
  "Pending",
  "Extracting",
  "Resolving",
  "Validating",
  "Ingesting",
  "Completed",
  "PartiallyCompleted",
  "Failed",
  "Cancelled",
])

/** What came of a batch that reached its end. */
export const BatchOutcome = Schema.Struct({
  documentsProcessed: Schema.Int,
  documentsFailed: Schema.Int,
  entitiesExtracted: Schema.Int,
  relationsExtracted: Schema.Int,
  clustersResolved: Schema.Int,
  violations: Schema.Int,
  quarantined: Schema.Int,
  triplesIngested: Schema.Int,
  totalDurationMs: Schema.Int,
})

export const BatchStatus = Schema.Struct({
  batchId: BatchId,
  state: BatchStateTag,
  /** The state in words. */
  stage: Schema.String,
  percent: Schema.Finite,
  /** Nothing more happens unless somebody asks. */
  isTerminal: Schema.Boolean,
  namespace: Schema.String,
  ontologyVersion: Schema.String,
  documents: Schema.Struct({ total: Schema.Int, completed: Schema.Int, failed: Schema.Int }),
  entities: Schema.Int,
  relations: Schema.Int,
  retryCount: Schema.Int,
  createdAt: Millis,
  failure: Schema.optionalKey(Schema.Struct({ stage: Schema.String, code: Schema.String, message: Schema.String })),
  outcome: Schema.optionalKey(BatchOutcome),
}).annotate({ identifier: "BatchStatus" })
export type BatchStatus = typeof BatchStatus.Type

export const BatchListing = Schema.Struct({
  batchId: Schema.String,
  state: Schema.String,
  status: Schema.Literals(["running", "final", "stopped", "held"]),
  reason: Schema.optionalKey(Schema.String),
  startedAt: Millis,
  updatedAt: Millis,
})

export const StartBatch = Schema.Struct({
  /** What references of the manifest that are paths are beside; the server's own folder unless told. */
  folder: Schema.optionalKey(StorageFolder),
  manifest: ManifestFile,
  config: Schema.optionalKey(
    Schema.Struct({
      failurePolicy: Schema.optionalKey(BatchConfig.fields.failurePolicy),
      concurrency: Schema.optionalKey(BatchConfig.fields.concurrency.check(Schema.isLessThanOrEqualTo(1024))),
      maxRetries: Schema.optionalKey(BatchConfig.fields.maxRetries),
      resolveEntities: Schema.optionalKey(Schema.Boolean),
      validation: Schema.optionalKey(BatchConfig.fields.validation),
    }),
  ),
}).annotate({ identifier: "StartBatch" })

export const DocumentStatus = Schema.Struct({
  documentId: Schema.String,
  status: Schema.Literals(["processing", "completed", "failed"]),
  error: Schema.NullOr(Schema.String),
})

export const Artifact = Schema.Struct({ name: Schema.String, bytes: Schema.Int })

const params = { batchId: BatchId }
const error = problems

export class BatchApi extends HttpApiGroup.make("batches")
  .add(
    HttpApiEndpoint.post("start", "/api/v1/batch", {
      headers: IdempotencyHeaders,
      payload: StartBatch,
      success: BatchStatus.pipe(HttpApiSchema.status(202)),
      error,
    }).annotate(
      OpenApi.Description,
      "Checks the manifest, stores it and starts the batch. With an Idempotency-Key, the same key again is the same batch.",
    ),
    HttpApiEndpoint.get("list", "/api/v1/batch", {
      query: {
        state: Schema.optionalKey(BatchStateTag),
        status: Schema.optionalKey(Schema.Literals(["running", "final", "stopped", "held"])),
        limit: Limit,
        after: Schema.optionalKey(InstanceCursor),
      },
      success: Schema.Struct({ batches: Schema.Array(BatchListing), next: Schema.optionalKey(InstanceCursor) }),
      error,
    }),
    HttpApiEndpoint.get("get", "/api/v1/batch/:batchId", { params, success: BatchStatus, error }),
    HttpApiEndpoint.post("cancel", "/api/v1/batch/:batchId/cancel", { params, success: BatchStatus, error }),
    HttpApiEndpoint.post("retry", "/api/v1/batch/:batchId/retry", { params, success: BatchStatus, error }),
    HttpApiEndpoint.post("resume", "/api/v1/batch/:batchId/resume", { params, success: BatchStatus, error }),
    HttpApiEndpoint.get("documents", "/api/v1/batch/:batchId/documents", {
      params,
      query: {
        status: Schema.optionalKey(Schema.Literals(["processing", "completed", "failed"])),
        limit: Limit,
        after: Schema.optionalKey(DocumentId),
      },
      success: Schema.Struct({ documents: Schema.Array(DocumentStatus), next: Schema.optionalKey(Schema.String) }),
      error,
    }),
    HttpApiEndpoint.get("artifacts", "/api/v1/batch/:batchId/artifacts", {
      params,
      success: Schema.Struct({ artifacts: Schema.Array(Artifact) }),
      error,
    }),
    HttpApiEndpoint.get("artifact", "/api/v1/batch/:batchId/artifacts/:name", {
      params: { ...params, name: Schema.String },
      success: HttpApiSchema.StreamUint8Array(),
      error,
    }).annotate(OpenApi.Description, "The content of an artifact; slashes in its name are written %2F."),
    HttpApiEndpoint.get("events", "/api/v1/batch/:batchId/events", {
      params,
      headers: LiveHeaders,
      success: HttpApiSchema.StreamUint8Array({ contentType: "text/event-stream" }),
      error,
    }).annotate(
      OpenApi.Description,
      "Server-sent events: where the batch stands, then whatever it tells. With Last-Event-ID, all that came after that one. " +
        "Of a batch that has ended, what was asked for and where it stands; then the stream ends.",
    ),
  )
  .annotate(OpenApi.Description, "Batches of documents") {}
