import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type PostgresServer, startPostgres } from "../../packages/durable/test/support/PostgresServer.ts"

const run = promisify(execFile)

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(() => server.stop())

describe("three nodes of which one is killed", () => {
  it("the others take over its shards, and nothing is lost or stored twice", { timeout: 90_000 }, async () => {
    const env = { ...process.env, DETENT_DATABASE_URL: server.url }
    const { stdout } = await run(process.execPath, [join(import.meta.dirname, "../cluster/run.ts")], { env })
    expect(stdout).toMatch(/is killed with -9/)
    expect(stdout).toMatch(/the others have all shards, \d\.\d s after the kill/)
    expect(stdout).toContain("it has its share of the shards again")
    const [, answered, journaled, ends] = /(\d+) events answered, \d+ failed; the journal has (\d+): (.+)/.exec(stdout) ?? []
    expect(Number(answered)).toBeGreaterThan(1000)
    expect(Number(journaled)).toBeGreaterThanOrEqual(Number(answered))
    expect(ends).toBe("0 lost, 0 stored twice")
  })
})
