import { fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { expect, it } from "vitest"
import type { IndexProgress } from "../../src/index.ts"
import { openEngine } from "../../src/promise.ts"
import { freshAddress } from "./Databases.ts"
import { E, Indexed, Unindexed } from "./filledMachine.ts"

const program = join(import.meta.dirname, "killedFill.ts")
const instances = 2000

it.each(["SQLite", "PostgreSQL"] as const)(
  "on %s the fill of an index resumes after SIGKILL, and finds every instance that was stored before",
  async (kind) => {
    const database = await freshAddress(kind)
    {
      await using engine = await openEngine({ database, machines: [Unindexed] })
      const ids = Array.from({ length: instances }, (_, n) => n)
      for (let from = 0; from < instances; from += 200)
        await Promise.all(
          ids.slice(from, from + 200).map(async (n) => {
            const order = await engine.start(Unindexed, `o-${n}`, { customer: `customer-${n % 100}`, total: n })
            if (n % 10 === 0) await order.send(E.Add({ amount: 10_000 }))
          }),
        )
    }
    let filled = 0
    for (let kills = 0; ; ) {
      const child = fork(program, [database], { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] })
      const exited = once(child, "exit")
      const before = filled
      child.on("message", (progress: IndexProgress) => {
        // What an earlier process has filled is not filled again.
        if (progress.filled > 0) expect(progress.filled).toBeGreaterThanOrEqual(before)
        filled = Math.max(filled, progress.filled)
        if (kills < 4 && filled > before && !progress.isComplete) child.kill("SIGKILL")
      })
      const [code] = await exited
      if (code === 0) break
      kills++
    }
    expect(filled).toBe(instances)
    await using engine = await openEngine({ database, machines: [Indexed] })
    expect(await engine.indexes(Indexed)).toEqual({ filled: instances, isComplete: true })
    const found = await engine.list(Indexed, { where: { customer: "customer-70" }, order: { total: "ascending" } })
    expect(found.instances.map(({ id }) => id)).toHaveLength(20)
    expect(found.instances[0]).toMatchObject({ id: "o-70", fields: { total: 10_070 } })
    const all: Array<string> = []
    for (let page = await engine.list(Indexed, { where: { total: { atLeast: 0 } }, limit: 1000 }); ; ) {
      all.push(...page.instances.map(({ id }) => id))
      if (page.next === undefined) break
      page = await engine.list(Indexed, { where: { total: { atLeast: 0 } }, limit: 1000, after: page.next })
    }
    expect(new Set(all).size).toBe(instances)
  },
)
