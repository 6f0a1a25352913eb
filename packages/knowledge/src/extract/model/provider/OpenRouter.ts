/**
 * OpenRouter, which passes requests on to many providers. It would leave out parameters that the chosen one does not know, such as the
 * schema of the answer: requests ask for providers that know them all.
 */

import { makeChatClient } from "./ChatCompletions.ts"
import type { Provider } from "./Provider.ts"

const ownUrl = "https://openrouter.ai/api/v1"

export const openRouter: Provider = {
  keyName: "OPENROUTER_API_KEY",
  needsKey: "at its own address",
  make: makeChatClient({
    name: "openrouter",
    keyName: "OPENROUTER_API_KEY",
    urlOf: (baseUrl = ownUrl) => baseUrl,
    effortOf: (effort) => ({ reasoning: { effort } }),
    fields: { provider: { require_parameters: true } },
  }),
}
