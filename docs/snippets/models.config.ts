import { makeChatClient } from "@detent/knowledge"
import { defineConfig } from "@detent/workspace/Config"

const house = {
  keyName: "HOUSE_KEY", // the variable with the key
  needsKey: "everywhere",
  make: makeChatClient({ name: "house", keyName: "HOUSE_KEY", urlOf: () => "https://models.example.org/v1" }),
} as const

export default defineConfig({
  knowledge: {
    extractor: "house:large",
    providers: { house },
    prices: { currency: "USD", models: [{ model: "large", input: 0.1, output: 0.4, asOf: "2026-11" }] },
    budget: "5usd",
    limits: { requestsPerMinute: 500, tokensPerMinute: 200_000, concurrency: 8 },
    instructions: "Dates are written day first. Leave out signatures.",
    glossary: { TEU: "twenty-foot equivalent unit" },
  },
})
