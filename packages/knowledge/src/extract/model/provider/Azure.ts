/**
 * Models of OpenAI on Azure, at the address of the customer's resource. The name of the model is that of its deployment. The address is
 * that of the resource, or one that ends with `/openai/v1`.
 */

import * as Redacted from "effect/Redacted"
import { makeChatClient } from "./ChatCompletions.ts"
import type { Provider } from "./Provider.ts"

const path = "/openai/v1"

export const azure: Provider = {
  keyName: "AZURE_OPENAI_API_KEY",
  needsKey: "everywhere",
  baseUrlName: "AZURE_OPENAI_ENDPOINT",
  needsBaseUrl: true,
  make: makeChatClient({
    name: "azure",
    keyName: "AZURE_OPENAI_API_KEY",
    urlOf: (baseUrl = "") => (baseUrl.endsWith(path) ? baseUrl : `${baseUrl}${path}`),
    headersOf: (apiKey) => ({ "api-key": Redacted.value(apiKey) }),
  }),
}
