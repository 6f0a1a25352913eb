/**
 * Chooses and builds the extractor and the ontology of a run. Both are built once for many runs: an ontology takes long to index, and
 * the built-in extractor learns from the examples of its batch. All batches share one rate limit and one circuit breaker per model; all
 * documents of a batch share one budget.
 */

import { getText, Storage, type StorageError, type StorageService, type StorageUri } from "@detent/blobs/Storage"
import { SharedResults } from "@detent/durable/internal"
import { describe } from "@detent/machine/internal"
import type { LanguageModel } from "effect/ai/LanguageModel"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { Chunk } from "../document/Chunk.ts"
import * as BuiltIn from "../extract/builtin/BuiltIn.ts"
import { checkExamples, type Example, type ExamplesRefused, readExamples } from "../extract/builtin/Example.ts"
import * as PooledBuiltIn from "../extract/builtin/PooledBuiltIn.ts"
import { type ExtractionFailed, Extractor, type ExtractorService, noUsage, type Usage } from "../extract/Extractor.ts"
import type { Said } from "../extract/model/Answer.ts"
import { defaultRetryPolicy, type ModelGate, makeCallGuard, makeModelGate } from "../extract/model/CallGuard.ts"
import { type Budget, defaultPrices, type ModelPrice, makeBudget, type PriceTable, priceOf } from "../extract/model/Cost.ts"
import type { ModelClient, ModelRequest } from "../extract/model/ModelClient.ts"
import {
  asked,
  defaultLimits,
  defaultMaxOutputTokens,
  estimateChunk,
  languageModelClient,
  type ModelExtractor,
  makeModelExtractor,
} from "../extract/model/ModelExtractor.ts"
import type { Provider } from "../extract/model/provider/Provider.ts"
import { modelForms } from "../extract/model/provider/ProviderName.ts"
import { providers } from "../extract/model/provider/Providers.ts"
import { budgetOf, type ExtractorName, type ExtractorSelection, type KnowledgeSettings } from "../KnowledgeSettings.ts"
import { type CompiledMapping, compileMapping } from "../mapping/CompiledMapping.ts"
import { type FactMappingRefused, readFactMapping } from "../mapping/FactMapping.ts"
import type { OntologyError } from "../ontology/Ontology.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { loadOnWorker } from "../ontology/OntologyLoading.ts"
import { WorkerPool, type WorkerPoolService } from "../threads/WorkerPool.ts"
import type { RunStoreFailed } from "./RunTables.ts"

/** The extraction settings of a run. */
export interface ExtractionSetting {
  readonly ontologyUri: StorageUri
  /** One example per line: the built-in extractor learns from them, and a model is shown those that are near to its text. */
  readonly examplesUri?: StorageUri
  /** The facts of tables and objects. */
  readonly mappingUri?: StorageUri
  /** Default: the extractor of this process. */
  readonly selection?: ExtractorSelection
}

export interface Equipment {
  readonly ontology: OntologyIndex
  readonly extractor: ExtractorService
  readonly mapping?: CompiledMapping
}

export type EquipmentError = FactMappingRefused | StorageError | OntologyError | ExamplesRefused | ExtractorRefused | RunStoreFailed

/** The estimated usage of an extraction. */
export interface Estimator {
  readonly extractor: string
  readonly currency: string
  readonly estimate: (chunk: Chunk, ontology: OntologyIndex) => Usage
}

