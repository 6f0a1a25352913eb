/**
 * Extracts one step of a document, which is a few chunks. Its findings are stored in one transaction with its checkpoint: a step with a
 * checkpoint is never extracted again, in any process.
 */

import { contentHashOf } from "@detent/blobs/ContentHash"
import type { StorageError } from "@detent/blobs/Storage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Chunk } from "../document/Chunk.ts"
import type { FoundRecord, RecordCell } from "../document/Reading.ts"
import {
  addUsage,
  type ExtractionFailed,
  type ExtractorService,
  type KnownEntity,
  noUsage,
  type RejectedItem,
  type Usage,
} from "../extract/Extractor.ts"
import { type MappedFindings, mappingName, readMapped } from "../extract/mapped/MappedRecords.ts"
import { type Fact, type Mention, type Misfit, type Span, StoredFact, StoredMention, splitByConfidence } from "../fact/Fact.ts"
import { entityIri, type FactSource, factTriples, mentionTriples, statementOf } from "../fact/FactGraph.ts"
import { type CompiledFile, ruleOf } from "../mapping/CompiledMapping.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import type { SortFailed } from "../rdf/LineSort.ts"
import type { InvalidTerm } from "../rdf/Term.ts"
import { writeNTriples } from "../rdf/Turtle.ts"
import type { ArtifactStore } from "../storage/ArtifactStore.ts"
import type { RunId } from "../storage/Identity.ts"
import { Confidence, Count } from "../storage/Quantity.ts"
import { isPlaceholder } from "../text/Placeholder.ts"
import type { Equipment } from "./Extractors.ts"
import {
  addMisfits,
  addNotRead,
  addRefused,
  addSkipped,
  type ExtractionRun,
  type Misfits,
  type NotRead,
  type RefusedItems,
  type SkippedChunks,
} from "./Run.ts"
import { prepareArtifact } from "./RunArtifacts.ts"
import { type RunStep, RunStore } from "./RunStore.ts"
import { contentKey, entitiesKey, graphKey, type RunStoreFailed, reviewKey, type StepResult } from "./RunTables.ts"

export interface StepInput extends Equipment {
  readonly run: ExtractionRun
  readonly batchIndex: number
  readonly chunks: ReadonlyArray<Chunk>
  /** The hash of the chunks: see `textHashOf`. */
  readonly textHash: string
  /** Entities that earlier chunks of the document named. */
  readonly known?: ReadonlyArray<KnownEntity>
  /** The text of the document from the end of the previous step to the end of this one, and the records that begin in it. */
  readonly text: string
  readonly records: ReadonlyArray<FoundRecord>
  /** The rules of the mapping for this document. */
  readonly rules: ReadonlyArray<CompiledFile>
  /** Statements of earlier steps with their end offsets: facts in the overlap of two steps count once. */
  readonly earlier: ReadonlyMap<string, number>
  /** Entities of earlier steps, by `metAs`: an entity counts once in a document. */
  readonly met: ReadonlySet<string>
}

/** A finished step, to be stored. */
export interface FinishedStep {
  readonly result: StepResult
  readonly step: RunStep
  /** The entities of these chunks. */
  readonly registry: EntityRegistry
  /** Statements that a later step may find again, with their end offsets. */
  readonly statements: ReadonlyMap<string, number>
}

export type StepError = FindingError | StorageError

/** The part of an entity's IRI that distinguishes it from others of its document. */
export const metAs = ({ iri }: EntityRef): string => iri.slice(iri.lastIndexOf(":") + 1)

/** Shows whether a later reading of the document gave the same chunks. */
export const textHashOf = (chunks: ReadonlyArray<Chunk>): string =>
  contentHashOf(JSON.stringify(chunks.map(({ offset, text }) => [offset, text])))

