/** Nominal times while three processes are killed at random: each starts exactly once. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, it } from "vitest"
import { until } from "../../../store/test/support/patience.ts"
import { type AsyncEngine, openEngine } from "../../src/promise.ts"
import { freshAddress } from "../promise/Databases.ts"
import { Started, secondly } from "./secondly.ts"

const program = join(import.meta.dirname, "schedulingProcess.ts")

const enough = 1000

const startedIds = async (engine: AsyncEngine): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  for (let after: Awaited<ReturnType<AsyncEngine["list"]>>["next"]; ; ) {
    const page = await engine.list(Started, { limit: 1000, ...(after === undefined ? {} : { after }) })
    for (const { id } of page.instances) ids.push(id)
    after = page.next
    if (after === undefined) return ids
  }
}

it.each(["PostgreSQL", "SQLite"] as const)(
  `on %s, of ${enough} nominal times none is missing and none is doubled, while three processes are killed`,
  { timeout: 600_000 },
  async (kind) => {
    const database = await freshAddress(kind)
    const begin = () => fork(program, [database], { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] })
    const processes: Array<ChildProcess> = [begin(), begin(), begin()]
    let kills = 0
    await using engine = await openEngine({ database, machines: [Started], schedules: secondly, worker: false, work: false })
    while ((await startedIds(engine)).length < enough) {
      await sleep(500 + Math.random() * 2000)
      const index = Math.floor(Math.random() * processes.length)
      const killed = processes[index] as ChildProcess
      const exited = once(killed, "exit")
      killed.kill("SIGKILL")
      await exited
      kills++
      processes[index] = begin()
    }
    for (const { name } of secondly) await engine.schedules.pause(name)
    for (const { name } of secondly)
      await until(`the starts of ${name} that wait`, async () => {
        const { waiting, current } = await engine.schedules.get(name)
        return waiting === 0 && current === undefined
      })
    const ids = await startedIds(engine)
    for (const { name } of secondly) {
      const times = ids.flatMap((id) => (id.startsWith(`${name}@`) ? [Date.parse(id.slice(name.length + 1))] : [])).sort()
      const expected = times.map((_, index) => (times[0] ?? 0) + index * 1000)
      expect(times).toEqual(expected)
      expect(await engine.schedules.get(name)).toMatchObject({ started: times.length, skipped: 0, failed: 0 })
    }
    expect(kills).toBeGreaterThan(3)
    for (const one of processes) one.kill("SIGKILL")
  },
)
