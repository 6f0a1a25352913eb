/** The registry of the providers of models. */

import { anthropic } from "./Anthropic.ts"
import { azure } from "./Azure.ts"
import { gemini } from "./Gemini.ts"
import { ollama } from "./Ollama.ts"
import { openAi } from "./OpenAi.ts"
import { openRouter } from "./OpenRouter.ts"
import type { Provider } from "./Provider.ts"
import type { ProviderName } from "./ProviderName.ts"

export const providers: Readonly<Record<ProviderName, Provider>> = {
  openai: openAi,
  azure,
  anthropic,
  gemini,
  ollama,
  openrouter: openRouter,
}

/** The environment variables with the keys of all providers. */
export const keyNames: ReadonlyArray<string> = Object.values(providers).map(({ keyName }) => keyName)
