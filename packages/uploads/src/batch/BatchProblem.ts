/** Why a batch cannot continue, or why a request about a batch is refused. */
import * as DateTime from "effect/DateTime"
import * as Schema from "effect/Schema"
import { ProblemReason } from "../item/ItemProblem.ts"
import { ErrorSummary } from "./UploadBatch.ts"

/** Every item of a batch failed. */
export class NothingStored extends Schema.TaggedError<NothingStored>()("NothingStored", { batchId: Schema.String, summary: ErrorSummary }) {
  override get message() {
    const { total, groups } = this.summary
    const reasons = groups.map(
      ({ reason, count, examples: [first] }) => `${count} ${reason}, such as item ${first?.index}: ${first?.message}`,
    )
    return `none of ${total} items could be stored: ${reasons.join("; ")}`
  }
}

/** There is no batch with this id. */
export class BatchNotFound extends Schema.TaggedError<BatchNotFound>()("BatchNotFound", { batchId: Schema.String }) {
  override get message() {
    return `there is no upload ${this.batchId}; list the uploads to find it`
  }
}

/** The same file was uploaded before. */
export class AlreadyUploaded extends Schema.TaggedError<AlreadyUploaded>()("AlreadyUploaded", {
  file: Schema.String,
  md5: Schema.String,
  /** The batch of the earlier upload. */
  batchId: Schema.String,
  state: Schema.String,
}) {
  override get message() {
    const before = `${this.file} was uploaded before as ${this.batchId}, which is`
    if (this.state === "completed") return `${before} completed; upload it with force (\`--force\`) to do it again`
    const resume = `resume with \`detent upload retry ${this.batchId}\``
    if (this.state === "failed" || this.state === "partially_completed")
      return `${before} ${this.state}; ${resume}, or upload it with force (\`--force\`) to do it again`
    return `${before} not finished (${this.state}); ${resume}`
  }
}

/** The batch id is taken. */
export class BatchExists extends Schema.TaggedError<BatchExists>()("BatchExists", { batchId: Schema.String }) {
  override get message() {
    return `there is a batch ${this.batchId} already; choose another id`
  }
}

/** A batch has failed too often or too long ago. */
export class BatchNotRetryable extends Schema.TaggedError<BatchNotRetryable>()("BatchNotRetryable", {
  batchId: Schema.String,
  retryCount: Schema.Int,
  lastRetryAt: Schema.Finite,
  /** The correction that is refused, because no retry would use it: of an item, or of a file. */
  correction: Schema.optionalKey(Schema.Union([Schema.Int, Schema.String])),
}) {
  override get message() {
    const { batchId, retryCount, lastRetryAt, correction } = this
    const next =
      correction === undefined
        ? "upload its file again with force (`--force`)"
        : typeof correction === "number"
          ? `the correction of item ${correction} would never be used; upload the corrected item in a file of its own`
          : `the corrections of ${correction} would never be used; upload the corrected items in a file of their own`
    return `batch ${batchId} has failed ${retryCount} times and ended last at ${DateTime.formatIso(DateTime.makeUnsafe(lastRetryAt))}; a batch can be retried within 24 hours until it has failed three times; ${next}`
  }
}

/** The item to correct is not a failed item of the batch. */
export class ItemNotFailed extends Schema.TaggedError<ItemNotFailed>()("ItemNotFailed", { batchId: Schema.String, index: Schema.Int }) {
  override get message() {
    return `item ${this.index} of batch ${this.batchId} does not exist, has not failed, or is being retried; list the failed items to find it`
  }
}

/** The batch has no failed items to correct. */
export class NothingToCorrect extends Schema.TaggedError<NothingToCorrect>()("NothingToCorrect", {
  batchId: Schema.String,
  stored: Schema.Int,
  state: Schema.String,
}) {
  override get message() {
    const { batchId, stored, state } = this
    const items = `${stored} ${stored === 1 ? "item is" : "items are"} stored and none has failed`
    return `there is nothing to correct in upload ${batchId}, which is ${state}: ${items}; upload items that you want to replace in a file of their own`
  }
}

/** The batch has no item at this position. */
export class ItemNotFound extends Schema.TaggedError<ItemNotFound>()("ItemNotFound", { batchId: Schema.String, index: Schema.Int }) {
  override get message() {
    return `batch ${this.batchId} has no item ${this.index} yet; list its items to find it`
  }
}

/** The new content of an item would fail again. */
export class ItemStillInvalid extends Schema.TaggedError<ItemStillInvalid>()("ItemStillInvalid", {
  batchId: Schema.String,
  index: Schema.Int,
  reason: ProblemReason,
  problem: Schema.String,
}) {
  override get message() {
    return `item ${this.index} of batch ${this.batchId} would fail again (${this.reason}): ${this.problem}; correct that as well`
  }
}

/** No upload with this name is defined. */
export class UploadUnknown extends Schema.TaggedError<UploadUnknown>()("UploadUnknown", {
  upload: Schema.String,
  known: Schema.Array(Schema.String),
}) {
  override get message() {
    return `no upload ${this.upload} is defined; use one of ${this.known.join(", ")}, or add it to the uploads of your configuration`
  }
}

/** A search names a field that its upload does not index. */
export class FieldNotIndexed extends Schema.TaggedError<FieldNotIndexed>()("FieldNotIndexed", {
  upload: Schema.String,
  field: Schema.String,
  known: Schema.Array(Schema.String),
}) {
  override get message() {
    const known = this.known.length === 0 ? "it indexes none" : `it indexes ${this.known.join(", ")}`
    return `the upload ${this.upload} has no indexed field ${this.field}: ${known}; add it to index.fields of its definition`
  }
}

/** A search has a value that it cannot use. */
export class QueryRefused extends Schema.TaggedError<QueryRefused>()("QueryRefused", { problem: Schema.String }) {
  override get message() {
    return `the search is refused: ${this.problem}`
  }
}

/** The refusal of a cursor that no page has returned. Does not repeat it: the caller may have decoded it from another text. */
export const notACursor = (): QueryRefused =>
  new QueryRefused({ problem: "its after is not the cursor of a page; pass the next of the previous page, unchanged" })
