/** Bulk uploads of items of any kind: send a file, follow it, correct and retry failed items, search stored items. */
import { Mapping, MappingSource, TargetField } from "@detent/tables/Mapping"
import { TableFormat, TableOptions } from "@detent/tables/TableFormat"
import { Preview } from "@detent/uploads/Preview"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { answersWith, text, withFileParts } from "../contract/Answers.ts"
import { IdempotencyHeaders, LiveHeaders } from "../contract/Headers.ts"
import { Count, Millis, Opaque, pageOf, paging } from "../contract/Paging.ts"
import { problems } from "../contract/Problem.ts"

export const UploadFailure = Schema.Struct({
  message: Schema.String,
  at: Millis,
  /** Whether a user cancelled the upload; the message has the reason. */
  cancelled: Schema.Boolean,
  /** The error and its causes, one per line. */
  cause: Schema.optionalKey(Schema.String),
  transition: Schema.optionalKey(Schema.String),
  processor: Schema.optionalKey(Schema.String),
  attempts: Schema.optionalKey(Schema.Int),
})

export const UploadStatus = Schema.Struct({
  batchId: Schema.String,
  /** The kind of its items: the name of an upload definition. */
  kind: Schema.String,
  state: Schema.String,
  /** The transition whose processors are running. */
  step: Schema.optionalKey(Schema.String),
  /** Whether no work is in progress. */
  isResting: Schema.Boolean,
  fileName: Schema.String,
  fileSize: Schema.optionalKey(Schema.Finite),
  /** The format that was found in the file or given. */
  table: Schema.optionalKey(TableFormat),
  /** The same in words. */
  format: Schema.optionalKey(Schema.String),
  /** The mapping of its columns to fields, if it has one, and who gave it. */
  mapping: Schema.optionalKey(Mapping),
  mappingSource: Schema.optionalKey(MappingSource),
  items: Schema.Struct({ total: Schema.Int, waiting: Schema.Int, stored: Schema.Int, failed: Schema.Int }),
  itemsPerSecond: Schema.optionalKey(Schema.Finite),
  estimatedCompletionAt: Schema.optionalKey(Schema.Finite),
  canRetry: Schema.Boolean,
  /** Whether a retry would process failed items again. */
  canRetryItems: Schema.Boolean,
  problem: Schema.optionalKey(Schema.String),
  failure: Schema.optionalKey(UploadFailure),
  /** Why the notification of the outcome failed. */
  notificationError: Schema.optionalKey(Schema.String),
  errors: Schema.Array(Schema.Struct({ reason: Schema.String, count: Schema.Int, example: Schema.optionalKey(Schema.String) })),
}).annotate({ identifier: "UploadStatus" })
export type UploadStatus = typeof UploadStatus.Type

export const UploadListing = Schema.Struct({
  batchId: Schema.String,
  kind: Schema.String,
  fileName: Schema.String,
  md5: Schema.String,
  createdAt: Millis,
  stored: Schema.Int,
  failed: Schema.Int,
  /** The state of the upload and the number of items in its file; absent where they cannot be read. */
  state: Schema.optionalKey(Schema.String),
  total: Schema.optionalKey(Schema.Int),
})

export const ItemState = Schema.Literals(["stored", "failed", "processing"])

export const UploadItem = Schema.Struct({
  index: Schema.Int,
  line: Schema.Int,
  state: ItemState,
  /** The id of the item as text, if it is known. */
  id: Schema.optionalKey(Schema.String),
  problem: Schema.optionalKey(Schema.Struct({ reason: Schema.String, message: Schema.String })),
  /** When a failed item was corrected that waits for a retry. */
  correctedAt: Schema.optionalKey(Millis),
  attempts: Schema.Int,
  /** The instance with the history of the item. */
  instanceId: Schema.String,
})

export const UploadItemHistory = Schema.Struct({
  ...UploadItem.fields,
  /**
   * The text of the item in the file or in a correction; absent where it is too large or not text, and was not kept, and where the
   * stored item is of another upload.
   */
  source: Schema.optionalKey(Schema.String),
  /** The states of the item, in order. */
  history: Schema.Array(
    Schema.Struct({
      state: Schema.Literals(["ingested", "validated", "stored", "failed"]),
      at: Schema.Finite,
      attempt: Schema.Int,
      problem: Schema.optionalKey(Schema.Struct({ reason: Schema.String, message: Schema.String })),
    }),
  ),
})

