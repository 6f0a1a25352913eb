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
import {
  addUsage,
  type ExtractionFailed,
  type ExtractorService,
  type KnownEntity,
  noUsage,
  type RejectedItem,
  type Usage,
} from "../extract/Extractor.ts"
import { type Fact, type Mention, type Misfit, StoredFact, StoredMention, splitByConfidence } from "../fact/Fact.ts"
import { entityIri, type FactSource, factTriples, mentionTriples, statementOf } from "../fact/FactGraph.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import type { SortFailed } from "../rdf/LineSort.ts"
import type { InvalidTerm } from "../rdf/Term.ts"
import { writeNTriples } from "../rdf/Turtle.ts"
import type { ArtifactStore } from "../storage/ArtifactStore.ts"
import type { RunId } from "../storage/Identity.ts"
import { Confidence, Count } from "../storage/Quantity.ts"
import type { Equipment } from "./Extractors.ts"
import { addMisfits, addRefused, addSkipped, type ExtractionRun, type Misfits, type RefusedItems, type SkippedChunks } from "./Run.ts"
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
  /** The text of the document from the end of the previous step to the end of this one. */
  readonly text: string
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
    const found = yield* findInChunks({ chunks, extractor, ontology, source, concurrency, reviewBelow, known, ...answers })
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

/** How much of a value an example shows. */
const longestExample = 100

/** The misfits in the text of the step. Those before it are in the overlap with the previous step, and counted there. */
const misfitsIn = ({ run, chunks, text }: StepInput, misfits: ReadonlyArray<Misfit>): { readonly misfits?: Misfits } => {
  const last = chunks.at(-1)
  const begin = last === undefined ? 0 : last.offset + last.text.length - text.length
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
}

export interface ChunkFindings {
  /** Sorted lines of N-Triples, each once. */
  readonly graph: string
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
    const found = yield* Effect.forEach(input.chunks, (chunk) => readChunk(input, chunk), { concurrency: input.concurrency })
    const skipped = found.flatMap(({ chunk, refusal }) => (refusal === undefined ? [] : [{ chunk, problem: refusal.detail }]))
    // A document of which nothing was answered is not extracted.
    const [first] = found
    if (first?.refusal !== undefined && skipped.length === found.length) return yield* first.refusal
    const { accepted, review } = splitByConfidence(distinctFacts(found.flatMap((one) => one.facts)), input.reviewBelow)
    const isUnsure = unsureMentions(accepted, review, input.reviewBelow)
    const sure = found.map(({ mentions, ...one }) => ({ ...one, mentions: mentions.filter((mention) => !isUnsure(mention)) }))
    return {
      graph: yield* graphText(
        input,
        sure.flatMap((one) => one.mentions),
        accepted,
      ),
      facts: accepted,
      review,
      misfits: found.flatMap((one) => one.misfits),
      skipped,
      rejected: found.flatMap((one) => one.rejected),
      registry: registryOf(input, sure),
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
  const mentionsOf = ({ subject, object }: Fact) => (object._tag === "Entity" ? [subject, object.mention] : [subject])
  const sure = new Set(accepted.flatMap(mentionsOf).map(keyOf))
  const unsure = new Set(review.flatMap(mentionsOf).map(keyOf))
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

const graphText = ({ source }: FindingInput, mentions: ReadonlyArray<Mention>, facts: ReadonlyArray<Fact>) => {
  const triples = [...mentions.flatMap((mention) => mentionTriples(mention, source)), ...factTriples(facts, source)]
  return triples.length === 0 ? Effect.succeed("") : Stream.mkString(writeNTriples(Stream.fromIterable(triples)))
}

const registryOf = ({ source }: FindingInput, found: ReadonlyArray<Found>): EntityRegistry => {
  const refs = found.flatMap(({ chunk, mentions }) =>
    mentions.map(
      (mention): EntityRef => ({
        iri: entityIri(source.documentId, mention),
        label: mention.name ?? mention.text,
        types: [mention.type],
        foundInChunk: chunk.index,
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
