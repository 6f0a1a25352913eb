import { fork } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"
import { freshAddress } from "./Databases.ts"

const program = join(import.meta.dirname, "killedWorkflow.ts")

const linesOf = (log: string) => (existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : [])

it.each(["SQLite", "PostgreSQL"] as const)(
  "on %s an async workflow that is killed with SIGKILL resumes, and steps that were stored are not executed again",
  async (kind) => {
    const folder = mkdtempSync(join(tmpdir(), "detent-promise-"))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const log = join(folder, "steps.log")
    const database = await freshAddress(kind)
    const start = () => fork(program, [database, log], { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] })
    // Killed in a step, between steps, in the sleep, and near the end.
    for (const last of ["begin 2", "stored 4", "stored 5", "begin 8"]) {
      const child = start()
      const exited = once(child, "exit")
      while (!linesOf(log).includes(last) && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 2))
      child.kill("SIGKILL")
      await exited
    }
    const child = start()
    const [message] = await once(child, "message")
    await once(child, "exit")
    expect(message).toEqual({ result: Array.from({ length: 10 }, (_, index) => `ten-1 ${index + 1}`) })
    const lines = linesOf(log)
    for (let n = 1; n <= 10; n++) {
      const stored = lines.indexOf(`stored ${n}`)
      expect(lines.slice(stored).filter((line) => line === `begin ${n}`)).toEqual([])
    }
    // Each kill leaves the outcome of one step unknown at most.
    expect(lines.filter((line) => line.startsWith("begin")).length).toBeLessThanOrEqual(10 + 4)
  },
)
