/**
 * Which extractor a run uses, and with which ontology. Both are made once for many runs: an ontology takes long to fold, and the
 * built-in extractor learns from the examples of its batch. Models are in `ModelExtractors.ts`.
 */
import * as Cache from "effect/Cache"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as BuiltIn from "../extract/builtin/BuiltIn.ts"
import { checkExamples, type ExamplesRefused, readExamples } from "../extract/builtin/Example.ts"
import * as PooledBuiltIn from "../extract/builtin/PooledBuiltIn.ts"
import { type Chunk, Extractor, type ExtractorService, type Usage } from "../extract/Extractor.ts"
import { noUsage } from "../extract/model/Cost.ts"
import { estimateChunk } from "../extract/model/ModelExtractor.ts"
import type { ExtractorName, ExtractorSelection, KnowledgeSettings } from "../KnowledgeSettings.ts"
import type { OntologyError } from "../ontology/Ontology.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { loadOnWorker } from "../ontology/OntologyLoading.ts"
import { getText, Storage, type StorageError } from "../storage/Storage.ts"
import type { StorageUri } from "../storage/Uri.ts"
import { WorkerPool, type WorkerPoolService } from "../threads/WorkerPool.ts"
import { type Account, ExtractorRefused, isModel, type ModelExtractors, makeModelExtractors, type Wanted } from "./ModelExtractors.ts"
import type { RunStoreFailed } from "./RunFailed.ts"

export { type Account, ExtractorRefused, type Wanted } from "./ModelExtractors.ts"

/** What a run needs to know about its extraction. */
export interface ExtractionSetting {
  readonly ontologyUri: StorageUri
  /** One example a line; only the built-in extractor learns from them. */
  readonly examplesUri?: StorageUri
  /** Default: the extractor of this process. */
  readonly selection?: ExtractorSelection
}

export interface Equipment {
  readonly ontology: OntologyIndex
  readonly extractor: ExtractorService
}

export type EquipmentError = StorageError | OntologyError | ExamplesRefused | ExtractorRefused | RunStoreFailed

/** What an extraction is expected to take. */
export interface Estimator {
  readonly extractor: string
  readonly currency: string
  readonly estimate: (chunk: Chunk, ontology: OntologyIndex) => Usage
}

export interface ExtractorsService {
  /** A model counts what it costs in the account of the run's batch. */
  readonly equip: (setting: ExtractionSetting, account?: Account) => Effect.Effect<Equipment, EquipmentError>
  readonly ontology: (uri: StorageUri) => Effect.Effect<OntologyIndex, EquipmentError>
  /** The extractor for a new batch, in the form that the batch stores: what is wanted, the configuration's, or the built-in one. */
  readonly choose: (wanted: Wanted) => Effect.Effect<ExtractorSelection, ExtractorRefused>
  /** Fails where a batch with this extractor could not make a single call. */
  readonly check: (selection: ExtractorSelection) => Effect.Effect<void, ExtractorRefused>
  readonly estimator: (selection: ExtractorSelection) => Estimator
  /** What an account has spent on models, as far as this process knows. */
  readonly spent: (account: string) => Effect.Effect<(Usage & { readonly currency: string }) | undefined>
}

export class Extractors extends Context.Service<Extractors, ExtractorsService>()("@detent/knowledge/Extractors") {
  /** The built-in extractor, taught with the examples of each setting, on the workers in the context, or on workers of its own. */
  static readonly layerBuiltIn: Layer.Layer<Extractors, never, Storage> = Layer.suspend(() => Extractors.layerWith({}))

  /** The extractor that a batch or the settings name. Default: the built-in one. */
  static readonly layerWith = (settings: KnowledgeSettings): Layer.Layer<Extractors, never, Storage> =>
    Layer.effect(
      Extractors,
      Effect.flatMap(WorkerPool, (pool) => makeExtractors(taughtOn(pool), settings)),
    ).pipe(Layer.provide(WorkerPool.layerInContext))

  /** The same as `layerBuiltIn` on workers that are there already. */
  static readonly layerPooled: Layer.Layer<Extractors, never, Storage | WorkerPool> = Layer.effect(
    Extractors,
    Effect.flatMap(WorkerPool, (pool) => makeExtractors(taughtOn(pool), {})),
  )

  /** The same in the thread that asks, which does nothing else meanwhile: for a document or two. */
  static readonly layerUnpooled: Layer.Layer<Extractors, never, Storage> = Layer.effect(
    Extractors,
    Effect.suspend(() => makeExtractors(taughtHere, {})),
  )

  /** The extractor in the context, for every batch. A batch that names another is refused. */
  static readonly layer: Layer.Layer<Extractors, never, Storage | Extractor> = Layer.effect(
    Extractors,
    Effect.flatMap(Extractor, (extractor) => makeFixed(extractor)),
  )
}

type ExtractorFor = (
  storage: typeof Storage.Service,
  examplesUri: StorageUri | undefined,
) => Effect.Effect<ExtractorService, StorageError | OntologyError | ExamplesRefused>

