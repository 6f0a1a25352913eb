/**
 * Anthropic's Messages API over HTTP. The instructions of requests are marked for the provider's cache: those for an ontology are the
 * same for every text, and reading them from the cache costs a tenth.
 */

import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ExtractionFailed } from "../../Extractor.ts"
import type { Answered } from "../CallGuard.ts"
import { estimateTokens } from "../Cost.ts"
import { cutOff, declined, type ModelClient, type ModelRequest } from "../ModelClient.ts"
import { inFoundDialect, withSchema } from "./Dialect.ts"
import { makePost, notAnAnswer, optional } from "./Post.ts"
import type { Provider, ProviderOptions, ReasoningEffort } from "./Provider.ts"

const anthropicVersion = "2026-10-21"

const ownUrl = "https://api.anthropic.com"

const keyName = "ANTHROPIC_API_KEY"

/** How a model gives answers of a form: newer ones follow a schema, older ones and gateways call a tool, or read the schema. */
interface Dialect {
  readonly format: "json_schema" | "tool" | "none"
  readonly isStream: boolean
}

/** In the order in which they are tried. */
const dialects: ReadonlyArray<Dialect> = (["json_schema", "tool", "none"] as const).flatMap((format) => [
  { format, isStream: true },
  { format, isStream: false },
])

export const makeAnthropicClient = (options: ProviderOptions): Effect.Effect<ModelClient> =>
  Effect.gen(function* () {
    const { apiKey, model, effort } = options
    const extractor = `anthropic/${model}`
    const base = (options.baseUrl ?? ownUrl).replace(/(?<!\/)\/+$/, "")
    const url = base.endsWith("/v1") ? `${base}/messages` : `${base}/v1/messages`
    const headers = { "anthropic-version": anthropicVersion, ...(apiKey === undefined ? {} : { "x-api-key": Redacted.value(apiKey) }) }
    const post = yield* makePost({ extractor, url, headers, apiKey, keyName, joined: replyOfEvents })
    const send = yield* inFoundDialect(extractor, dialects, post)
    return {
      name: extractor,
      model,
      complete: (request) =>
        Effect.map(
          send((dialect) => bodyOf(model, request, dialect, effort)),
          (raw) => {
            const reply = Schema.decodeUnknownResult(Reply)(raw)
            return Result.isSuccess(reply) ? answered(extractor, request, reply.success) : notAnAnswer(extractor, url, request, raw)
          },
        ),
    }
  })

const bodyOf = (model: string, request: ModelRequest, { format, isStream }: Dialect, effort: ReasoningEffort | undefined) => {
  const { name, schema, system, prompt } = request
  const output = {
    ...(format === "json_schema" ? { format: { type: "json_schema", schema } } : {}),
    ...(effort === undefined || effort === "none" ? {} : { effort: effort === "minimal" ? "low" : effort }),
  }
  return {
    model,
    max_tokens: request.maxOutputTokens,
    system: [{ type: "text", text: format === "none" ? withSchema(request) : system, cache_control: { type: "ephemeral" } }],
    messages: [{ role: "user", content: prompt }],
    ...(Object.keys(output).length === 0 ? {} : { output_config: output }),
    ...(effort === "none" ? { thinking: { type: "disabled" } } : {}),
    ...(format === "tool"
      ? { tools: [{ name, description: `gives the ${name}`, input_schema: schema }], tool_choice: { type: "tool", name } }
      : {}),
    ...(isStream ? { stream: true } : {}),
  }
}

// Reading the reply. Only `content` is required: gateways leave out much of the rest.

const Usage = Schema.Struct({
  input_tokens: optional(Schema.Finite),
  output_tokens: optional(Schema.Finite),
  cache_creation_input_tokens: optional(Schema.Finite),
  cache_read_input_tokens: optional(Schema.Finite),
})

const Block = Schema.Struct({ type: Schema.String, text: Schema.optionalKey(Schema.String), input: Schema.optionalKey(Schema.Unknown) })

const Reply = Schema.Struct({ content: Schema.Array(Block), stop_reason: optional(Schema.String), usage: optional(Usage) })
type Reply = typeof Reply.Type

/** An event of a stream, with the fields of all kinds of events. */
const Event = Schema.Struct({
  type: Schema.String,
  index: Schema.optionalKey(Schema.Int),
  message: Schema.optionalKey(Schema.Struct({ usage: optional(Usage) })),
  content_block: Schema.optionalKey(Schema.Struct({ type: Schema.String, text: optional(Schema.String) })),
  delta: Schema.optionalKey(
    Schema.Struct({
      type: optional(Schema.String),
      text: optional(Schema.String),
      partial_json: optional(Schema.String),
      stop_reason: optional(Schema.String),
    }),
  ),
  usage: optional(Usage),
})

/** The whole reply of a stream. Undefined for one that ends before the model has ended its answer. */
const replyOfEvents = (events: ReadonlyArray<unknown>): unknown => {
  const blocks = new Map<number, { readonly type: string; text: string }>()
  let stop: string | undefined
  let isEnded = false
  let usage: Record<string, number | null | undefined> = {}
  for (const event of events) {
    const decoded = Schema.decodeUnknownResult(Event)(event)
    if (Result.isFailure(decoded)) continue
    const { index = 0, message, content_block: block, delta, usage: counted } = decoded.success
    // The first event has counted only the beginning of the answer.
    const { output_tokens: _, ...read } = message?.usage ?? {}
    usage = { ...usage, ...read, ...counted }
    isEnded ||= decoded.success.type === "message_stop"
    if (block !== undefined) blocks.set(index, { type: block.type, text: block.text ?? "" })
    stop = delta?.stop_reason ?? stop
    const open = blocks.get(index)
    if (open !== undefined) open.text += delta?.text ?? delta?.partial_json ?? ""
  }
  // Some gateways leave out why the model stopped.
  if (stop === undefined && !isEnded) return undefined
  const content = [...blocks.values()].map(({ type, text }) => ({ type: type === "tool_use" ? "text" : type, text }))
  return { content, stop_reason: stop ?? null, usage }
}

/** A model that calls a tool gives its answer as the input of the tool. Thinking is not part of the answer. */
const textOf = ({ type, text, input }: Reply["content"][number]): string => {
  if (type === "text") return text ?? ""
  return type === "tool_use" && input !== undefined ? JSON.stringify(input) : ""
}

const answered = (extractor: string, request: ModelRequest, { content, stop_reason, usage }: Reply): Answered<string> => {
  const text = content.map(textOf).join("")
  const [cachedTokens, cacheWriteTokens] = [usage?.cache_read_input_tokens ?? 0, usage?.cache_creation_input_tokens ?? 0]
  const read = (usage?.input_tokens ?? 0) + cacheWriteTokens + cachedTokens
  const tokens = {
    inputTokens: read > 0 ? read : estimateTokens(request.system + request.prompt),
    outputTokens: usage?.output_tokens ?? estimateTokens(text),
    cachedTokens,
    cacheWriteTokens,
  }
  return { tokens, answer: judge(extractor, stop_reason ?? undefined, text) }
}

const judge = (extractor: string, stop: string | undefined, text: string): Result.Result<string, ExtractionFailed> => {
  if (stop === "refusal") return declined(extractor, text)
  if (stop === "max_tokens" || stop === "model_context_window_exceeded") return cutOff(extractor)
  return Result.succeed(text)
}

export const anthropic: Provider = { keyName, needsKey: "at its own address", make: makeAnthropicClient }
