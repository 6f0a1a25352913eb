import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { ModelClient } from "../ModelClient.ts"

/** The model of a client, and where and how it is reached. */
export interface ProviderOptions {
  /** Not needed for a server without authentication. */
  readonly apiKey?: Redacted.Redacted<string>
  readonly model: string
  /** The base URL of a server with the same API. Default: the provider's own. */
  readonly baseUrl?: string
}

/** A provider of models. Each has a file of its own, and an entry in the registry. */
export interface Provider {
  /** The environment variable with the API key. */
  readonly keyName: string
  /** The environment variable with the base URL, if the provider has one. */
  readonly baseUrlName?: string
  readonly make: (options: ProviderOptions) => Effect.Effect<ModelClient>
}