export interface ExtractorsService {
  /** Returns the ontology and the extractor of a run. A model charges its usage to the account. */
  readonly equip: (setting: ExtractionSetting, account?: Account) => Effect.Effect<Equipment, EquipmentError>
  readonly ontology: (uri: StorageUri) => Effect.Effect<OntologyIndex, EquipmentError>
  /** The extractor for a new batch, in the form that the batch stores: the requested one, the configuration's, or the built-in one. */
  readonly choose: (wanted: Wanted) => Effect.Effect<ExtractorSelection, ExtractorRefused>
  /** Fails when a batch with this extractor could not make a single call. */
  readonly check: (selection: ExtractorSelection) => Effect.Effect<void, ExtractorRefused>
  readonly estimator: (selection: ExtractorSelection) => Estimator
  /** The model of a selection, for questions. Undefined for an extractor that is no model. */
  readonly asking: (wanted: Wanted) => Effect.Effect<AskingModel | undefined, ExtractorRefused>
  /** The model usage charged to an account, as far as this process knows. */
  readonly spent: (account: string) => Effect.Effect<(Usage & { readonly currency: string }) | undefined>
}

/** A model that answers questions, within the limits that it shares with extraction. */
export interface AskingModel {
  readonly name: string
  readonly currency: string
  readonly ask: <A>(
    question: Omit<ModelRequest, "maxOutputTokens">,
    read: (extractor: string, text: string) => Result.Result<Said<A>, ExtractionFailed>,
  ) => Effect.Effect<{ readonly answer: Said<A>; readonly usage: Usage }, ExtractionFailed>
}

export class Extractors extends Context.Service<Extractors, ExtractorsService>()("@detent/knowledge/Extractors") {
  /** The built-in extractor, which learns from the examples of each setting, on the worker pool in the context or on its own pool. */
  static readonly layerBuiltIn: Layer.Layer<Extractors, never, Storage> = Layer.suspend(() => Extractors.layerWith({}))

  /** The extractor that a batch or the settings name. Default: the built-in one. */
  static readonly layerWith = (settings: KnowledgeSettings): Layer.Layer<Extractors, never, Storage> =>
    Layer.effect(
      Extractors,
      Effect.flatMap(WorkerPool, (pool) => makeExtractors(taughtOn(pool), settings)),
    ).pipe(Layer.provide(WorkerPool.layerInContext))

  /** Like `layerBuiltIn`, always on the worker pool in the context. */
  static readonly layerPooled: Layer.Layer<Extractors, never, Storage | WorkerPool> = Layer.effect(
    Extractors,
    Effect.flatMap(WorkerPool, (pool) => makeExtractors(taughtOn(pool), {})),
  )

  /** Like `layerBuiltIn`, but blocks the calling thread: for a document or two. */
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

/** The caller's thread reads the examples and learns from them. */
const taughtHere: ExtractorFor = (storage, examplesUri) =>
  Effect.gen(function* () {
    if (examplesUri === undefined) return BuiltIn.make()
    const text = yield* getText(storage, examplesUri)
    return BuiltIn.make({ examples: yield* Effect.fromResult(readExamples({ uri: examplesUri, text })) })
  })

/** Few batches run concurrently; an evicted entry is built again. */
const capacity = 8

/** Caches values by key. */
const cached = <Key extends string | undefined, A, E>(lookup: (key: Key) => Effect.Effect<A, E>) =>
  Effect.map(Effect.scope, (scope) => {
    const results = new SharedResults<A, E>(scope, capacity)
    // No address is empty.
    return (key: Key) => results.get(key ?? "", lookup(key))
  })

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
  // A user's file may change at any time, so it is cached by its content. A file that is stored under its hash never changes.
  return (uri: StorageUri) =>
    storedUnderHash.test(uri) ? byAddress(uri) : Effect.flatMap(getText(storage, uri), (text) => byContent(`${uri}\n${text}`))
})