/** Extracts the step. Its large artifacts are in their files when this returns; the caller stores the rows. */
export const extractStep = (input: StepInput): Effect.Effect<FinishedStep, StepError, ArtifactStore | RunStore> =>
  Effect.gen(function* () {
    const { run, batchIndex, chunks, extractor, ontology, known = [] } = input
    const { concurrency, reviewBelow } = run.config
    const language = chunks[0]?.language
    const source = {
      documentId: run.documentId,
      runId: run.runId,
      extractor: extractor.name,
      ...(language === undefined ? {} : { language }),
    }
    const answers = extractor.isPaid === true ? { answers: yield* loadAnswers(run.runId, extractor.name, chunks) } : {}
    const mapped = mappedIn(input)
    const found = yield* findInChunks({ chunks, extractor, ontology, source, concurrency, reviewBelow, known, mapped, ...answers })
    const { registry, usage } = found
    // A fact that an earlier step accepted is in the graph, and needs no review.
    const review = found.review.filter((fact) => !input.earlier.has(statementOf(fact, source)))
    const statements = new Map(found.facts.map((fact) => [statementOf(fact, source), fact.span.end]))
    const at = yield* Clock.currentTimeMillis
    const graph = yield* prepareArtifact(run.runId, graphKey(batchIndex), found.graph, at)
    const entities = yield* prepareArtifact(run.runId, entitiesKey(batchIndex), JSON.stringify(registry), at)
    const content = yield* prepareArtifact(run.runId, contentKey(batchIndex), input.text, at)
    const forReview =
      review.length === 0
        ? []
        : [
            yield* prepareArtifact(
              run.runId,
              reviewKey(batchIndex),
              JSON.stringify(review.map((fact) => ({ ...fact, extractor: extractor.name }))),
              at,
            ),
          ]
    const result: StepResult = {
      chunks: chunks.length,
      textHash: input.textHash,
      entities: registry.entities.filter((entity) => !input.met.has(metAs(entity))).length,
      facts: [...statements.keys()].filter((statement) => !input.earlier.has(statement)).length,
      forReview: review.length,
      ...misfitsIn(input, found.misfits),
      ...skippedIn(input, found.skipped),
      ...refusedIn(input, found.rejected),
      ...notReadIn(input, found, mapped.notRead),
      calls: usage.calls,
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      ...(usage.cost === undefined ? {} : { cost: usage.cost }),
    }
    const step: RunStep = {
      artifacts: [graph, entities, content, ...forReview].map(({ row }) => row),
      checkpoint: {
        run_id: run.runId,
        batch_index: batchIndex,
        result_json: JSON.stringify(result),
        entity_snapshot_path: entities.path,
        entity_snapshot_hash: entities.hash,
        created_at: at,
      },
      graph: { path: graph.path, hash: graph.hash, chunks: chunks.length },
      ...(extractor.isPaid === true ? { answered: { first: chunks[0]?.index ?? 0, last: chunks.at(-1)?.index ?? 0 } } : {}),
    }
    return { result, step, registry, statements: new Map([...input.earlier, ...statements]) }
  })

/** What the mapping reads in the records of a step. */
const mappedIn = ({ records, rules, ontology, chunks, text }: StepInput): MappedFindings => {
  const part = { text, offset: beginOf(chunks, text) }
  const read = records.flatMap((record) => {
    const rule = ruleOf(rules, record)
    return rule === undefined ? [] : [readMapped(record, rule, ontology, part)]
  })
  return {
    mentions: read.flatMap(({ mentions }) => mentions),
    facts: read.flatMap(({ facts }) => facts),
    misfits: read.flatMap(({ misfits }) => misfits),
    notRead: read.flatMap(({ notRead }) => notRead),
  }
}

/** Where the text of a step begins: the chunks before it are in the overlap with the previous step. */
const beginOf = (chunks: ReadonlyArray<Chunk>, text: string): number => {
  const last = chunks.at(-1)
  return last === undefined ? 0 : last.offset + last.text.length - text.length
}

/** Counts cells without a rule, and in records without a mapping those that nothing was found in. */
const notReadIn = (
  { run, records, rules }: StepInput,
  { mentions, facts, review, misfits }: Pick<ChunkFindings, "mentions" | "facts" | "review" | "misfits">,
  withoutRule: ReadonlyArray<RecordCell>,
): { readonly notRead?: NotRead } => {
  const objects = [...facts, ...review].map(({ object }) => (object._tag === "Entity" ? object.mention.span : object.span))
  const read = [...mentions.map(({ span }) => span), ...objects, ...misfits.map(({ span }) => span)].sort(
    (one, other) => one.start - other.start,
  )
  const reach: Array<number> = []
  for (const { end } of read) reach.push(Math.max(end, reach.at(-1) ?? 0))
  const isRead = ({ start, end }: Span): boolean => {
    const before = countBefore(read, end)
    return before > 0 && (reach[before - 1] ?? 0) > start
  }
  const others = records.flatMap((record) =>
    ruleOf(rules, record) === undefined ? record.cells.filter((cell) => !isPlaceholder(cell.text) && !isRead(cell)) : [],
  )
  const counted = [...withoutRule, ...others].map(({ column, text }): NotRead => {
    const named = column === "" ? "value" : column.slice(0, longestExample)
    return { count: 1, columns: [{ column: named, count: 1, source: run.inputUri, text: text.slice(0, longestExample) }] }
  })
  const all = sumOfCells(counted)
  return all === undefined ? {} : { notRead: all }
}

