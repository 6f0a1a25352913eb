/**
 * One attempt at extracting one document, with its checkpoints and artifacts. Status changes use optimistic concurrency: a change names
 * the status version it is based on, so that one of two concurrent changes is refused.
 */

import { ContentHash } from "@detent/blobs/ContentHash"
import { AddressRefused, StorageFailed, StorageUri } from "@detent/blobs/Storage"
import { describe } from "@detent/machine/internal"
import type * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { DocumentSetAside } from "../document/ReadError.ts"
import { ExtractionFailed } from "../extract/Extractor.ts"
import { UnreadProse } from "../extract/language/ProseLanguage.ts"
import type { DocumentNode } from "../fact/FactGraph.ts"
import { ArtifactKey, BatchId, DocumentId, RunId } from "../storage/Identity.ts"
import { ArtifactPath } from "../storage/Paths.ts"
import { Confidence, Count } from "../storage/Quantity.ts"

const Positive = Schema.Int.check(Schema.isGreaterThan(0))

export const PipelineConfig = Schema.Struct({
  /** How long a chunk may be, in characters. */
  windowSize: Positive,
  /** How much of a chunk the next one repeats, in characters. */
  overlap: Count,
  /** How many chunks are extracted concurrently. */
  concurrency: Positive,
  /** How many chunks make one step, the unit that is repeated after a crash. */
  batchSize: Positive,
  /** Facts with a lower confidence go to the review list. */
  reviewBelow: Confidence,
}).check(Schema.makeFilter((config) => config.overlap < config.windowSize, { expected: "an overlap smaller than the window" }))
export type PipelineConfig = typeof PipelineConfig.Type

export const defaultPipelineConfig: PipelineConfig = { windowSize: 2000, overlap: 200, concurrency: 3, batchSize: 10, reviewBelow: 0.5 }

export const RunStatus = Schema.Literals(["queued", "running", "succeeded", "failed", "cancelled"])
export type RunStatus = typeof RunStatus.Type

/** Why a run ended without success, which decides what resumes it. */
export const RunEnding = Schema.TaggedUnion({
  /** `code` is the tag of the error. */
  Failed: { code: Schema.String, detail: Schema.String },
  /** Its document exceeded a limit too often: a resumed batch does not resume the run. */
  SetAside: { detail: Schema.String },
  /** The run itself was cancelled. */
  Cancelled: {},
  /** Cancelled because its batch fails. If the process dies before it stores that, the batch resumes the run in the same attempt. */
  BatchFailed: {},
  /** Cancelled with its batch in this attempt. A later attempt resumes it; a process that is still in this attempt does not. */
  BatchCancelled: { attempt: Count },
})
export type RunEnding = typeof RunEnding.Type

/** The text of an ending, for people. */
export const messageOf = (ending: RunEnding): string => {
  switch (ending._tag) {
    case "Failed":
    case "SetAside":
      return ending.detail
    case "Cancelled":
      return "the run was cancelled"
    case "BatchFailed":
      return "its batch failed"
    case "BatchCancelled":
      return `its batch was cancelled in attempt ${ending.attempt + 1}`
  }
}

export class ExtractionRun extends Schema.Class<ExtractionRun>("ExtractionRun")({
  runId: RunId,
  status: RunStatus,
  statusVersion: Count,
  documentId: DocumentId,
  /** The batch that the run belongs to; none for a document that is extracted by itself. */
  batchId: Schema.OptionFromNullOr(BatchId),
  attempt: Count,
  ontologyHash: ContentHash,
  schemaVersion: Schema.String,
  /** The address of the document. It is not copied: its hash shows whether it has changed since the run started. */
  inputUri: StorageUri,
  /** Known once the document has been read. */
  inputHash: Schema.OptionFromNullOr(ContentHash),
  config: PipelineConfig,
  createdAt: Schema.DateTimeUtc,
  startedAt: Schema.OptionFromNullOr(Schema.DateTimeUtc),
  completedAt: Schema.OptionFromNullOr(Schema.DateTimeUtc),
  ending: Schema.OptionFromNullOr(RunEnding),
  /** The text of the ending. */
  errorMessage: Schema.OptionFromNullOr(Schema.String),
  /** The title of the document. Known once it has been read. */
  title: Schema.optionalKey(Schema.String),
  /** The language of the document, as a tag such as `de`. Absent when it could not be detected. */
  language: Schema.optionalKey(Schema.String),
  /** Why the extractor did not read the prose of the document. Absent when it did. */
  unread: Schema.optionalKey(UnreadProse),
}) {}

