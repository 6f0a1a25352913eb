/** Processes that take all scenarios through their steps and are killed on the way, and what is left in the end. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { DatabaseAddress } from "@detent/durable/promise"
import { expect } from "vitest"
import { scenarios } from "./scenarios.ts"
import type { Report } from "./worker.ts"

const program = join(import.meta.dirname, "worker.ts")

/** A process, and the reports that it has sent. */
class Life {
  readonly #child: ChildProcess
  readonly #reports: Array<Report> = []
  readonly #waiting = new Set<() => void>()
  readonly #exited: Promise<unknown>

  constructor(database: DatabaseAddress, log: string) {
    this.#child = fork(program, [database], {
      execArgv: [],
      env: { ...process.env, DETENT_SCENARIO_LOG: log },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    })
    this.#exited = once(this.#child, "exit").then(() => {
      for (const wake of this.#waiting) wake()
    })
    this.#child.on("message", (report: Report) => {
      this.#reports.push(report)
      for (const wake of this.#waiting) wake()
    })
  }

  async until<T extends Report["_tag"]>(tag: T): Promise<Extract<Report, { readonly _tag: T }>> {
    for (;;) {
      const found = this.#reports.find((report) => report._tag === tag)
      if (found !== undefined) return found as Extract<Report, { readonly _tag: T }>
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) throw new Error("the process has ended")
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
  }

  take(through: number) {
    this.#child.send({ through })
  }

  async kill() {
    this.#child.kill("SIGKILL")
    await this.#exited
  }
}

const run = async (database: DatabaseAddress, log: string, isKilled: boolean) => {
  const longest = Math.max(...scenarios.map(({ steps }) => steps.length))
  for (let through = 1; isKilled && through <= longest; through++) {
    const life = new Life(database, log)
    await life.until("Ready")
    life.take(through)
    await life.until("Stepping")
    await life.kill()
  }
  const last = new Life(database, log)
  await last.until("Ready")
  last.take(longest)
  const { states } = await last.until("Ended")
  await last.kill()
  const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : []
  // A command that was executed when its process was killed is executed again, under the same key.
  return { states, effects: [...new Set(lines)].map((line) => line.replace(/ as .*/, "")).sort() }
}

/** Runs all scenarios undisturbed and killed at every step, each in a database of its own, and compares how they end. */
export const killedEndsAsUndisturbed = async (
  databases: (folder: string) => { readonly undisturbed: DatabaseAddress; readonly killed: DatabaseAddress },
) => {
  expect(scenarios.length).toBe(40)
  const folder = mkdtempSync(join(tmpdir(), "detent-xstate-"))
  try {
    const { undisturbed: quiet, killed: disturbed } = databases(folder)
    const undisturbed = await run(quiet, join(folder, "undisturbed.log"), false)
    const killed = await run(disturbed, join(folder, "killed.log"), true)
    expect(Object.keys(undisturbed.states).length).toBe(scenarios.length)
    expect(killed.states).toEqual(undisturbed.states)
    expect(killed.effects).toEqual(undisturbed.effects)
    expect(undisturbed.effects.length).toBeGreaterThan(20)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
