/**
 * Which extractor a run uses, and with which ontology. Both are made once for many runs: an ontology takes long to fold, and
 * the built-in extractor learns from the examples of its batch.
 */
import * as Cache from "effect/Cache"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as BuiltIn from "../extract/builtin/BuiltIn.ts"
import { Example } from "../extract/builtin/Example.ts"
import * as PooledBuiltIn from "../extract/builtin/PooledBuiltIn.ts"
import { Extractor, type ExtractorService } from "../extract/Extractor.ts"
import type { OntologyError } from "../ontology/OntologyError.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { loadOntology } from "../ontology/OntologyLoading.ts"
import { getText, Storage } from "../storage/Storage.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { StorageUri } from "../storage/Uri.ts"
import { WorkerPool } from "../threads/WorkerPool.ts"

/** What a run is told about the extraction. */
export interface ExtractionSetting {
  readonly ontologyUri: StorageUri
  /** One example a line; only the built-in extractor learns from them. */
  readonly examplesUri?: StorageUri
}

/** A line of an examples file cannot be read. */
export class ExamplesRefused extends Schema.TaggedError<ExamplesRefused>()("ExamplesRefused", {
  uri: Schema.String,
  /** Counted from 1. */
  line: Schema.Int,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.uri}, line ${this.line}: no example: ${this.problem}; each line is {"sent": "...", "triples": [{"sub": "...", "rel": "...", "obj": "..."}]}`
  }
}

export interface Equipment {
  readonly ontology: OntologyIndex
  readonly extractor: ExtractorService
}

export type EquipmentError = StorageError | OntologyError | ExamplesRefused

export interface ExtractorsService {
  readonly equip: (setting: ExtractionSetting) => Effect.Effect<Equipment, EquipmentError>
}

export class Extractors extends Context.Service<Extractors, ExtractorsService>()("@detent/knowledge/Extractors") {
  /** The built-in extractor, taught with the examples of each setting, on threads of its own: as many as there are processors. */
  static readonly layerBuiltIn: Layer.Layer<Extractors, never, Storage> = Layer.suspend(() =>
    Layer.provide(Extractors.layerPooled, WorkerPool.layer()),
  )

  /** The same on threads that are there already. */
  static readonly layerPooled: Layer.Layer<Extractors, never, Storage | WorkerPool> = Layer.effect(
    Extractors,
    Effect.flatMap(WorkerPool, (pool) => makeExtractors(taught((examples) => PooledBuiltIn.make(pool, { examples })))),
  )

  /** The same in the thread that asks, which does nothing else meanwhile: for a document or two. */
  static readonly layerUnpooled: Layer.Layer<Extractors, never, Storage> = Layer.effect(
    Extractors,
    Effect.suspend(() => makeExtractors(taught((examples) => BuiltIn.make({ examples })))),
  )

  /** The extractor in reach, whatever the setting. */
  static readonly layer: Layer.Layer<Extractors, never, Storage | Extractor> = Layer.effect(
    Extractors,
    Effect.flatMap(Extractor, (extractor) => makeExtractors(() => Effect.succeed(extractor))),
  )
}

type ExtractorFor = (
  storage: typeof Storage.Service,
  setting: ExtractionSetting,
) => Effect.Effect<ExtractorService, StorageError | ExamplesRefused>

const taught =
  (make: (examples: ReadonlyArray<Example>) => ExtractorService): ExtractorFor =>
  (storage, { examplesUri }) =>
    examplesUri === undefined
      ? Effect.sync(() => make([]))
      : Effect.map(
          Effect.flatMap(getText(storage, examplesUri), (text) => Effect.fromResult(readExamples(examplesUri, text))),
          make,
        )

const makeExtractors = (extractorFor: ExtractorFor): Effect.Effect<ExtractorsService, never, Storage> =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const made = yield* Cache.make({
      // Few batches run at once; what is forgotten is made again.
      capacity: 8,
      lookup: (key: string) => {
        const setting = JSON.parse(key) as ExtractionSetting
        return Effect.all({
          ontology: Effect.flatMap(getText(storage, setting.ontologyUri), (text) => loadOntology({ name: setting.ontologyUri, text })),
          extractor: extractorFor(storage, setting),
        })
      },
    })
    return {
      equip: ({ ontologyUri, examplesUri }) =>
        Cache.get(made, JSON.stringify({ ontologyUri, examplesUri })).pipe(
          // A failure may be over when it is asked for again.
          Effect.tapError(() => Cache.invalidate(made, JSON.stringify({ ontologyUri, examplesUri }))),
        ),
    }
  })

const decodeExample = Schema.decodeUnknownResult(Schema.fromJsonString(Example))

export const readExamples = (uri: string, text: string): Result.Result<ReadonlyArray<Example>, ExamplesRefused> => {
  const examples: Array<Example> = []
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue
    const decoded = decodeExample(line)
    if (Result.isFailure(decoded)) return Result.fail(new ExamplesRefused({ uri, line: index + 1, problem: decoded.failure.message }))
    examples.push(decoded.success)
  }
  return Result.succeed(examples)
}