/** The sum, one column after the other: there may be a hundred thousand cells. */
const sumOfCells = (counted: ReadonlyArray<NotRead>): NotRead | undefined =>
  [...Map.groupBy(counted, ({ columns: [one] }) => one?.column ?? "").values()]
    .map((group): NotRead | undefined => {
      const [first] = group
      return first === undefined
        ? undefined
        : { count: group.length, columns: first.columns.map((column) => ({ ...column, count: group.length })) }
    })
    .reduce(addNotRead, undefined)

/** How many of the sorted spans begin before an offset. */
const countBefore = (spans: ReadonlyArray<Span>, end: number): number => {
  let [low, high] = [0, spans.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((spans[middle]?.start ?? 0) < end) low = middle + 1
    else high = middle
  }
  return low
}

/** How much of a value an example shows. */
const longestExample = 100

/** The misfits in the text of the step. Those before it are in the overlap with the previous step, and counted there. */
const misfitsIn = ({ run, chunks, text }: StepInput, misfits: ReadonlyArray<Misfit>): { readonly misfits?: Misfits } => {
  const begin = beginOf(chunks, text)
  const own = new Map(misfits.filter(({ span }) => span.start >= begin).map((one) => [`${one.span.start} ${one.property}`, one]))
  const counted = [...own.values()].map(
    ({ property, text }): Misfits => ({ count: 1, examples: [{ source: run.inputUri, property, text: text.slice(0, longestExample) }] }),
  )
  const all = counted.reduce<Misfits | undefined>(addMisfits, undefined)
  return all === undefined ? {} : { misfits: all }
}

const skippedIn = ({ run }: StepInput, skipped: ReadonlyArray<SkippedChunk>): { readonly skipped?: SkippedChunks } => {
  const counted = skipped.map(
    ({ chunk, problem }): SkippedChunks => ({
      count: 1,
      examples: [{ source: run.inputUri, text: chunk.text.trim().slice(0, longestExample), problem }],
    }),
  )
  const all = counted.reduce<SkippedChunks | undefined>(addSkipped, undefined)
  return all === undefined ? {} : { skipped: all }
}

const refusedIn = ({ run }: StepInput, rejected: ReadonlyArray<RejectedItem>): { readonly refused?: RefusedItems } => {
  const counted = rejected.map(
    ({ text, problem }): RefusedItems => ({ count: 1, examples: [{ source: run.inputUri, text: text.slice(0, longestExample), problem }] }),
  )
  const all = counted.reduce<RefusedItems | undefined>(addRefused, undefined)
  return all === undefined ? {} : { refused: all }
}

// The findings of a step: entities, then the facts between them, as a graph and as a registry. This part stores nothing, so that
// callers can use it without a run.

export interface FindingInput {
  readonly chunks: ReadonlyArray<Chunk>
  readonly extractor: ExtractorService
  readonly ontology: OntologyIndex
  /** The document, run and extractor that the triples of the graph name. */
  readonly source: FactSource
  /** How many chunks are extracted concurrently. */
  readonly concurrency: number
  /** Facts with a lower confidence go to the review list. */
  readonly reviewBelow: number
  /** Entities that earlier chunks of the document named. */
  readonly known?: ReadonlyArray<KnownEntity>
  /** The stored answers of a paid extractor. */
  readonly answers?: ModelAnswers
  /** What the mapping of the document has given. Chunks of its records only are not extracted. */
  readonly mapped?: Pick<MappedFindings, "mentions" | "facts" | "misfits">
}

export interface ChunkFindings {
  /** Sorted lines of N-Triples, each once. */
  readonly graph: string
  readonly mentions: ReadonlyArray<Mention>
  readonly facts: ReadonlyArray<Fact>
  readonly review: ReturnType<typeof splitByConfidence>["review"]
  /** Values that give no fact. Those in the overlap of two chunks occur twice. */
  readonly misfits: ReadonlyArray<Misfit>
  readonly skipped: ReadonlyArray<SkippedChunk>
  /** Those in the overlap of two chunks occur twice. */
  readonly rejected: ReadonlyArray<RejectedItem>
  /** Only the entities of these chunks: the registry of a document is the union over its steps. */
  readonly registry: EntityRegistry
  readonly usage: Usage
}