/** A mapping with the terms of an ontology. It is small, and compiled for each document. */
const mappingOf = (storage: StorageService, uri: StorageUri | undefined, ontology: OntologyIndex) =>
  Effect.gen(function* () {
    if (uri === undefined) return {}
    const mapping = yield* readFactMapping(uri, yield* getText(storage, uri))
    return { mapping: yield* Effect.fromResult(compileMapping(uri, mapping, ontology)) }
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
    const examplesAt = yield* cached((uri: StorageUri) =>
      Effect.flatMap(getText(storage, uri), (text) => Effect.fromResult(readExamples({ uri, text: beginningOf(text) }))),
    )
    return {
      ontology,
      choose: models.choose,
      check: models.check,
      asking: models.asking,
      equip: ({ ontologyUri, examplesUri, mappingUri, selection = {} }, account) =>
        Effect.gen(function* () {
          const index = yield* ontology(ontologyUri)
          const chosen = selection.extractor === undefined ? yield* models.choose(selection) : selection
          const extractor = isModel(chosen.extractor)
            ? yield* models.extractor(chosen, account ?? unkept, examplesUri === undefined ? [] : yield* examplesAt(examplesUri))
            : yield* builtIn(examplesUri)
          return { ontology: index, extractor, ...(yield* mappingOf(storage, mappingUri, index)) }
        }),
      estimator: ({ extractor = "built-in", ...selection }) => estimatorOf({ ...selection, extractor }, models),
      spent: (account) =>
        Effect.map(models.spent(account), (usage) => (usage === undefined ? undefined : { ...usage, currency: models.currency })),
    }
  })

/** How much of the examples a model can be shown, in UTF-16 code units. */
const longestExamples = 1_000_000

/** Whole lines from the beginning of a text. */
const beginningOf = (text: string): string =>
  text.length <= longestExamples ? text : text.slice(0, text.lastIndexOf("\n", longestExamples) + 1)

/** The account of a run that belongs to no batch and has nothing stored. */
const unkept: Account = { id: "", spent: Effect.succeed(noUsage) }

const estimatorOf = (
  selection: ExtractorSelection & { readonly extractor: ExtractorName },
  { currency, price }: Pick<ModelExtractors, "currency" | "price">,
): Estimator => ({
  extractor: selection.extractor,
  currency,
  estimate: (chunk, ontology) => (isModel(selection.extractor) ? estimateChunk(chunk, ontology, price(selection)) : noUsage),
})

/** Uses the program's own extractor for all batches. */
const makeFixed = (extractor: ExtractorService): Effect.Effect<ExtractorsService, never, Storage | Scope.Scope> =>
  Effect.gen(function* () {
    const storage = yield* Storage
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
      asking: () => Effect.undefined,
      equip: ({ ontologyUri, mappingUri }) =>
        Effect.gen(function* () {
          const index = yield* ontology(ontologyUri)
          return { ontology: index, extractor, ...(yield* mappingOf(storage, mappingUri, index)) }
        }),
      estimator: () => ({ extractor: extractor.name, currency: "", estimate: () => noUsage }),
      spent: () => Effect.succeed(undefined),
    }
  })

// The models of a process. Their API keys are read from the environment when a model is first used, and stay in memory.

/** The extractor cannot be used here. */
export class ExtractorRefused extends Schema.TaggedError<ExtractorRefused>()("ExtractorRefused", {
  extractor: Schema.String,
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    return `${this.extractor}: ${this.problem}; ${this.nextStep}`
  }
}

/** The owner of a budget: all runs of a batch share one account. */
export interface Account {
  readonly id: string
  /** The stored usage. */
  readonly spent: Effect.Effect<Usage, RunStoreFailed>
}

/** The extractors that the caller and the manifest name. The caller's takes precedence. */
export interface Wanted extends ExtractorSelection {
  readonly manifest?: ExtractorName
}

interface ModelExtractors {
  /** The extractor to use, with its budget: the requested one, then the configuration's, then the built-in one. */
  readonly choose: (wanted: Wanted) => Effect.Effect<ExtractorSelection & { readonly extractor: ExtractorName }, ExtractorRefused>
  /** Fails when a batch with this extractor could not make a single call. */
  readonly check: (selection: ExtractorSelection) => Effect.Effect<void, ExtractorRefused>
  readonly asking: ExtractorsService["asking"]
  readonly extractor: (
    selection: ExtractorSelection,
    account: Account,
    examples?: ReadonlyArray<Example>,
  ) => Effect.Effect<ModelExtractor, ExtractorRefused | RunStoreFailed>
  /** Undefined for an unknown price. */
  readonly price: (selection: ExtractorSelection) => ModelPrice | undefined
  readonly currency: string
  /** The usage charged to an account, as far as this process knows. Undefined when it called no model. */
  readonly spent: (account: string) => Effect.Effect<Usage | undefined>
}

