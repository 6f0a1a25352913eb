/**
 * Nodes of a cluster that are killed while they run executions, batches and uploads, again and again: others finish what they had,
 * with the same results, and nothing that is stored is done twice.
 *
 *     npm run soak -- clusterWork --times 20
 */
import { parseArgs } from "node:util"
import { run } from "../scripts/run.mjs"

const { values } = parseArgs({ options: { times: { type: "string", default: "10" } } })

const isProven = run("vitest", ["run", "--project", "durable", "packages/cli/test/postgres/clusterCrash.test.ts"], {
  DETENT_CRASH_ROUNDS: values.times,
})
console.log(`=== clusterWork: ${isProven ? "ok" : "FAILED"}`)
if (!isProven) process.exitCode = 1
