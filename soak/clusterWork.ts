/**
 * Kills nodes of a cluster while they run executions, batches and uploads, repeatedly: other nodes finish the work with the same
 * results, and no stored step runs twice.
 *
 *     npm run soak -- clusterWork --times 20
 */
import { parseArgs } from "node:util"
import { run } from "../scripts/run.mjs"

const { values } = parseArgs({ options: { times: { type: "string", default: "10" } } })

const isProven = run("vitest", ["run", "packages/cli/test/postgres/clusterCrash"], {
  DETENT_CRASH_ROUNDS: values.times,
})
console.log(`=== clusterWork: ${isProven ? "ok" : "FAILED"}`)
if (!isProven) process.exitCode = 1
