/** Google's Gemini models, through the address where they speak Chat Completions. */

import { makeChatClient } from "./ChatCompletions.ts"
import type { Provider } from "./Provider.ts"

const ownUrl = "https://generativelanguage.googleapis.com/v1beta/openai"

export const gemini: Provider = {
  keyName: "GEMINI_API_KEY",
  needsKey: "at its own address",
  make: makeChatClient({ name: "gemini", keyName: "GEMINI_API_KEY", urlOf: (baseUrl = ownUrl) => baseUrl }),
}
