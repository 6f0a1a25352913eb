/**
 * What a provider has to be able to do: answer a prompt in JSON of a given form. Everything else is the same for all of them, the
 * faults of an answer that arrived and was billed included.
 */
import type * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { ExtractionFailed } from "../Extractor.ts"
import type { Answered } from "./CallGuard.ts"
import { estimateTokens } from "./Cost.ts"

/** A JSON Schema in the part of the language that all providers understand. */
export type JsonSchema = { readonly [key: string]: unknown }

export interface ModelRequest {
  readonly system: string
  readonly prompt: string
  /** What the answer is called and what it has to look like. */
  readonly name: string
  readonly schema: JsonSchema
  readonly maxOutputTokens: number
}

export interface ModelClient {
  /** What provenance and errors name: `anthropic/claude-…`. */
  readonly name: string
  /** As the price table calls it. */
  readonly model: string
  /** One call and the text it gave, without trying again. */
  readonly complete: (request: ModelRequest) => Effect.Effect<Answered<string>, ExtractionFailed>
}

/** The model declined to answer. */
export const declined = (extractor: string, said: string): Result.Result<never, ExtractionFailed> =>
  Result.fail(
    new ExtractionFailed({ extractor, reason: "Refused", retryable: false, detail: said.slice(0, 200) || "the model declined to answer" }),
  )

/** The answer did not fit. Another attempt would end at the same place. */
export const cutOff = (extractor: string): Result.Result<never, ExtractionFailed> =>
  Result.fail(
    new ExtractionFailed({
      extractor,
      reason: "TooLong",
      retryable: false,
      detail: "the answer was cut off at the limit of output tokens; make the chunks smaller or raise the limit",
    }),
  )

/** JSON of another API than the one that was called. What it cost is not known. */
export const notAnAnswer = (extractor: string, url: string, request: ModelRequest, raw: unknown): Answered<string> => ({
  tokens: { inputTokens: estimateTokens(request.system + request.prompt), outputTokens: 0 },
  answer: Result.fail(
    new ExtractionFailed({
      extractor,
      reason: "Malformed",
      retryable: true,
      detail: `${url}: what came back is no answer of this API: ${JSON.stringify(raw)?.slice(0, 200)}; check the base URL`,
    }),
  ),
})