export type FindingError = ExtractionFailed | InvalidTerm | SortFailed | RunStoreFailed

export const findInChunks = (input: FindingInput): Effect.Effect<ChunkFindings, FindingError> =>
  Effect.gen(function* () {
    const read = input.chunks.filter(({ isMapped }) => isMapped !== true)
    const { mentions: mentioned = [], facts: stated = [], misfits = [] } = input.mapped ?? {}
    const found = yield* Effect.forEach(read, (chunk) => readChunk(input, chunk), { concurrency: input.concurrency })
    const skipped = found.flatMap(({ chunk, refusal }) => (refusal === undefined ? [] : [{ chunk, problem: refusal.detail }]))
    // A document of which nothing was answered is not extracted.
    const [first] = found
    if (first?.refusal !== undefined && skipped.length === found.length) return yield* first.refusal
    const { accepted, review } = splitByConfidence(distinctFacts(found.flatMap((one) => one.facts)), input.reviewBelow)
    const isUnsure = unsureMentions(accepted, review, input.reviewBelow)
    const sure = found.map(({ mentions, ...one }) => ({ ...one, mentions: mentions.filter((mention) => !isUnsure(mention)) }))
    const mentions = sure.flatMap((one) => one.mentions)
    const ofMapping = [...mentionsOf(stated), ...mentioned]
    return {
      graph: yield* graphText(input, mentions, accepted, mentioned, stated),
      mentions: [...mentions, ...ofMapping],
      facts: [...accepted, ...stated],
      review,
      misfits: [...found.flatMap((one) => one.misfits), ...misfits],
      skipped,
      rejected: found.flatMap((one) => one.rejected),
      registry: registryOf(input, [...sure, { chunk: input.chunks[0], mentions: ofMapping }]),
      usage: found.reduce((sum, one) => addUsage(sum, one.usage), noUsage),
    }
  })

interface Found {
  readonly chunk: Chunk
  readonly mentions: ReadonlyArray<Mention>
  readonly facts: ReadonlyArray<Fact>
  readonly misfits: ReadonlyArray<Misfit>
  readonly rejected: ReadonlyArray<RejectedItem>
  readonly usage: Usage
  /** Why the extractor did not answer for the chunk. */
  readonly refusal?: ExtractionFailed
}

/** A chunk that the extractor did not answer, and why. */
interface SkippedChunk {
  readonly chunk: Chunk
  readonly problem: string
}

/** Whether only this chunk has no answer: another one may have. */
const concernsChunk = (error: ExtractionFailed | RunStoreFailed): error is ExtractionFailed =>
  error._tag === "ExtractionFailed" && error.stops === undefined && chunkReasons.has(error.reason)

const chunkReasons: ReadonlySet<ExtractionFailed["reason"]> = new Set(["Refused", "Malformed", "TooLong"])

const answerTo = <A>(
  question: Effect.Effect<A, ExtractionFailed | RunStoreFailed>,
): Effect.Effect<Result.Result<A, ExtractionFailed>, ExtractionFailed | RunStoreFailed> =>
  Effect.matchEffect(question, {
    onSuccess: (answer) => Effect.succeed(Result.succeed(answer)),
    onFailure: (error) => (concernsChunk(error) ? Effect.succeed(Result.fail(error)) : Effect.fail(error)),
  })

const readChunk = (input: FindingInput, chunk: Chunk): Effect.Effect<Found, ExtractionFailed | RunStoreFailed> =>
  Effect.gen(function* () {
    const { extractor, ontology, known = [], answers } = input
    const finding = extractor.entities(chunk, ontology, known)
    const named = yield* answerTo(answers === undefined ? finding : answers.entities(chunk, [ontology.hash, known], finding))
    const none = { chunk, mentions: [], misfits: [], rejected: [], facts: [] }
    if (Result.isFailure(named)) return { ...none, usage: noUsage, refusal: named.failure }
    const { mentions, usage, misfits = [], rejected = [] } = named.success
    const stating = extractor.facts(chunk, mentions, ontology)
    const stated = yield* answerTo(answers === undefined ? stating : answers.facts(chunk, [ontology.hash, mentions], stating))
    if (Result.isFailure(stated)) return { ...none, mentions, misfits, rejected, usage, refusal: stated.failure }
    const { facts, rejected: ofFacts = [] } = stated.success
    return { chunk, mentions, misfits, rejected: [...rejected, ...ofFacts], facts, usage: addUsage(usage, stated.success.usage) }
  })

