/**
 * The long versions of tests that `npm test` runs in a short version: 200 kills on each store, 20,000 simulated schedules, 2,000
 * simulated workflows, 1,000,000 instances, all kinds of hostile content. Environment variables set other numbers.
 *
 *     npm run soak -- tests
 *     DETENT_CRASH_SEED=7 npm run soak -- tests
 */
import { run } from "../scripts/run.mjs"

const {
  DETENT_CRASH_KILLS = "200",
  DETENT_SIMULATION_SCHEDULES = "20000",
  DETENT_WORKFLOW_RUNS = "2000",
  DETENT_MANY_INSTANCES = "1000000",
  NODE_OPTIONS = "--max-old-space-size=8192",
} = process.env

const files = [
  "durable/test/ManyInstances.test.ts",
  "durable/test/crash/crash.test.ts",
  "durable/test/crash/commands.test.ts",
  "durable/test/crash/postgresFaults.test.ts",
  "durable/test/command/backlog.test.ts",
  "durable/test/eventlog/processes.test.ts",
  "durable/test/workflow/parity/crash.test.ts",
  "durable/test/workflow/simulation/simulation.test.ts",
  "uploads/test/crash/crash.test.ts",
  "xstate/test/crash/crash.test.ts",
  "xstate/test/postgres/crash.test.ts",
  "uploads/test/crash/steps.test.ts",
  "knowledge/test/batch/crash/crash.test.ts",
  "knowledge/test/runs/crash.test.ts",
  "knowledge/test/postgres/Cancel.test.ts",
  "server/test/serve/hostile.proof.ts",
  "cli/test/killed.test.ts",
  "durable/test/simulation/simulation.test.ts",
]
// One process per file: each has its own memory limit, and a failure does not end the others.
for (const file of files) {
  console.log(`\n=== ${file}`)
  const isProven = run("vitest", ["run", "--maxWorkers=1", `packages/${file}`], {
    DETENT_SOAK: "1",
    DETENT_CRASH_KILLS,
    DETENT_SIMULATION_SCHEDULES,
    DETENT_WORKFLOW_RUNS,
    DETENT_MANY_INSTANCES,
    NODE_OPTIONS,
  })
  console.log(`=== ${file}: ${isProven ? "ok" : "FAILED"}`)
  if (!isProven) process.exitCode = 1
}