/** Workers read the examples and learn from them. */
const taughtOn =
  (pool: WorkerPoolService): ExtractorFor =>
  (storage, examplesUri) =>
    Effect.gen(function* () {
      if (examplesUri === undefined) return PooledBuiltIn.make(pool)
      const examples = { uri: examplesUri, text: yield* getText(storage, examplesUri) }
      yield* Effect.provideService(checkExamples(examples), WorkerPool, pool)
      return PooledBuiltIn.make(pool, { examples })
    })

/** The caller's thread does. */
const taughtHere: ExtractorFor = (storage, examplesUri) =>
  Effect.gen(function* () {
    if (examplesUri === undefined) return BuiltIn.make()
    const text = yield* getText(storage, examplesUri)
    return BuiltIn.make({ examples: yield* Effect.fromResult(readExamples({ uri: examplesUri, text })) })
  })

/** Few batches run at once; what is forgotten is made again. */
const capacity = 8

/** By their addresses. A failure may be over when the same is asked for again, so it is not kept. */
const cached = <Key extends string | undefined, A, E>(lookup: (key: Key) => Effect.Effect<A, E>) =>
  Effect.map(
    Cache.make({ capacity, lookup }),
    (made) => (key: Key) => Effect.tapError(Cache.get(made, key), () => Cache.invalidate(made, key)),
  )

const ontologies = Effect.gen(function* () {
  const storage = yield* Storage
  const pool = yield* WorkerPool.inContext
  const onPool = <A, E>(effect: Effect.Effect<A, E>) =>
    Option.match(pool, { onNone: () => effect, onSome: (one) => Effect.provideService(effect, WorkerPool, one) })
  const load = (name: string, text: string) => onPool(loadOnWorker({ name, text }))
  const byAddress = yield* cached((uri: StorageUri) => Effect.flatMap(getText(storage, uri), (text) => load(uri, text)))
  const byContent = yield* cached((source: string) => {
    const end = source.indexOf("\n")
    return load(source.slice(0, end), source.slice(end + 1))
  })
  // A file of the user may change at any time. One that is stored under its hash is another file when it changes.
  return (uri: StorageUri) =>
    storedUnderHash.test(uri) ? byAddress(uri) : Effect.flatMap(getText(storage, uri), (text) => byContent(`${uri}\n${text}`))
})

/** The address of an ontology that a batch has stored: see `OntologyPath`. */
const storedUnderHash = /\/ontologies\/[^/]+\/[^/]+\/[a-f0-9]{16}\.[a-z]+$/

const makeExtractors = (
  builtInFor: ExtractorFor,
  settings: KnowledgeSettings,
): Effect.Effect<ExtractorsService, never, Storage | Scope.Scope> =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const ontology = yield* ontologies
    const builtIn = yield* cached((examplesUri: StorageUri | undefined) => builtInFor(storage, examplesUri))
    const models = yield* makeModelExtractors(settings)
    return {
      ontology,
      choose: models.choose,
      check: models.check,
      equip: ({ ontologyUri, examplesUri, selection = {} }, account) =>
        Effect.all({
          ontology: ontology(ontologyUri),
          extractor: Effect.gen(function* () {
            const chosen = selection.extractor === undefined ? yield* models.choose(selection) : selection
            return isModel(chosen.extractor) ? yield* models.extractor(chosen, account ?? unkept) : yield* builtIn(examplesUri)
          }),
        }),
      estimator: ({ extractor = "built-in" }) => estimatorOf(extractor, models),
      spent: (account) =>
        Effect.map(models.spent(account), (usage) => (usage === undefined ? undefined : { ...usage, currency: models.currency })),
    }
  })

/** Of a run that belongs to no batch and has nothing stored. */
const unkept: Account = { id: "", spent: Effect.succeed(noUsage) }

const estimatorOf = (extractor: ExtractorName, { currency, price }: Pick<ModelExtractors, "currency" | "price">): Estimator => ({
  extractor,
  currency,
  estimate: (chunk, ontology) => (isModel(extractor) ? estimateChunk(chunk, ontology, price(extractor)) : noUsage),
})

/** One extractor that the program gives, for all batches. */
const makeFixed = (extractor: ExtractorService): Effect.Effect<ExtractorsService, never, Storage> =>
  Effect.gen(function* () {
    const ontology = yield* ontologies
    const only = (wanted: Wanted) =>
      wanted.extractor === undefined && wanted.manifest === undefined
        ? Effect.succeed({})
        : Effect.fail(
            new ExtractorRefused({
              extractor: wanted.extractor ?? wanted.manifest ?? "",
              problem: `this program uses ${extractor.name} for every batch`,
              nextStep: "name no extractor",
            }),
          )
    return {
      ontology,
      choose: only,
      check: () => Effect.void,
      equip: ({ ontologyUri }) => Effect.map(ontology(ontologyUri), (folded) => ({ ontology: folded, extractor })),
      estimator: () => ({ extractor: extractor.name, currency: "", estimate: () => noUsage }),
      spent: () => Effect.succeed(undefined),
    }
  })
