import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { LongestFirst } from "./scripts/LongestFirst.ts"

/** Compiled modules, for the processes that tests start: it halves the time until a process is up. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL("node_modules/.cache/detent-compile", import.meta.url))

export default defineConfig({
  test: {
    pool: "threads",
    // A worker loads each module once, not once for each test file: loading takes as long as most tests. No test relies on fresh modules.
    isolate: false,
    // Many tests wait, for processes that are killed, leases and databases; the long ones use 0.4 of a core. Two more than there are cores.
    maxWorkers: availableParallelism() + 2,
    // Long enough for a machine that does much else besides: a test that takes longer hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    env: { NODE_COMPILE_CACHE },
    sequence: { sequencer: LongestFirst },
    globalSetup: "scripts/bundlePrograms.ts",
    projects: [
      {
        extends: true,
        test: {
          name: "detent",
          include: [
            "packages/*/test/**/*.test.ts",
            "examples/test/**/*.test.ts",
            "scripts/test/**/*.test.ts",
            "docs/{test,snippets}/**/*.test.ts",
          ],
          exclude: [
            "packages/durable/test/**",
            "packages/cluster/test/**",
            "packages/uploads/test/**",
            "packages/knowledge/test/postgres/**",
            "packages/server/test/postgres/**",
            "packages/cli/test/postgres/**",
            "packages/xstate/test/postgres/**",
          ],
        },
      },
      {
        extends: true,
        test: {
          name: "durable",
          include: [
            "packages/durable/test/**/*.test.ts",
            "packages/cluster/test/**/*.test.ts",
            "packages/uploads/test/**/*.test.ts",
            "packages/knowledge/test/postgres/**/*.test.ts",
            "packages/server/test/postgres/**/*.test.ts",
            "packages/cli/test/postgres/**/*.test.ts",
            "packages/xstate/test/postgres/**/*.test.ts",
          ],
          // Long proofs, which `npm run soak` runs.
          exclude: process.env["DETENT_SOAK"] === undefined ? ["packages/durable/test/soak/**"] : [],
          // A project of its own, so that runs of other tests do not wait for PostgreSQL to start.
          globalSetup: "packages/durable/test/support/globalSetup.ts",
        },
      },
    ],
  },
})
