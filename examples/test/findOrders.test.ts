/** The example prints which orders it finds, on SQLite. The same searches run on PostgreSQL in durable/test/promise/search.test.ts. */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"

const program = join(import.meta.dirname, "../questions/find-a-customers-orders.ts")

it("finds a customer's open orders by urgency, large ones that are due soon, and those of an incident", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [program])
  expect(stdout.split("\n")).toEqual(["open o-2 250", "open o-1 140", "large and soon o-2, o-3", "of incident 42 o-3", ""])
})
