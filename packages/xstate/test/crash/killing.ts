/** Processes that take all scenarios through their steps and are killed on the way, and what is stored in the end. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { DatabaseAddress } from "@detent/durable/promise"
import { expect } from "vitest"
import { programOf } from "../../../store/test/support/programs.ts"
import { scenarios } from "./scenarios.ts"
import type { Order, Report } from "./worker.ts"

const program = programOf(join(import.meta.dirname, "worker.ts"))

/** A process, and the reports that it has sent. It loads its modules and waits for the database that it opens. */
class Life {
  readonly #child: ChildProcess
  readonly #reports: Array<Report> = []
  readonly #waiting = new Set<() => void>()
  readonly #exited: Promise<unknown>

  constructor(log: string) {
    this.#child = fork(program, [], {
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

  async until<T extends Report["_tag"]>(...tags: ReadonlyArray<T>): Promise<Extract<Report, { readonly _tag: T }>> {
    for (;;) {
      const found = this.#reports.find(({ _tag }) => (tags as ReadonlyArray<string>).includes(_tag))
      if (found !== undefined) return found as Extract<Report, { readonly _tag: T }>
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) throw new Error("the process has ended")
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
  }

  async open(database: DatabaseAddress) {
    this.#order({ _tag: "Open", database })
    await this.until("Ready")
  }

  take(through: number) {
    this.#order({ _tag: "Take", through })
  }

  #order(order: Order) {
    this.#child.send(order)
  }

  async kill() {
    this.#child.kill("SIGKILL")
    await this.#exited
  }
}

/** When a process is killed in a step: as soon as the first scenario has stored it, or when all have. */
export type KilledWhen = "first" | "all"

const run = async (database: DatabaseAddress, log: string, kills: ReadonlyArray<KilledWhen>) => {
  const longest = Math.max(...scenarios.map(({ steps }) => steps.length))
  // The next one loads its modules while one works.
  let next = new Life(log)
  for (let through = 1; through <= longest; through++) {
    for (const when of kills) {
      const life = next
      next = new Life(log)
      await life.open(database)
      life.take(through)
      if (when === "first") await life.until("Stepping")
      else await life.until("Stepped", "Ended")
      await life.kill()
    }
  }
  await next.open(database)
  next.take(longest)
  const { states } = await next.until("Ended")
  await next.kill()
  const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : []
  // A command that was executed when its process was killed is executed again, under the same key.
  return { states, effects: [...new Set(lines)].map((line) => line.replace(/ as .*/, "")).sort() }
}

/** Runs all scenarios undisturbed and killed at every step, each in a database of its own, and compares how they end. */
export const killedEndsAsUndisturbed = async (
  databases: (folder: string) => { readonly undisturbed: DatabaseAddress; readonly killed: DatabaseAddress },
  kills: ReadonlyArray<KilledWhen>,
) => {
  expect(scenarios.length).toBe(40)
  const folder = mkdtempSync(join(tmpdir(), "detent-xstate-"))
  try {
    const { undisturbed: quiet, killed: disturbed } = databases(folder)
    const [undisturbed, killed] = await Promise.all([
      run(quiet, join(folder, "undisturbed.log"), []),
      run(disturbed, join(folder, "killed.log"), kills),
    ])
    expect(Object.keys(undisturbed.states).length).toBe(scenarios.length)
    expect(killed.states).toEqual(undisturbed.states)
    expect(killed.effects).toEqual(undisturbed.effects)
    expect(undisturbed.effects.length).toBeGreaterThan(20)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
