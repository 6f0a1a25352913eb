/** Anthropic's Messages API through the official client, whose own retries are off: ours decide. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ExtractionFailed } from "../ExtractionFailed.ts"
import { cutOff, notAnAnswer, refused } from "./AnswerFault.ts"
import type { Answered } from "./CallGuard.ts"
import { callProvider } from "./HttpFault.ts"
import type { ModelClient, ModelRequest } from "./ModelClient.ts"
import { estimateTokens } from "./UsageCount.ts"

export interface AnthropicClientOptions {
  readonly apiKey: Redacted.Redacted<string>
  readonly model: string
  /** For a gateway that speaks the same language. */
  readonly baseUrl?: string
  /** How much a model that thinks before it answers should think; models that do not know of this refuse it. */
  readonly effort?: "low" | "medium" | "high"
}

/** What is needed of an answer; gateways leave out much of the rest. */
const Reply = Schema.Struct({
  content: Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.optionalKey(Schema.String) })),
  stop_reason: Schema.optionalKey(Schema.NullOr(Schema.String)),
  usage: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        input_tokens: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
        output_tokens: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
        cache_creation_input_tokens: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
        cache_read_input_tokens: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
      }),
    ),
  ),
})
type Reply = typeof Reply.Type

export const makeAnthropicClient = (options: AnthropicClientOptions): Effect.Effect<ModelClient> =>
  Effect.gen(function* () {
    // Loaded when it is needed: it takes longer than the rest of the package.
    const { default: Anthropic } = yield* Effect.promise(() => import("@anthropic-ai/sdk"))
    const client = new Anthropic({
      apiKey: Redacted.value(options.apiKey),
      baseURL: options.baseUrl ?? "https://api.anthropic.com",
      maxRetries: 0,
      // The caller's time-out comes first; this one only has to be longer.
      timeout: 3_600_000,
      logLevel: "off",
    })
    const extractor = `anthropic/${options.model}`

    const ask = (request: ModelRequest) =>
      callProvider(
        { extractor, apiKey: options.apiKey },
        (signal): Promise<unknown> =>
          client.messages.create(
            {
              model: options.model,
              max_tokens: request.maxOutputTokens,
              system: request.system,
              messages: [{ role: "user", content: request.prompt }],
              output_config: {
                format: { type: "json_schema", schema: request.schema },
                ...(options.effort === undefined ? {} : { effort: options.effort }),
              },
            },
            { signal },
          ),
      )

    return {
      name: extractor,
      model: options.model,
      complete: (request) =>
        Effect.map(ask(request), (raw) => {
          const reply = Schema.decodeUnknownResult(Reply)(raw)
          return Result.isSuccess(reply) ? answerOf(extractor, request, reply.success) : notAnAnswer(extractor, request, raw)
        }),
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
  if (stop === "refusal") return Result.fail(refused(extractor, text))
  if (stop === "max_tokens" || stop === "model_context_window_exceeded") return Result.fail(cutOff(extractor))
  return Result.succeed(text)
}
