/**
 * The providers of models, by the prefix of an extractor's name: `openai:gpt-5-mini`. The registry in `Providers.ts` has an entry for
 * each: the compiler refuses a name without one.
 */
export const providerNames = ["openai", "anthropic"] as const
export type ProviderName = (typeof providerNames)[number]
