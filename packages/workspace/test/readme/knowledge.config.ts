import { defineConfig } from "@detent/workspace/Config"

export default defineConfig({
  knowledge: {
    extractor: "anthropic:claude-haiku-4-5",
    budget: { cost: 5 },
    limits: { requestsPerMinute: 50, concurrency: 5 },
  },
})
