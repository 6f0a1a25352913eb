import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["packages/*/test/**/*.test.ts", "examples/test/**/*.test.ts"],
    pool: "threads",
    testTimeout: 10_000,
    hookTimeout: 30_000,
  },
})