/**
 * Tells which mentions stay out of the graph: those with a low confidence, and those that only facts of the review list speak of, whose
 * class is as unsure as the facts. They enter the graph with such a fact when a reviewer accepts it.
 */
const unsureMentions = (accepted: ReadonlyArray<Fact>, review: ReadonlyArray<Fact>, least: number) => {
  const keyOf = ({ span, type }: Mention) => `${span.start} ${span.end} ${type}`
  const sure = new Set(mentionsOf(accepted).map(keyOf))
  const unsure = new Set(mentionsOf(review).map(keyOf))
  return (mention: Mention): boolean => {
    const key = keyOf(mention)
    return !sure.has(key) && (mention.confidence < least || unsure.has(key))
  }
}

/** Chunks overlap: facts in the overlap are found twice, and count once. */
const distinctFacts = (facts: ReadonlyArray<Fact>): ReadonlyArray<Fact> => {
  const byPlace = new Map<string, Fact>()
  for (const fact of facts) {
    const object = fact.object._tag === "Entity" ? fact.object.mention.span : fact.object.span
    const key = [fact.subject.span.start, fact.subject.type, fact.property, object.start, object.end].join(" ")
    const known = byPlace.get(key)
    if (known === undefined || fact.confidence > known.confidence) byPlace.set(key, fact)
  }
  return [...byPlace.values()]
}

const graphText = (
  { source }: FindingInput,
  mentions: ReadonlyArray<Mention>,
  facts: ReadonlyArray<Fact>,
  mentioned: ReadonlyArray<Mention>,
  stated: ReadonlyArray<Fact>,
) => {
  const triples = [
    ...[...mentions, ...mentioned].flatMap((mention) => mentionTriples(mention, source)),
    ...factTriples(facts, source),
    ...factTriples(stated, { ...source, extractor: mappingName }),
  ]
  return triples.length === 0 ? Effect.succeed("") : Stream.mkString(writeNTriples(Stream.fromIterable(triples)))
}

const mentionsOf = (facts: ReadonlyArray<Fact>): ReadonlyArray<Mention> =>
  facts.flatMap(({ subject, object }) => (object._tag === "Entity" ? [subject, object.mention] : [subject]))

/** The mentions of a chunk. */
interface ChunkMentions {
  readonly chunk: Chunk | undefined
  readonly mentions: ReadonlyArray<Mention>
}

const registryOf = ({ source }: FindingInput, found: ReadonlyArray<ChunkMentions>): EntityRegistry => {
  const refs = found.flatMap(({ chunk, mentions }) =>
    mentions.map(
      (mention): EntityRef => ({
        iri: entityIri(source.documentId, mention),
        label: mention.name ?? mention.text,
        types: [mention.type],
        foundInChunk: chunk?.index ?? 0,
        confidence: mention.confidence,
      }),
    ),
  )
  return register(emptyRegistry, refs)
}

// Answers of a model are stored when they arrive, until the checkpoint of their chunks covers them. After a crash in between, the model
// is neither called nor paid again for them.

const rejected = Schema.optionalKey(Schema.Array(Schema.Struct({ text: Schema.String, problem: Schema.String })))
const Entities = Schema.fromJsonString(Schema.Struct({ mentions: Schema.Array(StoredMention), rejected }))
const Facts = Schema.fromJsonString(Schema.Struct({ facts: Schema.Array(StoredFact), rejected }))

interface FoundEntities {
  readonly mentions: ReadonlyArray<Mention>
  readonly misfits?: ReadonlyArray<Misfit>
  readonly rejected?: ReadonlyArray<RejectedItem>
  readonly usage: Usage
}

interface FoundFacts {
  readonly facts: ReadonlyArray<Fact>
  readonly rejected?: ReadonlyArray<RejectedItem>
  readonly usage: Usage
}

/** Returns the stored answer to the same question, or calls the model and stores its answer. */
interface ModelAnswers {
  readonly entities: <E>(
    chunk: Chunk,
    question: unknown,
    ask: Effect.Effect<FoundEntities, E>,
  ) => Effect.Effect<FoundEntities, E | RunStoreFailed>
  readonly facts: <E>(chunk: Chunk, question: unknown, ask: Effect.Effect<FoundFacts, E>) => Effect.Effect<FoundFacts, E | RunStoreFailed>
}

