/**
 * The extraction of one document as an Effect workflow: the document is read and chunked as a stream, and each step, a batch of
 * chunks, is stored with its checkpoint. Reading again after a crash is cheap; a step that has a checkpoint is not extracted again.
 *
 * Steps are not activities: an activity's result in the journal would repeat the checkpoint, one commit later.
 */

import { hash } from "node:crypto"
import { type ContentHash, startHash } from "@detent/blobs/ContentHash"
import { Storage, StorageUri } from "@detent/blobs/Storage"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Workflow from "effect/workflow/Workflow"
import { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import type { Chunk } from "../document/Chunk.ts"
import { withContext } from "../document/ChunkContext.ts"
import { type ReadingNotes, streamOnWorkers, titleOf, titleWithin } from "../document/DocumentReader.ts"
import type { FoundRecord } from "../document/Reading.ts"
import { recordChunks } from "../document/RecordChunks.ts"
import { noLanguage, UnreadProse } from "../extract/language/ProseLanguage.ts"
import { chunksOnWorkers, languageOnWorkers } from "../extract/TextOnWorkers.ts"
import { ExtractorSelection } from "../KnowledgeSettings.ts"
import { type CompiledFile, ruleOf } from "../mapping/CompiledMapping.ts"
import { detentVocabulary } from "../rdf/Vocabulary.ts"
import type { ArtifactStore } from "../storage/ArtifactStore.ts"
import { RunId } from "../storage/Identity.ts"
import { Count } from "../storage/Quantity.ts"
import { type Equipment, Extractors } from "./Extractors.ts"
import {
  type EntityRef,
  type EntityRegistry,
  EntityRegistryJson,
  emptyRegistry,
  extractStep,
  metAs,
  register,
  type StepInput,
  textHashOf,
} from "./ExtractStep.ts"
import {
  addMisfits,
  addNotRead,
  addRefused,
  addSkipped,
  DocumentChanged,
  type DocumentVersion,
  type ExtractionRun,
  endingOf,
  RunFailed,
  runFailed,
  type StatusChange,
} from "./Run.ts"
import { loadArtifact } from "./RunArtifacts.ts"
import { type RunStanding, RunStore } from "./RunStore.ts"
import { entitiesKey, foundCounts, graphKey, type StepResult } from "./RunTables.ts"

/** The findings of a whole run. */
export const RunResult = Schema.Struct({
  runId: RunId,
  batches: Count,
  ...foundCounts,
  /** The language of the document, as a tag such as `de`. */
  language: Schema.optionalKey(Schema.String),
  /** Why its prose was not read. */
  unread: Schema.optionalKey(UnreadProse),
})
export type RunResult = typeof RunResult.Type

export const ExtractionWorkflow = Workflow.make("extraction", {
  payload: {
    runId: RunId,
    /** How often the run has been resumed: a resumed run is a new execution that finds the old one's checkpoints. */
    resumption: Count,
    ontologyUri: StorageUri,
    examplesUri: Schema.optionalKey(StorageUri),
    mappingUri: Schema.optionalKey(StorageUri),
    contentType: Schema.optionalKey(Schema.String),
    selection: Schema.optionalKey(ExtractorSelection),
  },
  success: RunResult,
  error: RunFailed,
  idempotencyKey: ({ runId, resumption }) => `${runId}/${resumption}`,
})

type Payload = typeof ExtractionWorkflow.payloadSchema.Type

/**
 * The same id as `Workflow.executionId`, but synchronous. An asynchronous digest is ready at another moment for each document, so that
 * executions that start together would not share a commit.
 */
export const executionIdOf = (payload: Payload): string =>
  hash("sha256", `${ExtractionWorkflow._tag.length}:${ExtractionWorkflow._tag}:${ExtractionWorkflow.idempotencyKey(payload)}`, "hex").slice(
    0,
    32,
  )

/** Starts the execution unless it exists, and waits for its end. */
export const execute = (payload: Payload): Effect.Effect<RunResult, RunFailed, WorkflowEngine> =>
  Effect.flatMap(WorkflowEngine, (engine) => engine.execute(ExtractionWorkflow, { executionId: executionIdOf(payload), payload }))

/** Starts the execution unless it exists. */
export const start = (payload: Payload): Effect.Effect<void, RunFailed, WorkflowEngine> =>
  Effect.flatMap(WorkflowEngine, (engine) =>
    Effect.asVoid(engine.execute(ExtractionWorkflow, { executionId: executionIdOf(payload), payload, discard: true })),
  )

/** Interrupts the execution immediately, even during a call: it has nothing to compensate, and its rows are kept. */
export const interrupt = (payload: Payload): Effect.Effect<void, never, WorkflowEngine> =>
  Effect.flatMap(WorkflowEngine, (engine) => engine.interruptUnsafe(ExtractionWorkflow, executionIdOf(payload)))

export const layer: Layer.Layer<never, never, WorkflowEngine | RunStore | ArtifactStore | Storage | Extractors> =
  ExtractionWorkflow.toLayer((payload) =>
    Effect.gen(function* () {
      const standing = yield* standingOf(payload.runId)
      const { run } = standing
      // The process may have crashed after the run ended and before its execution did: an ended run does not resume by itself.
      if (run.status === "cancelled" || run.status === "failed" || resumptionOf(run) !== payload.resumption) return yield* superseded(run)
      return yield* extraction(payload, standing).pipe(
        Effect.mapError(runFailed(run.runId)),
        Effect.tapError((failed) => endRun(run, { status: "failed", ending: endingOf(failed) })),
      )
    }),
  )

/** The accumulated findings of a document, step by step. */
interface Progress {
  readonly total: RunResult
  /** The language of the document; known after its first step was read. */
  readonly reading: DocumentReading | undefined
  /** Whether the run's end was stored with its last step. */
  readonly isEnded: boolean
  /** The entities of the steps so far. Kept for extractors that use them. */
  readonly known: EntityRegistry
  /** Statements of earlier steps with their end offsets; none when the previous step was stored already. */
  readonly statements: Option.Option<ReadonlyMap<string, number>>
  /** Entities of earlier steps; none when the previous step was stored already. */
  readonly met: Option.Option<Set<string>>
}

const extraction = (payload: Payload, { run, lastBatch }: RunStanding) =>
  Effect.gen(function* () {
    const runs = yield* RunStore
    const account = Option.getOrElse(run.batchId, () => run.runId)
    const extractors = yield* Extractors
    const equipment = yield* extractors.equip(payload, {
      id: account,
      spent: Effect.map(
        runs.totals(Option.match(run.batchId, { onNone: () => ({ runId: run.runId }), onSome: (batchId) => ({ batchId }) })),
        ({ usage }) => usage,
      ),
    })
    const remembers = equipment.extractor.isPaid === true
    const rules = equipment.mapping?.rulesFor(run.inputUri) ?? []
    const passing = passingDocument(run.inputUri, rules)
    const { total, isEnded } = yield* chunksOf(run, payload, passing, rules).pipe(
      Stream.grouped(run.config.batchSize),
      Stream.runFoldEffect(
        (): Progress => ({
          total: nothingYet(run.runId),
          reading: undefined,
          isEnded: false,
          known: emptyRegistry,
          statements: Option.some(new Map()),
          met: Option.some(new Set()),
        }),
        ({ total: before, reading: earlier, known, statements, met: metBefore }, cut) =>
          Effect.gen(function* () {
            const { text, records } = passing.takeUntil(endOf(cut))
            const hasProse = cut.some(({ isMapped }) => isMapped !== true)
            const reading = earlier ?? (yield* readingOf(run, text, passing.declared(), equipment, hasProse))
            const total = { ...before, ...reading }
            const chunks = cut.map((chunk) => (reading.language === undefined ? chunk : { ...chunk, language: reading.language }))
            const part = { run, batchIndex: total.batches, chunks, textHash: textHashOf(chunks), text, records, rules }
            const stored = yield* storedStep(part, lastBatch)
            const added = (entities: ReadonlyArray<EntityRef>) => (remembers ? remembered(known, entities) : known)
            if (Option.isNone(stored)) {
              const before = Option.isSome(statements) ? statements.value : yield* storedStatements(run, total.batches - 1)
              const met = Option.isSome(metBefore) ? metBefore.value : yield* storedMet(run.runId, total.batches)
              const input = { ...equipment, ...part, known: inOrder(known), earlier: reaching(before, chunks), met }
              const { registry, ...step } = yield* newStep(input, total, passing)
              return { ...step, reading, known: added(registry.entities), met: Option.some(alsoMet(met, registry.entities)) }
            }
            if (stored.value.textHash !== part.textHash) return yield* changed(part)
            const entities = remembers ? yield* storedEntities(run.runId, total.batches) : []
            const nothingHeld = { statements: Option.none(), met: Option.none() }
            return { total: withStep(total, stored.value), reading, isEnded: false, known: added(entities), ...nothingHeld }
          }),
      ),
    )
    // A document that was truncated exactly at the end of a step has no changed step, and yet has changed.
    if (Option.exists(lastBatch, (last) => last >= total.batches)) return yield* changed({ run, batchIndex: total.batches })
    const { language, unread } = total.batches === 0 ? withoutText : total
    if (!isEnded) yield* endRun(run, { status: "succeeded", version: { ...passing.version(), ...spoken(language, unread) } })
    return { ...total, ...spoken(language, unread) }
  })

type DocumentReading = Pick<DocumentVersion, "language" | "unread">

const withoutText: Required<DocumentReading> = { language: noLanguage, unread: "empty" }

const spoken = (language: string | undefined, unread: DocumentReading["unread"]): DocumentReading => ({
  ...(language === undefined ? {} : { language }),
  ...(unread === undefined ? {} : { unread }),
})

/** Detects the language from the text of the first step, which is the same in every execution. */
const readingOf = (
  { inputUri }: ExtractionRun,
  text: string,
  declared: string | undefined,
  { ontology, extractor }: Equipment,
  isForExtractor: boolean,
) =>
  Effect.map(
    languageOnWorkers(inputUri, text, declared, ontology),
    ({ language, hasProse }): DocumentReading =>
      spoken(language, hasProse && isForExtractor ? extractor.unread?.(language, ontology) : undefined),
  )

/** In a document with more entities, the further ones may count more than once. */
const mostMet = 500_000

/** Adds to the set, which the progress of one document owns. */
const alsoMet = (met: Set<string>, entities: ReadonlyArray<EntityRef>): Set<string> => {
  for (const entity of entities) if (met.size < mostMet) met.add(metAs(entity))
  return met
}

/** The entities of the steps that an earlier execution stored. */
const storedMet = (runId: RunId, batches: number) =>
  Effect.gen(function* () {
    const met = new Set<string>()
    for (let index = 0; index < batches; index++) alsoMet(met, yield* storedEntities(runId, index))
    return met
  })

/** How many known entities the extractor gets. A later chunk names other ones anew; resolution merges them. */
const mostKnown = 2000

/** Keeps the latest entities. A resumed run restores the same registry, so that it asks the model the same questions. */
const remembered = (known: EntityRegistry, entities: ReadonlyArray<EntityRef>): EntityRegistry => {
  const all = register(known, entities)
  if (all.entities.length <= mostKnown) return all
  const latest = all.entities.toSorted((one, other) => other.foundInChunk - one.foundInChunk).slice(0, mostKnown)
  return register(emptyRegistry, latest)
}

/** The earliest first. */
const inOrder = ({ entities }: EntityRegistry): ReadonlyArray<EntityRef> =>
  entities.toSorted((one, other) => one.foundInChunk - other.foundInChunk)

/** The entities of a stored step. Empty when the snapshot is lost: later chunks name its entities anew. */
const storedEntities = (runId: RunId, batchIndex: number) =>
  loadArtifact(runId, entitiesKey(batchIndex)).pipe(
    Effect.flatMap((text) => Effect.orDie(Schema.decodeEffect(EntityRegistryJson)(text))),
    Effect.map(({ entities }) => entities),
    Effect.catchTag(["ArtifactMissing", "ArtifactDamaged", "BlobNotFound"], (lost) =>
      Effect.as(Effect.logWarning(`run ${runId}: the entities of step ${batchIndex} cannot be restored: ${lost.message}`), []),
    ),
  )

/** The stored result of a step. A run without checkpoints saves the query for its first step, and most documents have only one. */
const storedStep = ({ run, batchIndex }: Pick<StepInput, "run" | "batchIndex">, lastBatch: Option.Option<number>) =>
  batchIndex === 0 && Option.isNone(lastBatch)
    ? Effect.succeedNone
    : Effect.flatMap(RunStore, (runs) =>
        Effect.map(
          runs.checkpoint(run.runId, batchIndex),
          Option.map(({ result_json }) => result_json),
        ),
      )

/** Extracts and stores a step. Only the last step is smaller than the others: it shares a commit with the run's end. */
const newStep = (input: StepInput, before: RunResult, passing: PassingDocument) =>
  Effect.gen(function* () {
    const { run, chunks } = input
    const runs = yield* RunStore
    const { result, step, registry, statements } = yield* extractStep(input)
    const total = withStep(before, result)
    const isLast = chunks.length < run.config.batchSize && run.status === "running"
    if (isLast) {
      const ended = {
        status: "succeeded",
        at: yield* DateTime.now,
        version: { ...passing.version(), ...spoken(before.language, before.unread) },
      } as const
      const change = { expectedVersion: run.statusVersion, ...ended }
      // A run that was cancelled, ended or resumed meanwhile is left as it is.
      yield* Effect.catchTag(runs.saveEnd(step, run, change), "RunStatusConflict", () => Effect.void)
    } else yield* runs.saveStep(step)
    return { total, isEnded: isLast, registry, statements: Option.some(statements) }
  })

/** The statements that end after the start of the chunks. */
const reaching = (statements: ReadonlyMap<string, number>, [first]: ReadonlyArray<Chunk>): ReadonlyMap<string, number> =>
  new Map([...statements].filter(([, end]) => end > (first?.offset ?? 0)))

const statementEnds = new RegExp(`^<(urn:detent:statement:[^>]+)> <${detentVocabulary}end> "(\\d+)"`, "gm")

/** The statements of a step that an earlier execution stored. */
const storedStatements = (run: ExtractionRun, batchIndex: number) =>
  Effect.map(loadArtifact(run.runId, graphKey(batchIndex)), (text) => {
    const ends = text.matchAll(statementEnds)
    return new Map([...ends].map(({ 1: statement = "", 2: end }) => [statement, Number(end)]))
  })

const changed = ({ run, batchIndex }: Pick<StepInput, "run" | "batchIndex">) => new DocumentChanged({ uri: run.inputUri, batchIndex })

/** Where the last chunk ends in the document. */
const endOf = (chunks: ReadonlyArray<Chunk>): number => {
  const last = chunks.at(-1)
  return last === undefined ? 0 : last.offset + last.text.length
}

const chunksOf = (run: ExtractionRun, { contentType }: Payload, passing: PassingDocument, rules: ReadonlyArray<CompiledFile>) =>
  Stream.unwrap(
    Effect.map(Storage, (storage) => {
      const source = { name: run.inputUri, ...(contentType === undefined ? {} : { contentType }) }
      const text = passing.text(streamOnWorkers(source, passing.bytes(storage.getStream(run.inputUri)), passing.notes))
      const options = { size: run.config.windowSize, overlap: run.config.overlap }
      const chunks = withContext(
        rules.length === 0 ? chunksOnWorkers(run.inputUri, options)(text) : recordChunks({ ...options, records: passing.takeMapped })(text),
      )
      // A document without text has no facts, and is counted as not read. It is no failure, which a retry could change.
      return Stream.catchTag(chunks, "DocumentEmpty", () => Stream.empty)
    }),
  )

const withStep = (total: RunResult, step: StepResult): RunResult => {
  const misfits = addMisfits(total.misfits, step.misfits)
  const skipped = addSkipped(total.skipped, step.skipped)
  const refused = addRefused(total.refused, step.refused)
  const notRead = addNotRead(total.notRead, step.notRead)
  const { cost, ...sum } = {
    ...spoken(total.language, total.unread),
    runId: total.runId,
    batches: total.batches + 1,
    chunks: total.chunks + step.chunks,
    entities: total.entities + step.entities,
    facts: total.facts + step.facts,
    forReview: total.forReview + step.forReview,
    ...(misfits === undefined ? {} : { misfits }),
    ...(skipped === undefined ? {} : { skipped }),
    ...(refused === undefined ? {} : { refused }),
    ...(notRead === undefined ? {} : { notRead }),
    calls: total.calls + step.calls,
    inputTokens: total.inputTokens + step.inputTokens,
    outputTokens: total.outputTokens + step.outputTokens,
    cost: total.cost === undefined || step.cost === undefined ? undefined : total.cost + step.cost,
  }
  return cost === undefined ? sum : { ...sum, cost }
}

const nothingYet = (runId: RunId): RunResult => ({
  runId,
  batches: 0,
  chunks: 0,
  entities: 0,
  facts: 0,
  forReview: 0,
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cost: 0,
})

const standingOf = (runId: RunId) =>
  Effect.gen(function* () {
    const found = yield* Effect.flatMap(RunStore, (runs) => runs.standing(runId))
    if (Option.isSome(found)) return found.value
    return yield* new RunFailed({ runId, code: "RunUnknown", detail: "there is no such run; start it first", retryable: false })
  }).pipe(Effect.mapError(runFailed(runId)))

/** Every resumption changes the status twice: to failed or cancelled, and back to running. */
export const resumptionOf = ({ statusVersion }: ExtractionRun): number => Math.floor((statusVersion - 1) / 2)

const superseded = ({ runId, status, errorMessage }: ExtractionRun) =>
  new RunFailed({
    runId,
    code: "RunSuperseded",
    detail: `it is ${status} and no longer belongs to this execution; resume it${Option.match(errorMessage, { onNone: () => "", onSome: (said) => ` (${said})` })}`,
    // Another execution works on the run or has completed it: a repeated request gets its result.
    retryable: status === "running" || status === "succeeded",
  })

/** A run that was cancelled, ended or resumed meanwhile is left as it is. */
const endRun = (run: ExtractionRun, end: Omit<StatusChange, "expectedVersion" | "at">): Effect.Effect<void, RunFailed, RunStore> =>
  Effect.gen(function* () {
    if (run.status !== "running") return
    const runs = yield* RunStore
    const change = { expectedVersion: run.statusVersion, at: yield* DateTime.now, ...end }
    yield* Effect.catchTag(Effect.asVoid(runs.changeStatus(run, change)), ["RunStatusConflict", "RunStatusRefused"], () => Effect.void)
  }).pipe(Effect.mapError(runFailed(run.runId)))

// The data of a document while it is read piece by piece: the hash of its bytes, its title, and the text not yet stored.

export interface PassingDocument {
  readonly bytes: <E, R>(stream: Stream.Stream<Uint8Array, E, R>) => Stream.Stream<Uint8Array, E, R>
  readonly text: <E, R>(stream: Stream.Stream<string, E, R>) => Stream.Stream<string, E, R>
  /** Notes the language that the document declares, and its records. */
  readonly notes: ReadingNotes
  readonly declared: () => string | undefined
  /** Takes the records with a rule that were noted since the last call. */
  readonly takeMapped: () => ReadonlyArray<FoundRecord>
  /** Takes the text up to an offset in the document, from where the last call ended, and the records that begin in it. */
  readonly takeUntil: (end: number) => { readonly text: string; readonly records: ReadonlyArray<FoundRecord> }
  /** The hash and title of a document that has been read to its end. */
  readonly version: () => { readonly inputHash: ContentHash; readonly title: string }
}

export const passingDocument = (address: string, rules: ReadonlyArray<CompiledFile>): PassingDocument => {
  const hash = startHash()
  let inputHash: ContentHash | undefined
  let language: string | undefined
  let [text, start, beginning] = ["", 0, ""]
  let mapped: ReadonlyArray<FoundRecord> = []
  let waiting: ReadonlyArray<FoundRecord> = []
  return {
    bytes: (stream) =>
      Stream.map(stream, (piece) => {
        hash.update(piece)
        return piece
      }),
    text: (stream) =>
      Stream.map(stream, (piece) => {
        text += piece
        if (beginning.length < titleWithin) beginning += piece.slice(0, titleWithin)
        return piece
      }),
    notes: {
      language: (tag) =>
        Effect.sync(() => {
          language = tag
        }),
      records: (records) =>
        Effect.sync(() => {
          mapped = [...mapped, ...records.filter((record) => ruleOf(rules, record) !== undefined)]
          waiting = [...waiting, ...records]
        }),
    },
    declared: () => language,
    takeMapped: () => {
      const taken = mapped
      mapped = []
      return taken
    },
    takeUntil: (end) => {
      const taken = text.slice(0, Math.max(0, end - start))
      text = text.slice(taken.length)
      start += taken.length
      const records = waiting.filter((record) => beginsBefore(record, end))
      waiting = waiting.filter((record) => !beginsBefore(record, end))
      return { text: taken, records }
    },
    version: () => {
      inputHash ??= hash.end()
      return { inputHash, title: titleOf(address, beginning) }
    },
  }
}

const beginsBefore = ({ cells: [first] }: FoundRecord, end: number): boolean => first === undefined || first.line < end
