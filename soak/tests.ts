/**
 * Proofs with larger numbers than `npm run proofs`: 1,000 kills on each store, 20,000 simulated schedules, 2,000 simulated workflows,
 * 3,000,000 instances. Environment variables set other numbers.
 *
 *     npm run soak -- tests
 *     DETENT_CRASH_SEED=7 npm run soak -- tests
 */
import { run } from "../scripts/run.mjs"

const {
  DETENT_CRASH_KILLS = "1000",
  DETENT_SIMULATION_SCHEDULES = "20000",
  DETENT_WORKFLOW_RUNS = "2000",
  DETENT_MANY_INSTANCES = "3000000",
  NODE_OPTIONS = "--max-old-space-size=8192",
} = process.env

const files = [
  "store/test/ManyInstances.proof.ts",
  "durable/test/crash/crash.proof.ts",
  "durable/test/crash/commands.proof.ts",
  "durable/test/workflow/parity/crash.proof.ts",
  "durable/test/workflow/simulation/simulation.proof.ts",
  "uploads/test/crash/crash.proof.ts",
  "knowledge/test/batch/crash/crash.proof.ts",
  "durable/test/simulation/simulation.proof.ts",
]
// One process per file: each has its own memory limit, and a failure does not end the others.
for (const file of files) {
  console.log(`\n=== ${file}`)
  const isProven = run("vitest", ["run", "--maxWorkers=1", `packages/${file}`], {
    DETENT_CRASH_KILLS,
    DETENT_SIMULATION_SCHEDULES,
    DETENT_WORKFLOW_RUNS,
    DETENT_MANY_INSTANCES,
    NODE_OPTIONS,
  })
  console.log(`=== ${file}: ${isProven ? "ok" : "FAILED"}`)
  if (!isProven) process.exitCode = 1
}
