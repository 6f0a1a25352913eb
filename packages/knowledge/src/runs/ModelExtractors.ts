/**
 * The models that the batches of a process use. A model has one rate limit and one circuit breaker however many batches ask it, a
 * batch one budget however many documents it has. Keys come from the environment when a model is first used, and stay in memory.
 */
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { LanguageModel } from "effect/unstable/ai/LanguageModel"
import type { Usage } from "../extract/Extractor.ts"
import { makeAnthropicClient } from "../extract/model/AnthropicClient.ts"
import { type Budget, makeBudget } from "../extract/model/Budget.ts"
import { defaultRetryPolicy, type ModelGate, makeModelGate } from "../extract/model/CallGuard.ts"
import { defaultPrices, type ModelPrice, type PriceTable, priceOf } from "../extract/model/Cost.ts"
import { languageModelClient } from "../extract/model/LanguageModelClient.ts"
import type { ModelClient } from "../extract/model/ModelClient.ts"
import { defaultLimits, type ModelExtractor, makeModelExtractor } from "../extract/model/ModelExtractor.ts"
import { makeOpenAiClient } from "../extract/model/OpenAiClient.ts"
import { budgetOf, type ExtractorName, type ExtractorSelection, type KnowledgeSettings } from "../KnowledgeSettings.ts"
import { describe } from "../storage/Describe.ts"
import type { RunStoreFailed } from "./RunFailed.ts"

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

/** Where a budget is kept: all runs of a batch share one. */
export interface Account {
  readonly id: string
  /** What is stored as spent. */
  readonly spent: Effect.Effect<Usage, RunStoreFailed>
}

/** What the caller and the manifest ask for. The first that names an extractor decides. */
export interface Wanted extends ExtractorSelection {
  readonly manifest?: ExtractorName
}

export interface ModelExtractors {
  /** The extractor to use, with its budget: what is wanted, then the configuration, then the built-in one. */
  readonly choose: (wanted: Wanted) => Effect.Effect<ExtractorSelection & { readonly extractor: ExtractorName }, ExtractorRefused>
  /** Fails where a batch with this extractor could not make a single call. */
  readonly check: (selection: ExtractorSelection) => Effect.Effect<void, ExtractorRefused>
  readonly extractor: (selection: ExtractorSelection, account: Account) => Effect.Effect<ModelExtractor, ExtractorRefused | RunStoreFailed>
  /** None for an unknown price. */
  readonly price: (extractor: ExtractorName) => ModelPrice | undefined
  readonly currency: string
  /** What an account has spent, as far as this process knows. None where it called no model. */
  readonly spent: (account: string) => Effect.Effect<Usage | undefined>
}

export const isModel = (extractor: ExtractorName | undefined): extractor is Exclude<ExtractorName, "built-in"> =>
  extractor !== undefined && extractor !== "built-in"

/** Budgets of batches that ended long ago are dropped. One that is needed again starts from what is stored. */
const mostBudgets = 256