export const UploadKind = Schema.Struct({
  name: Schema.String,
  /** The fields that the `where` of a search can use. */
  fields: Schema.Array(Schema.String),
  /** Whether this is the default kind of uploads. */
  isDefault: Schema.Boolean,
  /** The SQL view of its stored items, and the columns of it that are fields of the items. */
  view: Schema.String,
  columns: Schema.Array(
    Schema.Struct({ name: Schema.String, type: Schema.Literals(["text", "integer", "number", "boolean", "time", "json"]) }),
  ),
  /** The fields that a mapping can fill; absent where it can be any. */
  targets: Schema.optionalKey(Schema.Array(TargetField)),
})

/** The mapping that is kept for files of a kind; without one, only the name of the kind. */
export const UploadMapping = Schema.Struct({
  kind: Schema.String,
  mapping: Schema.optionalKey(Mapping),
  keptAt: Schema.optionalKey(Millis),
})

export const UploadPreview = Preview.annotate({ identifier: "UploadPreview" })

export const StoredKindItem = Schema.Struct({
  id: Schema.String,
  item: Schema.Record(Schema.String, Schema.Json),
  batchId: Schema.String,
  index: Schema.Int,
})

/** Fields and their values, as a JSON object. */
const Where = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])))

// The upload service limits the size of the file when it stores it.
export const formLimits = { maxParts: 10, maxFieldSize: "1 MB", maxTotalSize: "1 TB", fieldMimeTypes: [] } as const

const CorrectionForm = Schema.Struct({
  file: Schema.String.annotate({ description: "The corrected file of failures: CSV, XLSX, a JSON array or JSON lines" }),
})

/** The file is last, also where a client sends the parts in this order. */
const UploadForm = Schema.Struct({
  mapping: Schema.optionalKey(
    Schema.String.annotate({
      description: "which columns the fields are read from, as JSON, or `none`; before the file: parts after it are refused",
    }),
  ),
  file: Schema.String.annotate({ description: "CSV, TSV, XLSX, a JSON array or JSON lines; plain or packed with gzip or zstd" }),
})

/** What a file of corrections changed. */
export const CorrectionReport = Schema.Struct({
  rows: Schema.Int,
  /** Items with other content, which the next retry stores. */
  corrected: Schema.Int,
  /** Rows that are as the failed items are, or that were sent before. */
  unchanged: Schema.Int,
  refused: Schema.Int,
  /** The first 100 refused rows. */
  refusals: Schema.Array(
    Schema.Struct({
      /** The line of the file of corrections, or the row of its sheet. */
      line: Schema.Int,
      /** The item, if the row says which. */
      item: Schema.optionalKey(Schema.Int),
      refusal: Schema.Literals(["bad_row", "no_such_item", "stored", "retrying", "repeated", "still_invalid", "other_item"]),
      message: Schema.String,
    }),
  ),
}).annotate({ identifier: "CorrectionReport" })
export type CorrectionReport = typeof CorrectionReport.Type

const Existing = Schema.Literals(["update", "skip"])

/** What an upload of a file would do with its items. */
export const UploadPlan = Schema.Struct({
  items: Schema.Int,
  /** Items whose id is new. */
  insert: Schema.Int,
  /** Items whose id is stored with other content. */
  update: Schema.Int,
  /** Items whose id is stored with the same content, or with any where stored items are kept. */
  skip: Schema.Int,
  /** Items that would fail. */
  fail: Schema.Int,
  errors: Schema.Array(Schema.Struct({ reason: Schema.String, count: Schema.Int, example: Schema.optionalKey(Schema.String) })),
  /** The format that was found in the file or given. */
  format: Schema.String,
}).annotate({ identifier: "UploadPlan" })
export type UploadPlan = typeof UploadPlan.Type

export const FailureFormat = Schema.Literals(["csv", "jsonl"])

/** What the sender says of the format of a file. */
const tableQuery = {
  ...TableOptions.fields,
  header: Schema.optionalKey(Schema.Literals(["true", "false"])),
  sheet: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200))),
}

const kindParams = { kind: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100)) }

const params = { batchId: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)) }
const error = problems

