/** Anthropic's Messages API over HTTP. */

import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ExtractionFailed } from "../../Extractor.ts"
import type { Answered } from "../CallGuard.ts"
import { estimateTokens } from "../Cost.ts"
import { cutOff, declined, type ModelClient, type ModelRequest } from "../ModelClient.ts"
import { makePost, notAnAnswer, optional } from "./Post.ts"
import type { Provider, ProviderOptions } from "./Provider.ts"

export interface AnthropicClientOptions extends ProviderOptions {
  /** The effort of a reasoning model. Other models reject requests that set it. */
  readonly effort?: "low" | "medium" | "high"
}

const anthropicVersion = "2026-10-21"

const anthropicUrl = "https://api.anthropic.com"

/** The fields that the client reads. Only `content` is required: gateways leave out much of the rest. */
const Reply = Schema.Struct({
  content: Schema.Array(
    Schema.Struct({ type: Schema.String, text: Schema.optionalKey(Schema.String), input: Schema.optionalKey(Schema.Unknown) }),
  ),
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
    const base = (options.baseUrl ?? anthropicUrl).replace(/(?<!\/)\/+$/, "")
    const url = base.endsWith("/v1") ? `${base}/messages` : `${base}/v1/messages`
    const headers = { "anthropic-version": anthropicVersion, ...(apiKey === undefined ? {} : { "x-api-key": Redacted.value(apiKey) }) }
    const post = yield* makePost({ extractor, url, headers, apiKey, keyName: anthropic.keyName })
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
            return Result.isSuccess(reply) ? answered(extractor, request, reply.success) : notAnAnswer(extractor, url, request, raw)
          },
        ).pipe(Effect.catchTag("FormRefused", ({ failure }) => Effect.fail(failure))),
    }
  })

/** A gateway may answer with a call of a tool whose input is the answer. Thinking is not part of the answer. */
const textOf = ({ type, text, input }: Reply["content"][number]): string => {
  if (type === "text") return text ?? ""
  return type === "tool_use" && input !== undefined ? JSON.stringify(input) : ""
}

const answered = (extractor: string, request: ModelRequest, { content, stop_reason, usage }: Reply): Answered<string> => {
  const text = content.map(textOf).join("")
  const read = (usage?.input_tokens ?? 0) + (usage?.cache_creation_input_tokens ?? 0) + (usage?.cache_read_input_tokens ?? 0)
  const tokens = {
    inputTokens: read > 0 ? read : estimateTokens(request.system + request.prompt),
    outputTokens: usage?.output_tokens ?? estimateTokens(text),
  }
  return { tokens, answer: judge(extractor, stop_reason ?? undefined, text) }
}

const judge = (extractor: string, stop: string | undefined, text: string): Result.Result<string, ExtractionFailed> => {
  if (stop === "refusal") return declined(extractor, text)
  if (stop === "max_tokens" || stop === "model_context_window_exceeded") return cutOff(extractor)
  return Result.succeed(text)
}

export const anthropic: Provider = { keyName: "ANTHROPIC_API_KEY", make: makeAnthropicClient }
