import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { LongestFirst } from "./scripts/LongestFirst.ts"

/** Compiled modules, for the processes that tests start: it halves the time until a process is up. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL("node_modules/.cache/detent-compile", import.meta.url))

/** The folders whose tests share one PostgreSQL. Runs of other tests do not wait until it has started. */
const withPostgres = "{store/test,durable/test,eventlog/test,cluster/test,uploads/test,*/test/postgres}"

/** Starts it. */
const postgres = "packages/store/test/support/globalSetup.ts"

/** The limit only ends tests that hang: those of waiting are in the tests, and grow with the load of the machine. */
const project = (name: string, include: Array<string>, exclude: Array<string>, testTimeout: number, globalSetup?: string) => ({
  extends: true as const,
  test: { name, include, exclude, testTimeout, hookTimeout: testTimeout, ...(globalSetup === undefined ? {} : { globalSetup }) },
})

const minutes = 60_000

/** The files `*.test.ts` are what `npm test` runs, and `*.proof.ts` what `npm run proofs` runs; `npm run soak` runs `*.soak.ts`. */
const kinds = (kind: "test" | "proof", limit: number) => [
  project(
    kind,
    [`packages/*/test/**/*.${kind}.ts`, `{examples,scripts,docs}/test/**/*.${kind}.ts`, `docs/snippets/**/*.${kind}.ts`],
    [`packages/${withPostgres}/**`],
    limit,
  ),
  project(`${kind} on PostgreSQL`, [`packages/${withPostgres}/**/*.${kind}.ts`], [], limit, postgres),
]

export default defineConfig({
  test: {
    pool: "threads",
    // A worker loads each module once, not once for each test file: loading takes as long as most tests. No test relies on fresh modules.
    isolate: false,
    // Many tests wait, for processes that are killed, leases and databases; the long ones use 0.4 of a core. Two more than there are cores.
    maxWorkers: availableParallelism() + 2,
    slowTestThreshold: 10_000,
    // What tests write is printed with those that fail.
    silent: "passed-only",
    env: { NODE_COMPILE_CACHE },
    sequence: { sequencer: LongestFirst },
    globalSetup: "scripts/bundlePrograms.ts",
    projects: [
      ...kinds("test", 10 * minutes),
      ...kinds("proof", 30 * minutes),
      project("soak", [`packages/${withPostgres}/**/*.soak.ts`], [], 24 * 60 * minutes, postgres),
    ],
  },
})