const loadAnswers = (run: RunId, extractor: string, chunks: ReadonlyArray<Chunk>): Effect.Effect<ModelAnswers, RunStoreFailed, RunStore> =>
  Effect.gen(function* () {
    const runs = yield* RunStore
    const stored = yield* runs.answers(run, chunks[0]?.index ?? 0, chunks.at(-1)?.index ?? 0)
    const hashOf = ({ text, offset }: Chunk, question: unknown) => contentHashOf(JSON.stringify([extractor, offset, text, question]))

    const recalled =
      <Found extends { readonly usage: Usage }, Content extends Omit<Found, "usage">>(
        step: "entities" | "facts",
        schema: Schema.Codec<Content, string>,
        withUsage: (content: Content, usage: Usage) => Found,
      ) =>
      <E>(chunk: Chunk, question: unknown, ask: Effect.Effect<Found, E>): Effect.Effect<Found, E | RunStoreFailed> =>
        Effect.gen(function* () {
          const hash = hashOf(chunk, question)
          const known = stored.find((one) => one.chunk_index === chunk.index && one.step === step && one.input_hash === hash)
          const content = known === undefined ? Option.none() : Schema.decodeOption(schema)(known.content)
          if (known !== undefined && Option.isSome(content)) {
            const { calls, input_tokens: inputTokens, output_tokens: outputTokens, cost } = known
            return withUsage(content.value, { calls, inputTokens, outputTokens, cost: cost ?? undefined })
          }
          const found = yield* ask
          const { usage, ...said } = found
          yield* runs.saveAnswer({
            run_id: run,
            chunk_index: chunk.index,
            step,
            input_hash: hash,
            content: JSON.stringify(said),
            calls: usage.calls,
            input_tokens: usage.inputTokens,
            output_tokens: usage.outputTokens,
            cost: usage.cost ?? null,
            created_at: yield* Clock.currentTimeMillis,
          })
          return found
        })

    return {
      entities: recalled<FoundEntities, typeof Entities.Type>("entities", Entities, (content, usage) => ({ ...content, usage })),
      facts: recalled<FoundFacts, typeof Facts.Type>("facts", Facts, (content, usage) => ({ ...content, usage })),
    }
  })

// The entities that a run has found so far, so that a later chunk refers to them by the same IRI. Saved with every checkpoint and
// restored on resume. Registering is a union: the same entities in any order, any number of times, give the same registry.

export const EntityRef = Schema.Struct({
  iri: Schema.String,
  label: Schema.String,
  types: Schema.Array(Schema.String),
  foundInChunk: Count,
  confidence: Confidence,
})
export type EntityRef = typeof EntityRef.Type

/** Sorted by IRI, so that the same entities encode to the same bytes. */
export const EntityRegistry = Schema.Struct({ entities: Schema.Array(EntityRef) })
export type EntityRegistry = typeof EntityRegistry.Type

export const EntityRegistryJson = Schema.fromJsonString(Schema.toCodecJson(EntityRegistry))

export const emptyRegistry: EntityRegistry = { entities: [] }

export const register = (registry: EntityRegistry, found: ReadonlyArray<EntityRef>): EntityRegistry => {
  const byIri = new Map<string, EntityRef>()
  for (const entity of [...registry.entities, ...found]) {
    const known = byIri.get(entity.iri)
    byIri.set(entity.iri, known === undefined ? tidy(entity) : union(known, entity))
  }
  return { entities: [...byIri.values()].sort((a, b) => order(a.iri, b.iri)) }
}

const tidy = (entity: EntityRef): EntityRef => ({ ...entity, types: [...new Set(entity.types)].sort() })

/** Takes the label that was found first; of two in the same chunk, the first in sort order, so that the call order does not matter. */
const union = (one: EntityRef, other: EntityRef): EntityRef => {
  const first = one.foundInChunk - other.foundInChunk || order(one.label, other.label)
  return {
    iri: one.iri,
    label: first <= 0 ? one.label : other.label,
    types: [...new Set([...one.types, ...other.types])].sort(),
    foundInChunk: Math.min(one.foundInChunk, other.foundInChunk),
    confidence: Math.max(one.confidence, other.confidence),
  }
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
