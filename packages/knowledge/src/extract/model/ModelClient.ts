/** What a provider has to be able to do: answer a prompt in JSON of a given shape. Everything else is the same for all of them. */
import type * as Effect from "effect/Effect"
import type { ExtractionFailed } from "../ExtractionFailed.ts"
import type { Answered } from "./CallGuard.ts"

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
