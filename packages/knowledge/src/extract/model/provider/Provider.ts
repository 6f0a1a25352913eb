import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { ModelClient } from "../ModelClient.ts"

/** How much a reasoning model thinks before it answers. Models without reasoning refuse requests that set it. */
export const ReasoningEffort = Schema.Literals(["none", "minimal", "low", "medium", "high"])
export type ReasoningEffort = typeof ReasoningEffort.Type

/** The model of a client, and where and how it is reached. */
export interface ProviderOptions {
  /** Not needed for a server without authentication. */
  readonly apiKey?: Redacted.Redacted<string>
  readonly model: string
  /** The base URL of a server with the same API. Default: the provider's own. */
  readonly baseUrl?: string
  /** Default: the model's own. */
  readonly effort?: ReasoningEffort
}

/** A provider of models. Each has a file of its own, and an entry in the registry; a configuration may add others. */
export interface Provider {
  /** The environment variable with the API key. */
  readonly keyName: string
  /** Where calls need a key. A server of the user's own may need none. */
  readonly needsKey: "everywhere" | "at its own address" | "nowhere"
  /** The environment variable with the base URL, if the provider has one. */
  readonly baseUrlName?: string
  /** Whether the provider has no address of its own: each customer has another. */
  readonly needsBaseUrl?: boolean
  readonly make: (options: ProviderOptions) => Effect.Effect<ModelClient>
}
