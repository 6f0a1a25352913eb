/** The registry of the providers of models. */

import { anthropic } from "./Anthropic.ts"
import { openAi } from "./OpenAi.ts"
import type { Provider } from "./Provider.ts"
import { type ProviderName, providerNames } from "./ProviderName.ts"

const providers: Readonly<Record<ProviderName, Provider>> = { openai: openAi, anthropic }

/** Undefined for a name without a provider. */
export const providerNamed = (name: string): Provider | undefined => {
  const known = providerNames.find((one) => one === name)
  return known === undefined ? undefined : providers[known]
}