/** The document as the graph of the run describes it. */
export const documentNode = ({ documentId, inputUri, inputHash, title, language, runId, completedAt }: ExtractionRun): DocumentNode => ({
  documentId,
  runId,
  source: inputUri,
  ...(title === undefined ? {} : { title }),
  ...(language === undefined ? {} : { language }),
  ...Option.match(inputHash, { onNone: () => ({}), onSome: (contentHash) => ({ contentHash }) }),
  ...Option.match(completedAt, { onNone: () => ({}), onSome: ({ epochMilliseconds }) => ({ extractedAt: epochMilliseconds }) }),
})

export const ExtractionRunJson = Schema.fromJsonString(Schema.toCodecJson(ExtractionRun))

/**
 * The progress of a run: a finished step and the entities known by then. Identified by run and batch index, so that
 * saving it again changes nothing. The graphs themselves are artifacts and are merged at the end.
 */
export class RunCheckpoint extends Schema.Class<RunCheckpoint>("RunCheckpoint")({
  runId: RunId,
  batchIndex: Count,
  entitySnapshotPath: ArtifactPath,
  entitySnapshotHash: ContentHash,
  createdAt: Schema.DateTimeUtc,
}) {}

export const RunCheckpointJson = Schema.fromJsonString(Schema.toCodecJson(RunCheckpoint))

/** An artifact of a run, identified by run and key: a later artifact of the same key replaces it. */
export class RunArtifact extends Schema.Class<RunArtifact>("RunArtifact")({
  runId: RunId,
  artifactKey: ArtifactKey,
  contentPath: ArtifactPath,
  contentHash: ContentHash,
  createdAt: Schema.DateTimeUtc,
}) {}

export const RunArtifactJson = Schema.fromJsonString(Schema.toCodecJson(RunArtifact))

/** The graph of one step, identified by run and batch index. The document's graph is merged from these. */
export class BatchArtifact extends Schema.Class<BatchArtifact>("BatchArtifact")({
  runId: RunId,
  batchIndex: Count,
  turtlePath: ArtifactPath,
  turtleHash: ContentHash,
  chunkCount: Count,
  createdAt: Schema.DateTimeUtc,
}) {}

export const BatchArtifactJson = Schema.fromJsonString(Schema.toCodecJson(BatchArtifact))

/** Values of tables and fields that do not fit the datatype of their property, and rows without a name. They give no fact. */
export const Misfits = Schema.Struct({
  count: Count,
  /** The first of them. */
  examples: Schema.Array(Schema.Struct({ source: Schema.String, property: Schema.String, text: Schema.String })),
})
export type Misfits = typeof Misfits.Type

const problemExamples = Schema.Array(Schema.Struct({ source: Schema.String, text: Schema.String, problem: Schema.String }))

/** Chunks that a model refused, or answered with something else than was asked. Their documents are extracted without them. */
export const SkippedChunks = Schema.Struct({
  count: Count,
  /** The first of them, with the beginning of their text. */
  examples: problemExamples,
})
export type SkippedChunks = typeof SkippedChunks.Type

/** Entities and facts of a model that the text does not prove, or the ontology does not allow. They are not in the graph. */
export const RefusedItems = Schema.Struct({
  count: Count,
  /** The first of them: property or class, and the words that the model quotes. */
  examples: problemExamples,
})
export type RefusedItems = typeof RefusedItems.Type
/** Cells of tables, and values of objects, that give no fact: their column has no rule or property. */
export const NotRead = Schema.Struct({
  count: Count,
  /** The columns with most of them. */
  columns: Schema.Array(
    Schema.Struct({
      column: Schema.String,
      count: Count,
      /** The first of them. */
      source: Schema.String,
      text: Schema.String,
    }),
  ),
})
export type NotRead = typeof NotRead.Type