const isModel = (extractor: ExtractorName | undefined): extractor is Exclude<ExtractorName, "built-in"> =>
  extractor !== undefined && extractor !== "built-in"

/** Beyond this number the oldest budget is evicted. When it is needed again, it starts from the stored usage. */
const mostBudgets = 256

const makeModelExtractors = (settings: KnowledgeSettings): Effect.Effect<ModelExtractors, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const environment = yield* ConfigProvider.ConfigProvider
    const one = yield* Semaphore.make(1)
    const prices = pricesOf(settings.prices)
    const { requestsPerMinute, tokensPerMinute, concurrency, timeoutMillis, attempts, maxOutputTokens } = settings.limits ?? {}
    const limits = {
      ...defaultLimits,
      ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
      ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
      ...(concurrency === undefined ? {} : { concurrency }),
    }
    /** An empty variable counts as not set. */
    const inEnvironment = <A>(config: Config.Config<A>): Effect.Effect<A | undefined> =>
      Effect.map(Effect.option(Effect.provideService(config, ConfigProvider.ConfigProvider, environment)), Option.getOrUndefined)

    const known: ReadonlyMap<string, Provider> = new Map(Object.entries({ ...settings.providers, ...providers }))
    const clients = new Map<string, { readonly client: ModelClient; readonly gate: ModelGate }>()
    /** One for each model of each address, whatever the effort. */
    const gates = new Map<string, ModelGate>()
    const budgets = new Map<string, { readonly limits: string; readonly budget: Budget }>()
    let ownModel: ModelClient | undefined

    const configured: ExtractorName | undefined =
      settings.extractor === undefined || typeof settings.extractor === "string" ? settings.extractor : "language-model"

    /** The configured base URL applies only to the provider that the configuration names. */
    const baseUrlOf = ({ extractor, baseUrl }: ExtractorSelection) =>
      Effect.gen(function* () {
        if (baseUrl !== undefined) return baseUrl
        const provider = providerOf(extractor)
        const isConfigured = configured === undefined || providerOf(configured) === provider
        if (settings.baseUrl !== undefined && isConfigured) return settings.baseUrl
        const variable = provider === undefined ? undefined : known.get(provider)?.baseUrlName
        return variable === undefined ? undefined : yield* inEnvironment(Config.NonEmptyString(variable))
      })

    const refused = (extractor: string, problem: string, nextStep: string) => new ExtractorRefused({ extractor, problem, nextStep })

    const providerFor = (extractor: ExtractorName) => {
      const name = providerOf(extractor) ?? ""
      const provider = known.get(name)
      return provider === undefined
        ? Effect.fail(refused(extractor, `there is no provider ${name}`, `name built-in, or a model of ${[...known.keys()].join(", ")}`))
        : Effect.succeed(provider)
    }

    /** The API key. A server of the user's own may need none. */
    const keyOf = (extractor: ExtractorName, baseUrl: string | undefined, { keyName: name, needsKey }: Provider) =>
      Effect.gen(function* () {
        const apiKey = yield* inEnvironment(Config.schema(Schema.Redacted(Schema.NonEmptyString), name))
        if (apiKey !== undefined) return { apiKey }
        if (needsKey === "nowhere" || (needsKey === "at its own address" && baseUrl !== undefined)) return {}
        return yield* refused(extractor, "it needs a key", `set ${name}`)
      })

    const languageModel = Effect.gen(function* () {
      if (ownModel !== undefined) return ownModel
      const layer = settings.extractor
      if (layer === undefined || typeof layer === "string")
        return yield* refused("language-model", "the configuration gives no language model", "set knowledge.extractor to its layer")
      const context = yield* Effect.mapError(Layer.buildWithScope(layer as Layer.Layer<LanguageModel, unknown>, scope), (error) =>
        refused("language-model", `its layer cannot be built: ${describe(error)}`, "correct knowledge.extractor"),
      )
      ownModel = languageModelClient(context)
      return ownModel
    })

    const newClient = (selection: ExtractorSelection & { readonly extractor: ExtractorName }) =>
      Effect.gen(function* () {
        const { extractor, effort } = selection
        if (extractor === "language-model") return yield* languageModel
        const provider = yield* providerFor(extractor)
        const baseUrl = yield* baseUrlOf(selection)
        if (provider.needsBaseUrl === true && baseUrl === undefined)
          return yield* refused(extractor, "it needs an address", `set ${provider.baseUrlName ?? "knowledge.baseUrl"}`)
        const options = {
          ...(yield* keyOf(extractor, baseUrl, provider)),
          model: modelOf(extractor),
          ...(baseUrl === undefined ? {} : { baseUrl }),
          ...(effort === undefined ? {} : { effort }),
        }
        return yield* provider.make(options)
      })

    const clientOf = (selection: ExtractorSelection) =>
      Effect.gen(function* () {
        const { extractor, baseUrl, effort } = selection
        if (!isModel(extractor)) return yield* refused(extractor ?? "built-in", "it is not a model", `name ${modelForms}`)
        const key = `${extractor} ${baseUrl ?? ""}`
        const own = clients.get(`${key} ${effort ?? ""}`)
        if (own !== undefined) return own
        const client = yield* newClient({ ...selection, extractor })
        const gate = gates.get(key) ?? (yield* makeModelGate(limits))
        gates.set(key, gate)
        clients.set(`${key} ${effort ?? ""}`, { client, gate })
        return { client, gate }
      }).pipe(one.withPermit)

    const budgetFor = ({ budget }: ExtractorSelection, { id, spent }: Account) =>
      Effect.gen(function* () {
        const text = JSON.stringify(budget ?? {})
        const known = budgets.get(id)
        if (known?.limits === text) return known.budget
        const { currency = prices.currency, ...given } = budget === undefined ? {} : budgetOf(budget)
        const made = yield* makeBudget({ ...given, currency }, yield* spent)
        budgets.delete(id)
        budgets.set(id, { limits: text, budget: made })
        const [oldest] = budgets.keys()
        if (budgets.size > mostBudgets && oldest !== undefined) budgets.delete(oldest)
        return made
      }).pipe(one.withPermit)

    const price = ({ extractor, price: own }: ExtractorSelection) => {
      if (extractor === undefined) return undefined
      const model = extractor === "language-model" ? ownModel?.model : modelOf(extractor)
      if (own !== undefined) return { ...own, model: model ?? "", asOf: "" }
      return model === undefined ? undefined : priceOf(prices, model)
    }

    const checkBudget = (selection: ExtractorSelection) =>
      Effect.gen(function* () {
        const { extractor, budget } = selection
        if (!isModel(extractor) || budget === undefined) return
        const { cost, currency } = budgetOf(budget)
        if (cost === undefined) return
        if (currency !== undefined && currency !== prices.currency)
          return yield* refused(extractor, `its prices are in ${prices.currency}, not in ${currency}`, "set the budget in that currency")
        if (price(selection) === undefined)
          return yield* refused(
            extractor,
            "its price is not known",
            "give its price, add it to knowledge.prices, or set a budget of tokens",
          )
      })

    const choose: ModelExtractors["choose"] = (wanted) =>
      Effect.gen(function* () {
        const extractor = wanted.extractor ?? wanted.manifest ?? configured ?? "built-in"
        const { baseUrl } = wanted
        const budget = wanted.budget ?? settings.budget
        const own = {
          price: wanted.price ?? (wanted.extractor === undefined || extractor === configured ? settings.price : undefined),
          effort: wanted.effort ?? settings.effort,
          requestsPerMinute: wanted.requestsPerMinute ?? settings.requestsPerMinute,
          instructions: wanted.instructions ?? settings.instructions,
          glossary: wanted.glossary ?? settings.glossary,
        }
        if (!isModel(extractor)) {
          if (baseUrl !== undefined) return yield* refused(extractor, "it has no address", "leave the base URL out, or name a model")
          return { extractor }
        }
        return {
          extractor,
          ...(baseUrl === undefined ? {} : { baseUrl }),
          ...(budget === undefined ? {} : { budget }),
          ...(own.price === undefined ? {} : { price: own.price }),
          ...(own.effort === undefined ? {} : { effort: own.effort }),
          ...(own.requestsPerMinute === undefined ? {} : { requestsPerMinute: own.requestsPerMinute }),
          ...(own.instructions === undefined ? {} : { instructions: own.instructions }),
          ...(own.glossary === undefined ? {} : { glossary: own.glossary }),
        }
      })

    return {
      currency: prices.currency,
      price,
      choose,
      asking: (wanted) =>
        Effect.gen(function* () {
          const selection = yield* choose(wanted)
          if (!isModel(selection.extractor)) return undefined
          yield* checkBudget(selection)
          const { client, gate } = yield* clientOf(selection)
          const { currency = prices.currency, ...given } = selection.budget === undefined ? {} : budgetOf(selection.budget)
          const guard = yield* makeCallGuard({
            extractor: client.name,
            price: price(selection),
            currency: prices.currency,
            budget: yield* makeBudget({ ...given, currency }),
            limits,
            gate,
            ...(selection.requestsPerMinute === undefined ? {} : { requestsPerMinute: selection.requestsPerMinute }),
            ...(timeoutMillis === undefined ? {} : { timeout: timeoutMillis }),
            ...(attempts === undefined ? {} : { retry: { ...defaultRetryPolicy, attempts } }),
          })
          const most = maxOutputTokens ?? defaultMaxOutputTokens
          return {
            name: client.name,
            currency: prices.currency,
            ask: (question, read) => asked(guard, client, { ...question, maxOutputTokens: most }, read),
          }
        }),
      check: (selection) => (isModel(selection.extractor) ? Effect.andThen(clientOf(selection), checkBudget(selection)) : Effect.void),
      extractor: (selection, account, examples = []) =>
        Effect.gen(function* () {
          const { client, gate } = yield* clientOf(selection)
          const own = price(selection)
          const { requestsPerMinute: rate, instructions, glossary } = selection
          return yield* makeModelExtractor(client, {
            prices: own === undefined ? prices : { ...prices, models: [{ ...own, model: client.model }, ...prices.models] },
            gate,
            ...(rate === undefined ? {} : { requestsPerMinute: rate }),
            guidance: {
              examples,
              ...(instructions === undefined ? {} : { instructions }),
              ...(glossary === undefined ? {} : { glossary }),
            },
            budget: yield* budgetFor(selection, account),
            ...(timeoutMillis === undefined ? {} : { timeout: timeoutMillis }),
            ...(attempts === undefined ? {} : { retry: { ...defaultRetryPolicy, attempts } }),
            ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
          })
        }),
      spent: (account) => Effect.suspend(() => budgets.get(account)?.budget.spent ?? Effect.succeed(undefined)),
    }
  })

const providerOf = (extractor: ExtractorName | undefined): string | undefined => extractor?.split(":")[0]

const modelOf = (extractor: ExtractorName): string => extractor.slice(extractor.indexOf(":") + 1)

/** The user's prices take precedence over the default ones. */
const pricesOf = (given: PriceTable | undefined): PriceTable =>
  given === undefined
    ? defaultPrices
    : { currency: given.currency, models: [...given.models, ...(given.currency === defaultPrices.currency ? defaultPrices.models : [])] }
