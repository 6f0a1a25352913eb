/** Anthropic's Messages API over HTTP, and the extractor on it. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type ExtractionFailed, Extractor } from "../Extractor.ts"
import type { Answered } from "./CallGuard.ts"
import { estimateTokens } from "./Cost.ts"
import { cutOff, declined, type ModelClient, type ModelRequest, makePost, notAnAnswer } from "./ModelClient.ts"
import { type ModelExtractor, type ModelExtractorOptions, makeModelExtractor } from "./ModelExtractor.ts"

export interface AnthropicClientOptions {
  /** Not needed for a gateway without authentication. */
  readonly apiKey?: Redacted.Redacted<string>
  readonly model: string
  /** The base URL of a gateway with the same API. Default: https://api.anthropic.com. */
  readonly baseUrl?: string
  /** The effort of a reasoning model. Other models reject requests that set it. */
  readonly effort?: "low" | "medium" | "high"
}

const apiVersion = "2026-10-21"

const ownUrl = "https://api.anthropic.com"

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** The fields that the client reads. Only `content` is required: gateways leave out much of the rest. */
const Reply = Schema.Struct({
  content: Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.optionalKey(Schema.String) })),
  stop_reason: optional(Schema.String),
  usage: optional(
    Schema.Struct({
      input_tokens: optional(Schema.Finite),
      output_tokens: optional(Schema.Finite),
      cache_creation_input_tokens: optional(Schema.Finite),
      cache_read_input_tokens: optional(Schema.Finite),
    }),
  ),
})
type Reply = typeof Reply.Type

export const makeAnthropicClient = (options: AnthropicClientOptions): Effect.Effect<ModelClient> =>
  Effect.gen(function* () {
    const { apiKey, model, effort } = options
    const extractor = `anthropic/${model}`
    const base = (options.baseUrl ?? ownUrl).replace(/\/+$/, "")
    const url = base.endsWith("/v1") ? `${base}/messages` : `${base}/v1/messages`
    const post = yield* makePost({
      extractor,
      url,
      headers: { "anthropic-version": apiVersion, ...(apiKey === undefined ? {} : { "x-api-key": Redacted.value(apiKey) }) },
      apiKey,
      keyName: "ANTHROPIC_API_KEY",
    })
    return {
      name: extractor,
      model,
      complete: (request) =>
        Effect.map(
          post({
            model,
            max_tokens: request.maxOutputTokens,
            system: request.system,
            messages: [{ role: "user", content: request.prompt }],
            output_config: { format: { type: "json_schema", schema: request.schema }, ...(effort === undefined ? {} : { effort }) },
          }),
          (raw) => {
            const reply = Schema.decodeUnknownResult(Reply)(raw)
            return Result.isSuccess(reply) ? answerOf(extractor, request, reply.success) : notAnAnswer(extractor, url, request, raw)
          },
        ),
    }
  })

const answerOf = (extractor: string, request: ModelRequest, { content, stop_reason, usage }: Reply): Answered<string> => {
  const text = content.map((block) => (block.type === "text" ? (block.text ?? "") : "")).join("")
  const read = (usage?.input_tokens ?? 0) + (usage?.cache_creation_input_tokens ?? 0) + (usage?.cache_read_input_tokens ?? 0)
  const tokens = {
    inputTokens: read > 0 ? read : estimateTokens(request.system + request.prompt),
    outputTokens: usage?.output_tokens ?? estimateTokens(text),
  }
  return { tokens, answer: judged(extractor, stop_reason ?? undefined, text) }
}

const judged = (extractor: string, stop: string | undefined, text: string): Result.Result<string, ExtractionFailed> => {
  if (stop === "refusal") return declined(extractor, text)
  if (stop === "max_tokens" || stop === "model_context_window_exceeded") return cutOff(extractor)
  return Result.succeed(text)
}

export const makeAnthropicExtractor = (options: AnthropicClientOptions & ModelExtractorOptions): Effect.Effect<ModelExtractor> =>
  Effect.flatMap(makeAnthropicClient(options), (client) => makeModelExtractor(client, options))

export const anthropicLayer = (options: AnthropicClientOptions & ModelExtractorOptions): Layer.Layer<Extractor> =>
  Layer.effect(Extractor, makeAnthropicExtractor(options))
