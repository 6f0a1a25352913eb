import { ContentHash } from "@detent/blobs/ContentHash"
import type { StorageUri } from "@detent/blobs/Storage"
import { type CheckOptions, check, formatCheck, leadsTo, never, unproved } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import { BatchMachine, E, stageOf } from "../../src/batch/BatchMachine.ts"
import { type BatchState, defaultBatchConfig, noCounts, S } from "../../src/batch/BatchState.ts"
import type { BatchId, Namespace, OntologyVersion } from "../../src/storage/Identity.ts"

const uri = "file:///batch" as StorageUri
const hash = ContentHash.make("0".repeat(16))
/** The graph that a stage of an attempt wrote. */
const graphOf = (attempt: number) => ({ uri: `file:///batch/${attempt}` as StorageUri, hash, triples: 3 })

const start = S.Pending({
  batchId: "batch-000000000001" as BatchId,
  manifestUri: uri,
  ontologyVersion: "test/test@0000000000000000" as OntologyVersion,
  targetNamespace: "test" as Namespace,
  config: { ...defaultBatchConfig, maxRetries: 1 },
  documentsTotal: 2,
  retryCount: 0,
  attempt: 0,
  createdAt: 0,
  updatedAt: 0,
})

const counted = (documentsCompleted: number) => ({
  ...noCounts,
  documentsCompleted,
  documentsFailed: 2 - documentsCompleted,
  entityCount: documentsCompleted,
})

const error = { code: "StageFailed", message: "the disk is full" }

const resolution = (attempt: number) =>
  E.ResolutionComplete({ graph: graphOf(attempt), entitiesTotal: 2, clustersFormed: 1, against: null, reviewCount: 0, attempt })
const validation = (attempt: number) =>
  E.ValidationComplete({ graph: graphOf(attempt), violations: 0, quarantined: 0, reportUri: uri, attempt })
const ingestion = (attempt: number) => E.IngestionComplete({ canonicalVersion: hash, canonicalGraphUri: graphOf(attempt).uri, attempt })
const moved = (attempt: number) => E.GraphMoved({ version: hash, attempt })

/** What the work of a state sends: the results of its stage, or that it cannot finish. */
const work = (state: BatchState): ReadonlyArray<typeof E.Type> => {
  if (state._tag === "Pending") return [E.StartExtraction()]
  const fail =
    state._tag === "Extracting" || state._tag === "Resolving" || state._tag === "Validating" || state._tag === "Ingesting"
      ? [E.Fail({ stage: stageOf(state), attempt: state.attempt, error })]
      : []
  switch (state._tag) {
    case "Extracting":
      return [...fail, ...[0, 1, 2].map((completed) => E.ExtractionComplete({ ...counted(completed), attempt: state.attempt }))]
    case "Resolving":
      return [...fail, resolution(state.attempt)]
    case "Validating":
      return [...fail, validation(state.attempt)]
    case "Ingesting":
      return [...fail, ingestion(state.attempt), ...(state.resolvedAgain < 2 ? [moved(state.attempt)] : [])]
    default:
      return []
  }
}

/** What processes that are behind send: results and failures of the first attempt. */
const late = [
  E.ExtractionComplete({ ...counted(2), attempt: 0 }),
  E.Fail({ stage: "extracting", attempt: 0, error }),
  resolution(0),
  validation(0),
  moved(0),
  ingestion(0),
  E.Fail({ stage: "ingesting", attempt: 0, error }),
]

const done = [{ value: undefined }]
const isEnded = ({ _tag }: BatchState) => ["Completed", "PartiallyCompleted", "Failed", "Cancelled"].includes(_tag)

const checked = (options: Partial<CheckOptions<typeof BatchMachine>>) =>
  check(BatchMachine, {
    starts: [start],
    work,
    results: { emitBatchEvent: done, writeStatus: done, takeBackFacts: done },
    // What a batch publishes is stored with its transition. Its order is the matter of the outbox.
    faults: { crashes: false, repeatedEffects: false },
    properties: {
      "a completed batch has no failed document": never(({ state }) => state._tag === "Completed" && state.documentsFailed > 0),
      "a partially completed batch has documents that failed, and others": never(
        ({ state }) => state._tag === "PartiallyCompleted" && (state.documentsFailed === 0 || state.documentsCompleted === 0),
      ),
      "facts of a failed ingestion are taken back": never(
        ({ state, executed, pending }) =>
          state._tag === "Failed" && state.failedInStage === "ingesting" && pending.length === 0 && executed["takeBackFacts"] === 0,
      ),
      "a batch is retried as often as its configuration allows": never(({ state }) => state.retryCount > state.config.maxRetries),
      "the graphs of a batch are those of its attempt": never(
        ({ state }) =>
          ("resolvedGraph" in state && state.resolvedGraph.uri !== graphOf(state.attempt).uri) ||
          ("validatedGraph" in state && state.validatedGraph.uri !== graphOf(state.attempt).uri) ||
          ("canonicalGraphUri" in state && state.canonicalGraphUri !== graphOf(state.attempt).uri),
      ),
      "an active batch ends": leadsTo(
        ({ state }) => !isEnded(state),
        ({ state }) => isEnded(state),
      ),
    },
    ...options,
  })

describe("a batch, whatever its stages return, and processes that are behind send", () => {
  it.each([
    ["a cancel and a retry", [[E.Cancel()], [E.Retry({})]]],
    ["a resume after a cancel", [[E.Cancel()], [E.Resume({})], [E.Resume({})]]],
    ["what is late after a retry", [[E.Retry({})], late]],
  ])("keeps its properties with %s", (_, senders) => {
    const report = checked({ senders })
    expect(
      unproved(report).map(({ name }) => name),
      formatCheck(report),
    ).toEqual([])
    expect(report.notes).toEqual([])
    expect(report.situations).toBeGreaterThan(100)
  })
})
