/**
 * The providers of models, by the prefix of an extractor's name: `openai:gpt-5-mini`. The registry in `Providers.ts` has an entry for
 * each: the compiler refuses a name without one.
 */
export const providerNames = ["openai", "azure", "anthropic", "gemini", "ollama", "openrouter"] as const
export type ProviderName = (typeof providerNames)[number]

/** For messages: `openai:MODEL, azure:MODEL or anthropic:MODEL`. */
export const modelForms = `${providerNames
  .slice(0, -1)
  .map((name) => `${name}:MODEL`)
  .join(", ")} or ${providerNames.at(-1)}:MODEL`