export class UploadApi extends HttpApiGroup.make("uploads")
  .add(
    HttpApiEndpoint.post("send", "/api/v1/uploads", {
      headers: IdempotencyHeaders,
      query: {
        force: Schema.optionalKey(Schema.Literals(["true", "false"])),
        kind: Schema.optionalKey(kindParams.kind),
        /** What becomes of items whose id is stored already. Default: `update`. */
        existing: Schema.optionalKey(Existing),
        ...tableQuery,
        md5: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[0-9a-fA-F]{32}$/u, { expected: "an MD5 in hex" }))),
      },
      payload: UploadForm.pipe(HttpApiSchema.asMultipartStream(formLimits)),
      success: UploadStatus.pipe(HttpApiSchema.status(202)),
      error,
    })
      .annotate(OpenApi.Summary, "Upload a file")
      .annotate(
        OpenApi.Description,
        "Stores the file of a multipart form, as a stream, and starts its upload. The form has one file, in the part `file`. `kind` is " +
          "the kind of its items. Items that are stored already are replaced where they differ; with `existing=skip`, they stay. " +
          "Format, encoding, delimiter, quote, header and sheet are found in the file where they are not given. " +
          "The part `mapping`, before the file, says which columns the fields are read from; without it, the mapping that is kept for the " +
          "kind is used. " +
          "With `md5`, a file that was damaged in transit is refused.",
      )
      .annotate(OpenApi.Transform, withFileParts("file")),
    HttpApiEndpoint.post("preview", "/api/v1/uploads/preview", {
      query: {
        kind: Schema.optionalKey(kindParams.kind),
        ...tableQuery,
        locale: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(100))),
        rows: Schema.optionalKey(Count),
        isPart: Schema.optionalKey(Schema.Literals(["true", "false"])),
      },
      payload: UploadForm.pipe(HttpApiSchema.asMultipartStream(formLimits)),
      success: UploadPreview,
      error,
    })
      .annotate(OpenApi.Summary, "Preview a file")
      .annotate(
        OpenApi.Description,
        "Reads the first rows of a file by a mapping, and stores nothing: the items that they would become, why rows would fail, and the " +
          "fields that are missing. Without a mapping, the one that is kept for the kind is used, or one is proposed by the names and values " +
          "of the columns. With `isPart`, the file is only the beginning of a longer one.",
      )
      .annotate(OpenApi.Transform, withFileParts("file")),
    HttpApiEndpoint.post("plan", "/api/v1/upload-plans", {
      query: { kind: Schema.optionalKey(kindParams.kind), existing: Schema.optionalKey(Existing), ...tableQuery },
      payload: UploadForm.pipe(HttpApiSchema.asMultipartStream(formLimits)),
      success: UploadPlan,
      error,
    })
      .annotate(OpenApi.Summary, "Count what an upload would do")
      .annotate(
        OpenApi.Description,
        "A dry run: reads the file of a multipart form, and counts how many of its items an upload would insert, update, skip and refuse. " +
          "Nothing is stored.",
      )
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
    HttpApiEndpoint.get("events", "/api/v1/uploads/:batchId/events", {
      params,
      headers: LiveHeaders,
      success: [HttpApiSchema.StreamUint8Array({ contentType: "text/event-stream" }), HttpApiSchema.NoContent],
      error,
    })
      .annotate(OpenApi.Summary, "Follow an upload")
      .annotate(
        OpenApi.Description,
        "Server-sent events: the status of the upload, then again at every change. The stream ends when no work is in progress. A client " +
          "that reconnects after that with Last-Event-ID gets 204, so that an EventSource stops reconnecting.",
      ),
    HttpApiEndpoint.get("items", "/api/v1/uploads/:batchId/items", {
      params,
      query: {
        state: Schema.optionalKey(ItemState),
        /** Only items that failed for this reason. */
        reason: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200))),
        ...paging(Count),
      },
      success: pageOf({ items: Schema.Array(UploadItem) }, Schema.Int),
      error,
    }).annotate(OpenApi.Summary, "List the items of an upload"),
    HttpApiEndpoint.get("history", "/api/v1/uploads/:batchId/items/:index", {
      params: { ...params, index: Count },
      success: UploadItemHistory,
      error,
    })
      .annotate(OpenApi.Summary, "Show an item of an upload with its history")
      .annotate(
        OpenApi.Description,
        "The states of the item with their times, for every attempt: ingested, validated, stored or failed; and its source.",
      ),
    HttpApiEndpoint.put("correct", "/api/v1/uploads/:batchId/items/:index", {
      params: { ...params, index: Count },
      payload: Schema.Record(Schema.String, Schema.Json),
      success: HttpApiSchema.NoContent,
      error,
    })
      .annotate(OpenApi.Summary, "Correct a failed item")
      .annotate(
        OpenApi.Description,
        "Replaces the content of a failed item, for the next retry. Content that would fail again is refused with the reason.",
      ),
    HttpApiEndpoint.get("failures", "/api/v1/uploads/:batchId/failures", {
      params,
      query: {
        format: Schema.optionalKey(FailureFormat),
        /** Only failed items after this one. */
        after: Schema.optionalKey(Count),
        /** At most this many. Default: all. */
        limit: Schema.optionalKey(Count),
      },
      success: HttpApiSchema.StreamUint8Array({ contentType: "text/csv" }),
      error,
    })
      .annotate(OpenApi.Summary, "Read the failed items of an upload as a file")
      .annotate(
        OpenApi.Description,
        "CSV (the default) or JSON lines, as a stream: the number of each failed item, its line, its id, why it failed, and its content. " +
          "Corrected, the file is sent to `corrections`.",
      )
      .annotate(OpenApi.Transform, answersWith({ "text/csv": text, "application/x-ndjson": text })),
    HttpApiEndpoint.post("correctFrom", "/api/v1/uploads/:batchId/corrections", {
      params,
      query: tableQuery,
      payload: CorrectionForm.pipe(HttpApiSchema.asMultipartStream(formLimits)),
      success: CorrectionReport,
      error,
    })
      .annotate(OpenApi.Summary, "Correct failed items by a file")
      .annotate(
        OpenApi.Description,
        "Takes the corrected file of failures in the part `file` of a multipart form: CSV, XLSX, JSON or JSON lines. Of a table, rows and " +
          "columns may be left out, except `detent:item`. Each row is checked; `retry` then stores the corrected items. The same file sent again " +
          "changes nothing.",
      )
      .annotate(OpenApi.Transform, withFileParts("file")),
    HttpApiEndpoint.post("retry", "/api/v1/uploads/:batchId/retry", { params, success: UploadStatus, error })
      .annotate(OpenApi.Summary, "Retry the failed items of an upload")
      .annotate(OpenApi.Description, "Retries the failed items of a partially completed upload, or resumes a failed upload."),
    HttpApiEndpoint.post("cancel", "/api/v1/uploads/:batchId/cancel", {
      params,
      query: { reason: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(500))) },
      success: UploadStatus,
      error,
    })
      .annotate(OpenApi.Summary, "Cancel an upload")
      .annotate(OpenApi.Description, "Stops the work of an upload; stored items stay. The reason is shown with its status."),
    HttpApiEndpoint.get("kinds", "/api/v1/upload-kinds", {
      success: Schema.Struct({ kinds: Schema.Array(UploadKind) }),
      error,
    }).annotate(OpenApi.Summary, "List the kinds of uploads"),
    HttpApiEndpoint.get("mapping", "/api/v1/upload-kinds/:kind/mapping", {
      params: kindParams,
      success: UploadMapping,
      error,
    }).annotate(OpenApi.Summary, "Show the mapping that is kept for a kind"),
    HttpApiEndpoint.put("keepMapping", "/api/v1/upload-kinds/:kind/mapping", {
      params: kindParams,
      payload: Mapping,
      success: UploadMapping,
      error,
    })
      .annotate(OpenApi.Summary, "Keep a mapping for a kind")
      .annotate(
        OpenApi.Description,
        "Later files of the kind that have one of its columns are read by it. Refused where it names a field that the kind does not have.",
      ),
    HttpApiEndpoint.delete("forgetMapping", "/api/v1/upload-kinds/:kind/mapping", {
      params: kindParams,
      success: HttpApiSchema.NoContent,
      error,
    }).annotate(OpenApi.Summary, "Forget the mapping of a kind"),
    HttpApiEndpoint.get("searchKind", "/api/v1/upload-kinds/:kind/items", {
      params: kindParams,
      query: {
        text: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(500))),
        where: Schema.optionalKey(Where),
        from: Schema.optionalKey(Schema.FiniteFromString),
        until: Schema.optionalKey(Schema.FiniteFromString),
        batchId: Schema.optionalKey(Schema.String),
        ...paging(Opaque),
      },
      success: pageOf({ items: Schema.Array(StoredKindItem) }, Opaque),
      error,
    })
      .annotate(OpenApi.Summary, "Search stored items of a kind")
      .annotate(OpenApi.Description, 'Searches by words, fields (`where={"brand":"Acme"}`) and time.'),
    HttpApiEndpoint.get("itemOfKind", "/api/v1/upload-kinds/:kind/items/:id", {
      params: { ...kindParams, id: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500)) },
      success: StoredKindItem,
      error,
    }).annotate(OpenApi.Summary, "Show a stored item of a kind"),
  )
  .annotate(OpenApi.Description, "Bulk uploads of items of any kind") {}
