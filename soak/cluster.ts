/**
 * Kills, freezes, disconnects and restarts nodes of a cluster under load, repeatedly: every acknowledged event is in the journal once,
 * and all work is completed.
 *
 *     npm run soak -- cluster --times 20
 */
import { parseArgs } from "node:util"
import { run } from "../scripts/run.mjs"

const { values } = parseArgs({ options: { times: { type: "string", default: "10" } } })

let failed = 0
for (let time = 1; time <= Number(values.times); time++) {
  console.log(`\n=== cluster, ${time} of ${values.times}`)
  const files = ["packages/durable/test/soak/cluster", "packages/durable/test/crash/clusterFaults"]
  const isProven = run("vitest", ["run", ...files])
  if (!isProven) failed++
}
console.log(`=== cluster: ${failed === 0 ? "ok" : `FAILED ${failed} of ${values.times} times`}`)
if (failed > 0) process.exitCode = 1