/** How many columns are named. */
const columnsKept = 50

export const addNotRead = (one: NotRead | undefined, other: NotRead | undefined): NotRead | undefined => {
  if (one === undefined || other === undefined) return one ?? other
  const columns = new Map(one.columns.map((column) => [column.column, column]))
  for (const column of other.columns) {
    const known = columns.get(column.column)
    columns.set(column.column, known === undefined ? column : { ...known, count: known.count + column.count })
  }
  return {
    count: one.count + other.count,
    columns: [...columns.values()].sort((left, right) => right.count - left.count).slice(0, columnsKept),
  }
}

/** How many examples are kept. */
export const examplesKept = 5

interface Counted<Example> {
  readonly count: number
  readonly examples: ReadonlyArray<Example>
}

const sumOf = <Example>(one: Counted<Example> | undefined, other: Counted<Example> | undefined): Counted<Example> | undefined =>
  one === undefined || other === undefined
    ? (one ?? other)
    : { count: one.count + other.count, examples: [...one.examples, ...other.examples].slice(0, examplesKept) }

export const addMisfits = (one: Misfits | undefined, other: Misfits | undefined): Misfits | undefined => sumOf(one, other)

export const addRefused = (one: RefusedItems | undefined, other: RefusedItems | undefined): RefusedItems | undefined => sumOf(one, other)

export const addSkipped = (one: SkippedChunks | undefined, other: SkippedChunks | undefined): SkippedChunks | undefined => sumOf(one, other)

/** Another process changed the run since it was read. */
export class RunStatusConflict extends Schema.TaggedError<RunStatusConflict>()("RunStatusConflict", {
  runId: RunId,
  expectedVersion: Count,
  actualVersion: Count,
}) {
  override get message() {
    return `run ${this.runId} is at status version ${this.actualVersion}, not ${this.expectedVersion}; read it again and retry`
  }
}

/** A run cannot change from the one status to the other. */
export class RunStatusRefused extends Schema.TaggedError<RunStatusRefused>()("RunStatusRefused", {
  runId: RunId,
  from: RunStatus,
  to: RunStatus,
}) {
  override get message() {
    const next = nextStatuses[this.from]
    const allowed = next.length === 0 ? "it has ended for good" : `it can become ${next.join(" or ")}`
    return `run ${this.runId} is ${this.from} and cannot become ${this.to}; ${allowed}`
  }
}

/** Failed and cancelled runs can be resumed; finished steps stay finished. */
export const nextStatuses: Readonly<Record<RunStatus, ReadonlyArray<RunStatus>>> = {
  queued: ["running", "cancelled"],
  running: ["succeeded", "failed", "cancelled"],
  succeeded: [],
  failed: ["running"],
  cancelled: ["running"],
}

/** The data of a document that has been read to its end. */
export interface DocumentVersion {
  readonly inputHash: ContentHash
  readonly title: string
  readonly language?: string
  readonly unread?: UnreadProse
}

export interface StatusChange {
  readonly expectedVersion: number
  readonly status: RunStatus
  readonly at: DateTime.Utc
  /** Why the run failed or was cancelled. */
  readonly ending?: RunEnding
  /** Set when the document has been read to its end. */
  readonly version?: DocumentVersion
}

