/** Bulk uploads of Hacker News items: send a file, watch it, correct and retry what failed, search what was stored. */
import { HNItem, ItemType } from "@detent/uploads"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/unstable/httpapi/HttpApiEndpoint"
import * as HttpApiGroup from "effect/unstable/httpapi/HttpApiGroup"
import * as HttpApiSchema from "effect/unstable/httpapi/HttpApiSchema"
import * as OpenApi from "effect/unstable/httpapi/OpenApi"
import { withFileParts } from "../api/Answers.ts"
import { IdempotencyHeaders } from "../api/Headers.ts"
import { Count, Limit, Millis, pageOf, paging } from "../api/Paging.ts"
import { problems } from "../api/Problem.ts"

export const UploadStatus = Schema.Struct({
  batchId: Schema.String,
  state: Schema.String,
  /** The transition whose processors are at work. */
  step: Schema.optionalKey(Schema.String),
  /** Nothing is under way. */
  isResting: Schema.Boolean,
  fileName: Schema.String,
  fileSize: Schema.optionalKey(Schema.Finite),
  items: Schema.Struct({ total: Schema.Int, waiting: Schema.Int, stored: Schema.Int, failed: Schema.Int }),
  itemsPerSecond: Schema.optionalKey(Schema.Finite),
  estimatedCompletionAt: Schema.optionalKey(Schema.Finite),
  canRetry: Schema.Boolean,
  problem: Schema.optionalKey(Schema.String),
  errors: Schema.Array(Schema.Struct({ reason: Schema.String, count: Schema.Int, example: Schema.optionalKey(Schema.String) })),
}).annotate({ identifier: "UploadStatus" })
export type UploadStatus = typeof UploadStatus.Type

export const UploadListing = Schema.Struct({
  batchId: Schema.String,
  fileName: Schema.String,
  md5: Schema.String,
  createdAt: Millis,
  stored: Schema.Int,
  failed: Schema.Int,
})

export const ItemState = Schema.Literals(["stored", "failed", "processing"])

export const UploadItem = Schema.Struct({
  index: Schema.Int,
  line: Schema.Int,
  state: ItemState,
  hnId: Schema.optionalKey(Schema.Int),
  problem: Schema.optionalKey(Schema.Struct({ reason: Schema.String, message: Schema.String })),
  attempts: Schema.Int,
  /** The instance that holds its history. */
  instanceId: Schema.String,
})

export const FoundItem = Schema.Struct({ item: HNItem, batchId: Schema.String, index: Schema.Int })

const UploadForm = Schema.Struct({ file: Schema.String.annotate({ description: "JSON, or lines of JSON; plain or gzip" }) })

const params = { batchId: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)) }
const error = problems

export class UploadApi extends HttpApiGroup.make("uploads")
  .add(
    HttpApiEndpoint.post("send", "/api/v1/uploads", {
      headers: IdempotencyHeaders,
      query: { force: Schema.optionalKey(Schema.Literals(["true", "false"])) },
      // The size of the file is limited where it is kept.
      payload: UploadForm.pipe(HttpApiSchema.asMultipartStream({ maxParts: 10, maxTotalSize: "1 TB", fieldMimeTypes: [] })),
      success: UploadStatus.pipe(HttpApiSchema.status(202)),
      error,
    })
      .annotate(OpenApi.Summary, "Upload a file")
      .annotate(OpenApi.Description, "Keeps the file of a multipart form, without holding it in memory, and starts its batch.")
      .annotate(OpenApi.Transform, withFileParts("file")),
    HttpApiEndpoint.get("list", "/api/v1/uploads", {
      query: paging(Count),
      success: pageOf({ uploads: Schema.Array(UploadListing) }, Schema.Int),
      error,
    }).annotate(OpenApi.Summary, "List uploads"),
    HttpApiEndpoint.get("get", "/api/v1/uploads/:batchId", { params, success: UploadStatus, error }).annotate(
      OpenApi.Summary,
      "Show an upload",
    ),
    HttpApiEndpoint.get("items", "/api/v1/uploads/:batchId/items", {
      params,
      query: { state: Schema.optionalKey(ItemState), ...paging(Count) },
      success: pageOf({ items: Schema.Array(UploadItem) }, Schema.Int),
      error,
    }).annotate(OpenApi.Summary, "List the items of an upload"),
    HttpApiEndpoint.put("correct", "/api/v1/uploads/:batchId/items/:index", {
      params: { ...params, index: Count },
      payload: Schema.Record(Schema.String, Schema.Json),
      success: HttpApiSchema.NoContent,
      error,
    })
      .annotate(OpenApi.Summary, "Correct a failed item")
      .annotate(OpenApi.Description, "Gives a failed item other content, for the next retry."),
    HttpApiEndpoint.post("retry", "/api/v1/uploads/:batchId/retry", { params, success: UploadStatus, error })
      .annotate(OpenApi.Summary, "Retry the failed items of an upload")
      .annotate(
        OpenApi.Description,
        "Tries the failed items of a partially completed batch again, or a failed batch from where it got to.",
      ),
    HttpApiEndpoint.post("cancel", "/api/v1/uploads/:batchId/cancel", { params, success: UploadStatus, error }).annotate(
      OpenApi.Summary,
      "Cancel an upload",
    ),
    HttpApiEndpoint.get("search", "/api/v1/items", {
      query: {
        text: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(500))),
        type: Schema.optionalKey(ItemType),
        by: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200))),
        from: Schema.optionalKey(Count),
        until: Schema.optionalKey(Count),
        batchId: Schema.optionalKey(Schema.String),
        limit: Limit,
        afterTime: Schema.optionalKey(Count),
        afterId: Schema.optionalKey(Count),
      },
      success: pageOf({ items: Schema.Array(FoundItem) }, Schema.Struct({ time: Schema.Int, hnId: Schema.Int })),
      error,
    }).annotate(OpenApi.Summary, "Search stored items"),
  )
  .annotate(OpenApi.Description, "Bulk uploads of Hacker News items") {}
