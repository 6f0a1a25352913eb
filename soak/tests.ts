/**
 * The tests that `npm test` runs in a short version, each in its long one: 200 kills on each store, 20,000 simulated schedules,
 * 1,000,000 instances. Variables of the environment set other numbers.
 *
 *     npm run soak -- tests
 *     DETENT_CRASH_SEED=7 npm run soak -- tests
 */
import { run } from "../scripts/run.mjs"

const { DETENT_CRASH_KILLS = "200", DETENT_SIMULATION_SCHEDULES = "20000", DETENT_MANY_INSTANCES = "1000000" } = process.env

const files = [
  "durable/test/crash/crash.test.ts",
  "durable/test/crash/commands.test.ts",
  "durable/test/workflow/parity/crash.test.ts",
  "durable/test/simulation/simulation.test.ts",
  "durable/test/ManyInstances.test.ts",
  "uploads/test/crash/crash.test.ts",
]
const isProven = run("vitest", ["run", "--maxWorkers=1", ...files.map((file) => `packages/${file}`)], {
  DETENT_CRASH_KILLS,
  DETENT_SIMULATION_SCHEDULES,
  DETENT_MANY_INSTANCES,
})
if (!isProven) process.exitCode = 1
