/** Why a run ended without a graph, in a form that can be stored with it. */
import * as Schema from "effect/Schema"
import { describe } from "../storage/Describe.ts"
import { RunId } from "../storage/Identity.ts"

export class RunFailed extends Schema.TaggedError<RunFailed>()("RunFailed", {
  runId: RunId,
  /** The tag of what went wrong: `DocumentEmpty`, `ExtractionFailed`. */
  code: Schema.String,
  detail: Schema.String,
  /** Whether the same run may succeed when it is resumed, without anything being changed first. */
  retryable: Schema.Boolean,
  /** Set where every other document would fail the same way: the batch stops with this code. */
  stops: Schema.optionalKey(Schema.String),
}) {
  override get message() {
    return `run ${this.runId} failed (${this.code}): ${this.detail}`
  }
}

/** Any tagged error as the failure of a run. */
export const runFailed = (runId: RunId) => (error: { readonly _tag: string; readonly retryable?: boolean; readonly stops?: string }) =>
  error instanceof RunFailed
    ? error
    : new RunFailed({
        runId,
        code: error._tag,
        detail: describe(error),
        retryable: error.retryable ?? false,
        ...(error._tag === "ExtractorRefused" ? { stops: "ExtractorRefused" } : {}),
        ...(error.stops === undefined ? {} : { stops: error.stops }),
      })

/** Whether the database was away, and nothing of the document is to blame. */
export const isStoreAway = ({ code, retryable }: RunFailed): boolean => code === "RunStoreFailed" && retryable

/** The document is not the one the run began with, so that what it found before could not be put together with what comes. */
export class DocumentChanged extends Schema.TaggedError<DocumentChanged>()("DocumentChanged", {
  uri: Schema.String,
  batchIndex: Schema.Int,
}) {
  override get message() {
    return `${this.uri} was changed since the run began; put it back as it was and resume, or start a new run`
  }
}
