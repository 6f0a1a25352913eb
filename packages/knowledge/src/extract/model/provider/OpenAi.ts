/** OpenAI's Chat Completions and Responses APIs over HTTP. All compatible servers offer Chat Completions, so it is the default. */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ModelClient, ModelRequest } from "../ModelClient.ts"
import { answered, type ChatHost, endpointOf, makeChatClient, type OpenAiReply } from "./ChatCompletions.ts"
import { inFoundDialect } from "./Dialect.ts"
import { makePost, notAnAnswer, optional } from "./Post.ts"
import type { Provider, ProviderOptions, ReasoningEffort } from "./Provider.ts"

export interface OpenAiClientOptions extends ProviderOptions {
  readonly api?: "chat" | "responses"
}

const ownUrl = "https://api.openai.com/v1"

const host: ChatHost = { name: "openai", keyName: "OPENAI_API_KEY", urlOf: (baseUrl = ownUrl) => baseUrl }

const makeChat = makeChatClient(host)

export const makeOpenAiClient = ({ api, ...options }: OpenAiClientOptions): Effect.Effect<ModelClient> =>
  api === "responses" ? makeResponsesClient(options) : makeChat(options)

const makeResponsesClient = (options: ProviderOptions): Effect.Effect<ModelClient> =>
  Effect.gen(function* () {
    const { model, effort } = options
    const extractor = `openai/${model}`
    const url = `${host.urlOf(options.baseUrl?.replace(/(?<!\/)\/+$/, ""))}/responses`
    const post = yield* makePost({ ...endpointOf(host, options), extractor, url, joined: responseOfEvents })
    const send = yield* inFoundDialect(extractor, [{ isStream: true }, { isStream: false }], post)
    return {
      name: extractor,
      model,
      complete: (request) =>
        Effect.map(
          send(({ isStream }) => ({ ...responsesBody(model, request, effort), ...(isStream ? { stream: true } : {}) })),
          (raw) => {
            const reply = readResponse(raw)
            return reply === undefined ? notAnAnswer(extractor, url, request, raw) : answered(extractor, request, reply)
          },
        ),
    }
  })

const responsesBody = (model: string, request: ModelRequest, effort: ReasoningEffort | undefined) => ({
  model,
  instructions: request.system,
  input: request.prompt,
  max_output_tokens: request.maxOutputTokens,
  store: false,
  ...(effort === undefined ? {} : { reasoning: { effort } }),
  text: { format: { type: "json_schema", name: request.name, strict: true, schema: request.schema } },
})

const Response = Schema.Struct({
  output: Schema.Array(
    Schema.Struct({
      type: Schema.String,
      content: optional(
        Schema.Array(Schema.Struct({ type: Schema.String, text: optional(Schema.String), refusal: optional(Schema.String) })),
      ),
    }),
  ),
  incomplete_details: optional(Schema.Struct({ reason: optional(Schema.String) })),
  usage: optional(
    Schema.Struct({
      input_tokens: optional(Schema.Finite),
      output_tokens: optional(Schema.Finite),
      input_tokens_details: optional(Schema.Struct({ cached_tokens: optional(Schema.Finite) })),
    }),
  ),
})

/** The last event of a stream has the whole response. */
const LastEvent = Schema.Struct({
  type: Schema.Literals(["response.completed", "response.incomplete", "response.failed"]),
  response: Schema.Unknown,
})

const responseOfEvents = (events: ReadonlyArray<unknown>): unknown => {
  const last = Schema.decodeUnknownResult(LastEvent)(events.at(-1))
  return Result.isSuccess(last) ? last.success.response : undefined
}

const readResponse = (raw: unknown): OpenAiReply | undefined => {
  const decoded = Schema.decodeUnknownResult(Response)(raw)
  if (Result.isFailure(decoded)) return undefined
  const { output, usage, incomplete_details } = decoded.success
  const parts = output.flatMap((item) => (item.type === "message" ? (item.content ?? []) : []))
  const stop = incomplete_details?.reason
  return {
    text: parts.map(({ text }) => text ?? "").join(""),
    refusal: parts.find(({ type }) => type === "refusal")?.refusal ?? undefined,
    stop: stop === "max_output_tokens" ? "length" : (stop ?? undefined),
    inputTokens: usage?.input_tokens ?? undefined,
    outputTokens: usage?.output_tokens ?? undefined,
    cachedTokens: usage?.input_tokens_details?.cached_tokens ?? undefined,
  }
}

export const openAi: Provider = {
  keyName: host.keyName,
  needsKey: "at its own address",
  baseUrlName: "OPENAI_BASE_URL",
  make: makeOpenAiClient,
}
