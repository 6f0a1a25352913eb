/**
 * OpenAI's Chat Completions and Responses through the official client, whose own retries are off: ours decide. Chat Completions
 * is what all compatible servers speak, so it is what is used unless told otherwise.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type OpenAI from "openai"
import type { ExtractionFailed } from "../ExtractionFailed.ts"
import { cutOff, notAnAnswer, refused } from "./AnswerFault.ts"
import type { Answered } from "./CallGuard.ts"
import { callProvider } from "./HttpFault.ts"
import type { ModelClient, ModelRequest } from "./ModelClient.ts"
import { estimateTokens } from "./UsageCount.ts"

export interface OpenAiClientOptions {
  readonly apiKey: Redacted.Redacted<string>
  readonly model: string
  /** Of any server that speaks the same language: `http://localhost:11434/v1`. */
  readonly baseUrl?: string
  readonly api?: "chat" | "responses"
}

const ownUrl = "https://api.openai.com/v1"

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const ChatReply = Schema.Struct({
  choices: Schema.NonEmptyArray(
    Schema.Struct({
      finish_reason: optional(Schema.String),
      message: Schema.Struct({ content: optional(Schema.String), refusal: optional(Schema.String) }),
    }),
  ),
  usage: optional(Schema.Struct({ prompt_tokens: optional(Schema.Finite), completion_tokens: optional(Schema.Finite) })),
})

const ResponsesReply = Schema.Struct({
  output: Schema.Array(
    Schema.Struct({
      type: Schema.String,
      content: optional(
        Schema.Array(Schema.Struct({ type: Schema.String, text: optional(Schema.String), refusal: optional(Schema.String) })),
      ),
    }),
  ),
  incomplete_details: optional(Schema.Struct({ reason: optional(Schema.String) })),
  usage: optional(Schema.Struct({ input_tokens: optional(Schema.Finite), output_tokens: optional(Schema.Finite) })),
})

/** What both ways of asking come down to. */
interface Reply {
  readonly text: string
  readonly refusal: string | undefined
  readonly stop: string | undefined
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
}

export const makeOpenAiClient = (options: OpenAiClientOptions): Effect.Effect<ModelClient> =>
  Effect.gen(function* () {
    // Loaded when it is needed: it takes longer than the rest of the package.
    const { default: Client } = yield* Effect.promise(() => import("openai"))
    const client = new Client({
      apiKey: Redacted.value(options.apiKey),
      baseURL: options.baseUrl ?? ownUrl,
      organization: null,
      project: null,
      maxRetries: 0,
      // The caller's time-out comes first; this one only has to be longer.
      timeout: 3_600_000,
      logLevel: "off",
    })
    const extractor = `openai/${options.model}`
    const ask = options.api === "responses" ? askResponses : askChat
    return {
      name: extractor,
      model: options.model,
      complete: (request) =>
        callProvider({ extractor, apiKey: options.apiKey }, (signal) => ask(client, options, request, signal)).pipe(
          Effect.map(({ raw, reply }) =>
            reply === undefined ? notAnAnswer(extractor, request, raw) : answerOf(extractor, request, reply),
          ),
        ),
    }
  })

interface Heard {
  readonly raw: unknown
  readonly reply: Reply | undefined
}

const askChat = async (client: OpenAI, options: OpenAiClientOptions, request: ModelRequest, signal: AbortSignal): Promise<Heard> => {
  // Other servers know the older name of this limit; OpenAI's newer models only the newer one.
  const limit =
    (options.baseUrl ?? ownUrl) === ownUrl ? { max_completion_tokens: request.maxOutputTokens } : { max_tokens: request.maxOutputTokens }
  const raw: unknown = await client.chat.completions.create(
    {
      model: options.model,
      messages: [
        { role: "system", content: request.system },
        { role: "user", content: request.prompt },
      ],
      response_format: { type: "json_schema", json_schema: { name: request.name, strict: true, schema: request.schema } },
      ...limit,
    },
    { signal },
  )
  const decoded = Schema.decodeUnknownResult(ChatReply)(raw)
  if (Result.isFailure(decoded)) return { raw, reply: undefined }
  const { choices, usage } = decoded.success
  const { message, finish_reason } = choices[0]
  return {
    raw,
    reply: {
      text: message.content ?? "",
      refusal: message.refusal ?? undefined,
      stop: finish_reason ?? undefined,
      inputTokens: usage?.prompt_tokens ?? undefined,
      outputTokens: usage?.completion_tokens ?? undefined,
    },
  }
}

const askResponses = async (client: OpenAI, options: OpenAiClientOptions, request: ModelRequest, signal: AbortSignal): Promise<Heard> => {
  const raw: unknown = await client.responses.create(
    {
      model: options.model,
      instructions: request.system,
      input: request.prompt,
      max_output_tokens: request.maxOutputTokens,
      store: false,
      text: { format: { type: "json_schema", name: request.name, strict: true, schema: { ...request.schema } } },
    },
    { signal },
  )
  const decoded = Schema.decodeUnknownResult(ResponsesReply)(raw)
  if (Result.isFailure(decoded)) return { raw, reply: undefined }
  const { output, usage, incomplete_details } = decoded.success
  const parts = output.flatMap((item) => (item.type === "message" ? (item.content ?? []) : []))
  const stop = incomplete_details?.reason
  return {
    raw,
    reply: {
      text: parts.map(({ text }) => text ?? "").join(""),
      refusal: parts.find(({ type }) => type === "refusal")?.refusal ?? undefined,
      stop: stop === "max_output_tokens" ? "length" : (stop ?? undefined),
      inputTokens: usage?.input_tokens ?? undefined,
      outputTokens: usage?.output_tokens ?? undefined,
    },
  }
}

const answerOf = (extractor: string, request: ModelRequest, reply: Reply): Answered<string> => ({
  tokens: {
    inputTokens: reply.inputTokens ?? estimateTokens(request.system + request.prompt),
    outputTokens: reply.outputTokens ?? estimateTokens(reply.text),
  },
  answer: judged(extractor, reply),
})

const judged = (extractor: string, { refusal, stop, text }: Reply): Result.Result<string, ExtractionFailed> => {
  if (refusal !== undefined) return Result.fail(refused(extractor, refusal))
  if (stop === "content_filter") return Result.fail(refused(extractor, "the provider's content filter stopped the answer"))
  return stop === "length" ? Result.fail(cutOff(extractor)) : Result.succeed(text)
}
