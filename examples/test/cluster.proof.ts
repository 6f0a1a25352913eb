import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type PostgresServer, startPostgres } from "../../packages/store/test/support/PostgresServer.ts"

const run = promisify(execFile)

const program = join(import.meta.dirname, "../cluster/run.ts")

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

describe("three nodes of which one is killed", () => {
  it("the others take over its shards, and nothing is lost or stored twice", async () => {
    // The database of the user's environment is not used.
    const env = { ...process.env, DETENT_DATABASE_URL: "postgres://127.0.0.1:1/none" }
    const { stdout } = await run(process.execPath, [program, server.url], { env })
    expect(stdout).toMatch(/is killed with -9/)
    expect(stdout).toMatch(/the others have all shards, \d\.\d s after the kill/)
    expect(stdout).toContain("it has its share of the shards again")
    const [, answered, journaled, ends] = /(\d+) events answered, \d+ failed; the journal has (\d+): (.+)/.exec(stdout) ?? []
    expect(Number(answered)).toBeGreaterThan(1000)
    expect(Number(journaled)).toBeGreaterThanOrEqual(Number(answered))
    expect(ends).toBe("0 lost, 0 stored twice")
  })

  it("a node that does not start ends the program with the reason", async () => {
    const failing = run(process.execPath, [program, "postgres://127.0.0.1:1/none"])
    await expect(failing).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/node 127\.0\.0\.1:\d+: .+\n[\s\S]*has ended; its error is above/),
    })
  })
})
