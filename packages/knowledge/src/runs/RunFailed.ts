/** Why a run ended without a graph, in a form that can be stored with it. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { DocumentSetAside } from "../document/ReadError.ts"
import { ExtractionFailed } from "../extract/ExtractionFailed.ts"
import { describe } from "../storage/Describe.ts"
import { RunId } from "../storage/Identity.ts"
import type { ExtractionRun } from "./Run.ts"

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
export const runFailed = (runId: RunId) => (error: { readonly _tag: string; readonly retryable?: boolean; readonly stops?: string }) => {
  if (error instanceof RunFailed) return error
  if (error instanceof ExtractionFailed && error.reason === "LimitExceeded") return setAside(runId, error.detail)
  return new RunFailed({
    runId,
    code: error._tag,
    detail: describe(error),
    retryable: error.retryable ?? false,
    ...(error._tag === "ExtractorRefused" ? { stops: "ExtractorRefused" } : {}),
    ...(error.stops === undefined ? {} : { stops: error.stops }),
  })
}

/** The code of a run whose document exceeded a limit as often as it may. */
export const setAsideCode: DocumentSetAside["_tag"] = "DocumentSetAside"

const setAside = (runId: RunId, problem: string) =>
  new RunFailed({
    runId,
    code: setAsideCode,
    detail: `it is set aside: extracting its facts was stopped, since ${problem}; split or simplify the document, or raise contentLimits.chunk, and start a new batch`,
    retryable: false,
  })

/** Whether a run ended because its document exceeded a limit: such a run is not resumed with its batch. */
export const isSetAside = ({ runId, status, errorMessage }: ExtractionRun): boolean =>
  status === "failed" &&
  Option.exists(errorMessage, (message) =>
    message.startsWith(new RunFailed({ runId, code: setAsideCode, detail: "", retryable: false }).message),
  )

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
