/** Any `LanguageModel` of Effect as the model of an extractor. Its layer has the address and the API key. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type AiError, isAiError } from "effect/unstable/ai/AiError"
import * as LanguageModel from "effect/unstable/ai/LanguageModel"
import { ModelName, ProviderName } from "effect/unstable/ai/Model"
import { describe } from "../../storage/Describe.ts"
import { ExtractionFailed } from "../Extractor.ts"
import { SaidEntity, SaidFact } from "./Answer.ts"
import type { Answered } from "./CallGuard.ts"
import { estimateTokens } from "./Cost.ts"
import { cutOff, declined, type ModelClient, type ModelRequest } from "./ModelClient.ts"

const Entities = Schema.Struct({ entities: Schema.Array(SaidEntity) })
const Facts = Schema.Struct({ facts: Schema.Array(SaidFact) })

type Outcome = Pick<LanguageModel.GenerateObjectResponse<Record<never, never>, unknown>, "value" | "usage" | "finishReason">

/** The client of the language model in a context. A layer made with `Model.make` names its provider and model. */
export const languageModelClient = (context: Context.Context<LanguageModel.LanguageModel>): ModelClient => {
  const provider = Context.getOption(context, ProviderName)
  const model = Option.getOrElse(Context.getOption(context, ModelName), () => "language-model")
  const extractor = Option.match(provider, { onNone: () => model, onSome: (name) => `${name}/${model}` })
  const service = Context.get(context, LanguageModel.LanguageModel)

  const ask = (request: ModelRequest) => {
    const prompt = [
      { role: "system" as const, content: request.system },
      { role: "user" as const, content: request.prompt },
    ]
    const objectName = request.name
    return request.name === "entities"
      ? Effect.map(service.generateObject({ prompt, objectName, schema: Entities }), (response) => answered(request, response))
      : Effect.map(service.generateObject({ prompt, objectName, schema: Facts }), (response) => answered(request, response))
  }

  const answered = (request: ModelRequest, { value, usage, finishReason }: Outcome): Answered<string> => {
    const text = JSON.stringify(value)
    const tokens = tokensOf(request, text, usage.inputTokens.total, usage.outputTokens.total)
    if (finishReason === "content-filter")
      return { tokens, answer: declined(extractor, "the provider's content filter stopped the answer") }
    return { tokens, answer: finishReason === "length" ? cutOff(extractor) : Result.succeed(text) }
  }

  return {
    name: extractor,
    model,
    complete: (request) =>
      Effect.catch(ask(request), (error) =>
        isAiError(error) ? failure(extractor, request, error) : Effect.fail(unknown(extractor, error)),
      ),
  }
}

const tokensOf = (request: ModelRequest, text: string, input: number | undefined, output: number | undefined) => ({
  inputTokens: input ?? estimateTokens(request.system + request.prompt),
  outputTokens: output ?? estimateTokens(text),
})

/** An answer that does not fit its schema was billed, so it is passed on: the items in it that fit are still accepted. */
const failure = (extractor: string, request: ModelRequest, error: AiError): Effect.Effect<Answered<string>, ExtractionFailed> => {
  const { reason } = error
  if (reason._tag === "StructuredOutputError")
    return Effect.succeed({
      tokens: tokensOf(request, reason.responseText, reason.usage?.promptTokens, reason.usage?.completionTokens),
      answer: Result.succeed(reason.responseText),
    })
  const wait = error.retryAfter
  return Effect.fail(
    new ExtractionFailed({
      extractor,
      ...meaningOf(error),
      retryable: error.isRetryable,
      detail: error.message.slice(0, 500),
      ...(wait === undefined ? {} : { retryAfterMillis: Duration.toMillis(wait) }),
    }),
  )
}

const meaningOf = ({ reason, isRetryable }: AiError): Pick<ExtractionFailed, "reason" | "stops"> => {
  switch (reason._tag) {
    case "RateLimitError":
      return { reason: "RateLimited", stops: "ModelUnavailable" }
    case "NetworkError":
    case "InternalProviderError":
      return { reason: "Unavailable", stops: "ModelUnavailable" }
    case "AuthenticationError":
    case "QuotaExhaustedError":
      return { reason: "NotAllowed", stops: "ModelRefused" }
    case "ContentPolicyError":
      return { reason: "Refused" }
    case "InvalidOutputError":
      return { reason: "Malformed" }
    default:
      return isRetryable ? { reason: "Unavailable" } : { reason: "NotAllowed" }
  }
}

const unknown = (extractor: string, error: unknown): ExtractionFailed =>
  new ExtractionFailed({ extractor, reason: "Bug", retryable: false, detail: describe(error).slice(0, 500) })
