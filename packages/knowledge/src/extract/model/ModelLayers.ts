/** The two extractors that ask a model, as layers. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Extractor } from "../Extractor.ts"
import { type AnthropicClientOptions, makeAnthropicClient } from "./AnthropicClient.ts"
import { type ModelExtractor, type ModelExtractorOptions, makeModelExtractor } from "./ModelExtractor.ts"
import { makeOpenAiClient, type OpenAiClientOptions } from "./OpenAiClient.ts"

export const makeAnthropicExtractor = (options: AnthropicClientOptions & ModelExtractorOptions): Effect.Effect<ModelExtractor> =>
  Effect.flatMap(makeAnthropicClient(options), (client) => makeModelExtractor(client, options))

export const makeOpenAiExtractor = (options: OpenAiClientOptions & ModelExtractorOptions): Effect.Effect<ModelExtractor> =>
  Effect.flatMap(makeOpenAiClient(options), (client) => makeModelExtractor(client, options))

export const anthropicLayer = (options: AnthropicClientOptions & ModelExtractorOptions): Layer.Layer<Extractor> =>
  Layer.effect(Extractor, makeAnthropicExtractor(options))

export const openAiLayer = (options: OpenAiClientOptions & ModelExtractorOptions): Layer.Layer<Extractor> =>
  Layer.effect(Extractor, makeOpenAiExtractor(options))
