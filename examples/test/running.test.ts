import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "@effect/vitest"

const run = promisify(execFile)

it.concurrent.for([
  ["order/Order.ts", "_tag: 'Delivered'"],
  ["traffic-light/TrafficLight.ts", "🟡 Yellow"],
  ["document/Document.ts", "_tag: 'Archived'"],
  ["batch/run.ts", "_tag: 'Completed'"],
  ["readme/run.ts", "too many machines"],
  ["queues/fairTenants.ts", "bloom and cafe have their mails, and acme still waits for some: true"],
  ["schedules/nightlyClose.ts", "nightly-close@2026-03-29T01:00:00Z { value: 'closed what was due on 2026-03-29' }"],
  ["durable/LookingBack.ts", "0 would not open; 1420 words by Ada"],
] as const)("%s runs by itself", async ([file, expected]) => {
  const { stdout, stderr } = await run(process.execPath, [join(import.meta.dirname, "..", file)])
  expect(stdout).toContain(expected)
  expect(stderr).toBe("")
})
