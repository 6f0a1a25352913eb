/** The client of a model: it answers a prompt in JSON of a given form, and says what the answer cost. */

import type * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { ExtractionFailed } from "../Extractor.ts"
import type { Answered } from "./CallGuard.ts"

/** A JSON Schema in the part of the language that all providers understand. */
export type JsonSchema = { readonly [key: string]: unknown }

export interface ModelRequest {
  readonly system: string
  readonly prompt: string
  /** The name and the schema of the answer. */
  readonly name: "entities" | "facts" | "clauses"
  readonly schema: JsonSchema
  readonly maxOutputTokens: number
}

export interface ModelClient {
  /** The name in provenance and errors: `anthropic/claude-…`. */
  readonly name: string
  /** The name in the price table. */
  readonly model: string
  /** Makes one call, without retries, and returns the text of the answer. */
  readonly complete: (request: ModelRequest) => Effect.Effect<Answered<string>, ExtractionFailed>
}

/** The model declined to answer. */
export const declined = (extractor: string, said: string): Result.Result<never, ExtractionFailed> =>
  Result.fail(
    new ExtractionFailed({ extractor, reason: "Refused", retryable: false, detail: said.slice(0, 200) || "the model declined to answer" }),
  )

/** The answer reached the limit of output tokens. Another attempt would end at the same place. */
export const cutOff = (extractor: string): Result.Result<never, ExtractionFailed> =>
  Result.fail(
    new ExtractionFailed({
      extractor,
      reason: "TooLong",
      retryable: false,
      detail: "the answer was cut off at the limit of output tokens; make the chunks smaller or raise the limit",
    }),
  )