export const makeModelExtractors = (settings: KnowledgeSettings): Effect.Effect<ModelExtractors, never, Scope.Scope> =>
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
    /** An empty variable is as good as none. */
    const inEnvironment = <A>(config: Config.Config<A>): Effect.Effect<A | undefined> =>
      Effect.map(Effect.option(Effect.provideService(config, ConfigProvider.ConfigProvider, environment)), Option.getOrUndefined)

    const clients = new Map<string, { readonly client: ModelClient; readonly gate: ModelGate }>()
    const budgets = new Map<string, { readonly limits: string; readonly budget: Budget }>()
    let ownModel: ModelClient | undefined

    const configured: ExtractorName | undefined =
      settings.extractor === undefined || typeof settings.extractor === "string" ? settings.extractor : "language-model"

    /** That of the configuration is an address of the provider that the configuration names. */
    const baseUrlOf = ({ extractor, baseUrl }: ExtractorSelection) =>
      Effect.gen(function* () {
        if (baseUrl !== undefined) return baseUrl
        const provider = providerOf(extractor)
        const isConfigured = configured === undefined || providerOf(configured) === provider
        if (settings.baseUrl !== undefined && isConfigured) return settings.baseUrl
        return provider === "openai" ? yield* inEnvironment(Config.NonEmptyString("OPENAI_BASE_URL")) : undefined
      })

    const refused = (extractor: string, problem: string, nextStep: string) => new ExtractorRefused({ extractor, problem, nextStep })

    /** None where a server of the user's own needs none. */
    const keyOf = (extractor: ExtractorName, baseUrl: string | undefined) =>
      Effect.gen(function* () {
        const name = providerOf(extractor) === "openai" ? "OPENAI_API_KEY" : "ANTHROPIC_API_KEY"
        const apiKey = yield* inEnvironment(Config.schema(Schema.Redacted(Schema.NonEmptyString), name))
        if (apiKey !== undefined) return { apiKey }
        if (baseUrl !== undefined) return {}
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
        const { extractor } = selection
        if (extractor === "language-model") return yield* languageModel
        const baseUrl = yield* baseUrlOf(selection)
        const options = {
          ...(yield* keyOf(extractor, baseUrl)),
          model: modelOf(extractor),
          ...(baseUrl === undefined ? {} : { baseUrl }),
        }
        return yield* providerOf(extractor) === "openai" ? makeOpenAiClient(options) : makeAnthropicClient(options)
      })

    const clientOf = (selection: ExtractorSelection) =>
      Effect.gen(function* () {
        const { extractor, baseUrl } = selection
        if (!isModel(extractor)) return yield* refused(extractor ?? "built-in", "it is no model", "name openai:MODEL or anthropic:MODEL")
        const key = `${extractor} ${baseUrl ?? ""}`
        const known = clients.get(key)
        if (known !== undefined) return known
        const made = { client: yield* newClient({ ...selection, extractor }), gate: yield* makeModelGate(limits) }
        clients.set(key, made)
        return made
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

    const price = (extractor: ExtractorName) =>
      extractor === "language-model"
        ? ownModel === undefined
          ? undefined
          : priceOf(prices, ownModel.model)
        : priceOf(prices, modelOf(extractor))

    const checkBudget = ({ extractor, budget }: ExtractorSelection) =>
      Effect.gen(function* () {
        if (!isModel(extractor) || budget === undefined) return
        const { cost, currency } = budgetOf(budget)
        if (cost === undefined) return
        if (currency !== undefined && currency !== prices.currency)
          return yield* refused(extractor, `its prices are in ${prices.currency}, not in ${currency}`, "set the budget in that currency")
        if (price(extractor) === undefined)
          return yield* refused(extractor, "its price is not known", "add it to knowledge.prices, or set a budget of tokens")
      })

    return {
      currency: prices.currency,
      price,
      choose: (wanted) =>
        Effect.gen(function* () {
          const extractor = wanted.extractor ?? wanted.manifest ?? configured ?? "built-in"
          const { baseUrl } = wanted
          const budget = wanted.budget ?? settings.budget
          if (!isModel(extractor)) {
            if (baseUrl !== undefined) return yield* refused(extractor, "it has no address", "leave the base URL out, or name a model")
            return { extractor }
          }
          return {
            extractor,
            ...(baseUrl === undefined ? {} : { baseUrl }),
            ...(budget === undefined ? {} : { budget }),
          }
        }),
      check: (selection) => (isModel(selection.extractor) ? Effect.andThen(clientOf(selection), checkBudget(selection)) : Effect.void),
      extractor: (selection, account) =>
        Effect.gen(function* () {
          const { client, gate } = yield* clientOf(selection)
          return yield* makeModelExtractor(client, {
            prices,
            gate,
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

/** The prices of the user come first. */
const pricesOf = (given: PriceTable | undefined): PriceTable =>
  given === undefined
    ? defaultPrices
    : { currency: given.currency, models: [...given.models, ...(given.currency === defaultPrices.currency ? defaultPrices.models : [])] }
