/** Bulk upload of items of any kind: one durable instance per item. */
export {
  FieldRule,
  FileInvalid,
  type FileStamp,
  FileTooLarge,
  FileUnreadable,
  Mapping,
  MappingRefused,
  MappingSource,
  type OpenedFile,
  TableFormat,
  TableOptions,
  TargetField,
  UnsupportedContentType,
} from "@detent/tables"
export type { BatchStatus, ItemCounts } from "./BatchStatus.ts"
export {
  AlreadyUploaded,
  BatchExists,
  BatchNotFound,
  BatchNotRetryable,
  FieldNotIndexed,
  ItemNotFailed,
  ItemNotFound,
  ItemStillInvalid,
  NothingStored,
  NothingToCorrect,
  QueryRefused,
  UploadUnknown,
} from "./batch/BatchProblem.ts"
export type { BatchWork, Counts, Notice } from "./batch/BatchWork.ts"
export { Existing } from "./batch/Existing.ts"
export {
  type ErrorGroup,
  type ErrorSummary,
  type FailureReport,
  newBatch,
  type ResultSummary,
  UploadBatch,
} from "./batch/UploadBatch.ts"
export { criteria, loadBatchWorkflow, maxRetries, retryWindow } from "./batch/UploadBatchWorkflow.ts"
export { CorrectionRefusal } from "./corrections/CorrectItems.ts"
export type { CorrectionReport, RefusedCorrection } from "./corrections/CorrectionFile.ts"
export { type FailureFile, FailureFormat, type FailureOptions, FailuresTooWide } from "./corrections/FailureFile.ts"
export { deliveryQueue } from "./deliver/Delivery.ts"
export { FileChanged, FileDamaged, type FileProblem, TooManyItems } from "./file/FileProblem.ts"
export type { SharedFiles, UploadFiles } from "./file/UploadFiles.ts"
export { defaultLimits, type UploadLimits } from "./file/UploadLimits.ts"
export type { ItemStep } from "./ItemHistory.ts"
export type { FieldValue } from "./item/FieldToken.ts"
export { ItemEntity } from "./item/ItemEntity.ts"
export { ItemProblem, ProblemReason } from "./item/ItemProblem.ts"
export { loadItemWorkflow } from "./item/ItemWorkflow.ts"
export type { DeliverOptions, Delivery } from "./kind/DeliverOptions.ts"
export type { ColumnType, ItemColumn } from "./kind/ItemColumns.ts"
export type { Integrity, JsonObject } from "./kind/ItemKind.ts"
export { Items } from "./kind/Items.ts"
export {
  type AnyUpload,
  defineUpload,
  type ItemIndex,
  type ItemSchema,
  type UploadDefinition,
  type UploadOptions,
  type UploadSettings,
} from "./kind/UploadDefinition.ts"
export { Preview, PreviewRow } from "./mapping/Preview.ts"
export type { UploadPlan } from "./stages/PlanUpload.ts"
export type { ItemPage, ItemQuery, StoredItem } from "./store/ItemTable.ts"
export type { KeptMapping } from "./store/Mappings.ts"
export type { EntryState } from "./store/Rows.ts"
export { rebuildSearch, storedKinds } from "./store/SearchRebuild.ts"
export type { BatchListing, BatchPage, Entry, EntryPage, EntryQuery } from "./UploadLists.ts"
export type {
  CorrectError,
  CorrectFileError,
  CorrectionOptions,
  FilePreviewOptions,
  ItemHistory,
  KindUploads,
  KnownUpload,
  PlanError,
  PlanOptions,
  PreviewError,
  RetryBatchError,
  SearchError,
  StartError,
  StartOptions,
  UploadsService,
} from "./UploadService.ts"
export { readDefinition, Uploads, type UploadsOptions } from "./Uploads.ts"
