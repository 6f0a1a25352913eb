import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"
import { scenarios } from "./scenarios.ts"
import type { Report } from "./worker.ts"

const program = join(import.meta.dirname, "worker.ts")

/** A process, and the reports that it has sent. */
class Life {
  readonly #child: ChildProcess
  readonly #reports: Array<Report> = []
  readonly #waiting = new Set<() => void>()
  readonly #exited: Promise<unknown>

  constructor(database: string, log: string) {
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

const run = async (folder: string, name: string, kills: ReadonlyArray<"Stepping" | "Stepped">) => {
  const log = join(folder, `${name}.log`)
  const database = `sqlite:${join(folder, `${name}.db`)}`
  const longest = Math.max(...scenarios.map(({ steps }) => steps.length))
  for (let through = 1; through <= longest; through++) {
    for (const moment of kills) {
      const life = new Life(database, log)
      await life.until("Ready")
      life.take(through)
      // The last step ends every scenario: there is nothing after it.
      await life.until(moment === "Stepped" && through === longest ? "Ended" : moment)
      await life.kill()
    }
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

it("40 scenarios that are killed with SIGKILL at every step end as undisturbed ones do", async () => {
  expect(scenarios.length).toBe(40)
  const folder = mkdtempSync(join(tmpdir(), "detent-xstate-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const undisturbed = await run(folder, "undisturbed", [])
  const killed = await run(folder, "killed", ["Stepping"])
  expect(Object.keys(undisturbed.states).length).toBe(scenarios.length)
  expect(killed.states).toEqual(undisturbed.states)
  expect(killed.effects).toEqual(undisturbed.effects)
  expect(undisturbed.effects.length).toBeGreaterThan(20)
}, 120_000)