/** Returns the run with its new status, or why the change is refused. */
export const changeStatus = (
  run: ExtractionRun,
  change: StatusChange,
): Result.Result<ExtractionRun, RunStatusConflict | RunStatusRefused> => {
  const { runId, statusVersion } = run
  if (statusVersion !== change.expectedVersion) {
    return Result.fail(new RunStatusConflict({ runId, expectedVersion: change.expectedVersion, actualVersion: statusVersion }))
  }
  if (!nextStatuses[run.status].includes(change.status)) {
    return Result.fail(new RunStatusRefused({ runId, from: run.status, to: change.status }))
  }
  const running = change.status === "running"
  return Result.succeed(
    new ExtractionRun({
      ...run,
      status: change.status,
      statusVersion: statusVersion + 1,
      startedAt: running ? Option.some(change.at) : run.startedAt,
      completedAt: running ? Option.none() : Option.some(change.at),
      ending: Option.fromUndefinedOr(change.ending),
      errorMessage: Option.map(Option.fromUndefinedOr(change.ending), messageOf),
      ...(change.version === undefined ? {} : { ...change.version, inputHash: Option.some(change.version.inputHash) }),
    }),
  )
}

// Failures, in a form that is stored with the run.

export class RunFailed extends Schema.TaggedError<RunFailed>()("RunFailed", {
  runId: RunId,
  /** The tag of the error: `DocumentEmpty`, `ExtractionFailed`. */
  code: Schema.String,
  detail: Schema.String,
  /** Whether the run may succeed when it is resumed without any change. */
  retryable: Schema.Boolean,
  /** Set when every other document would fail the same way: the batch stops with this code. */
  stops: Schema.optionalKey(Schema.String),
}) {
  override get message() {
    return `run ${this.runId} failed (${this.code}): ${this.detail}`
  }
}

/** Turns any tagged error into the failure of a run. */
export const runFailed = (runId: RunId) => (error: { readonly _tag: string; readonly retryable?: boolean; readonly stops?: string }) => {
  if (error instanceof RunFailed) return error
  if (error instanceof ExtractionFailed && error.reason === "LimitExceeded") return setAside(runId, error.detail)
  return new RunFailed({
    runId,
    code: error._tag,
    detail: describe(error),
    retryable: error.retryable ?? false,
    ...(error._tag === "ExtractorRefused" ? { stops: "ExtractorRefused" } : {}),
    ...(isSourceRefused(error) ? { stops: "SourceRefused" } : {}),
    ...(error.stops === undefined ? {} : { stops: error.stops }),
  })
}

/** Whether this process lacks access to the storage: then every document of the batch would fail the same way. */
const isSourceRefused = (error: { readonly _tag: string }): boolean =>
  error instanceof AddressRefused || (error instanceof StorageFailed && error.noAccess === true)

/** The code of a run whose document exceeded a limit too often. */
export const setAsideCode: DocumentSetAside["_tag"] = "DocumentSetAside"

const setAside = (runId: RunId, problem: string) =>
  new RunFailed({
    runId,
    code: setAsideCode,
    detail: `it is set aside: extracting its facts was stopped, since ${problem}; split or simplify the document, or raise contentLimits.chunk, and start a new batch`,
    retryable: false,
  })

/** The ending of a run that failed with this error. */
export const endingOf = ({ code, detail }: RunFailed): RunEnding =>
  code === setAsideCode ? RunEnding.cases.SetAside.make({ detail }) : RunEnding.cases.Failed.make({ code, detail })

/** Whether a run ended because its document exceeded a limit: a resumed batch does not resume that run. */
export const isSetAside = ({ ending }: ExtractionRun): boolean => Option.exists(ending, ({ _tag }) => _tag === "SetAside")

/** Whether a run was ended together with its batch, and not by itself. */
export const isEndedWithBatch = ({ ending }: ExtractionRun): boolean =>
  Option.exists(ending, ({ _tag }) => _tag === "BatchFailed" || _tag === "BatchCancelled")

/** Whether the run failed because the database was unavailable, not because of its document. */
export const isStoreAway = ({ code, retryable }: RunFailed): boolean => code === "RunStoreFailed" && retryable

/** The document has changed since the run started, so that its earlier findings cannot be combined with new ones. */
export class DocumentChanged extends Schema.TaggedError<DocumentChanged>()("DocumentChanged", {
  uri: Schema.String,
  batchIndex: Schema.Int,
}) {
  override get message() {
    return `${this.uri} has changed since the run started; restore it and resume, or start a new run`
  }
}
