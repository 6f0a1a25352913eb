/** A process is killed while processors run: the next one resumes them, and the entity ends as without the kill. */
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, it } from "@effect/vitest"

const workflow = {
  name: "killed",
  initial: "a",
  states: ["a", "b", "c", "d", "e"],
  transitions: [
    { name: "first", from: "a", to: "b", processors: ["one", "two", "pure"] },
    { name: "second", from: "b", to: "c", processors: ["pure"], criteria: ["known"] },
    { name: "third", from: "c", to: "d", processors: ["two", "three"], criteria: ["known"], criteriaAfter: true },
    { name: "fourth", from: "d", to: "e", processors: ["one"] },
  ],
}

const expected = ["one", "two", "pure", "pure", "two", "three", "one"]

/** The number of calls after which each process is killed: in the first transition, in the second one with effects, and again there. */
const killAfter = [1, 2, 3, 1, 2]

interface Ended {
  readonly state: string
  readonly log: ReadonlyArray<string>
  readonly sequence: number
}

it("kill -9 in the middle of processors: each is called at least once, with one key; the entity has the work of each once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "detent-entity-"))
  try {
    const workflowFile = join(folder, "workflow.json")
    const calls = join(folder, "calls.log")
    writeFileSync(workflowFile, JSON.stringify(workflow))
    writeFileSync(calls, "")
    const linesOf = () =>
      readFileSync(calls, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    const start = (mode: string) => {
      const child = spawn(process.execPath, [join(import.meta.dirname, "worker.ts"), workflowFile, join(folder, "store.db"), calls, mode], {
        stdio: ["ignore", "pipe", "inherit"],
      })
      let output = ""
      child.stdout.on("data", (data: Buffer) => {
        output += data.toString()
      })
      const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()))
      return { child, exited, output: () => output }
    }
    let ended: Ended | undefined
    let interrupted = 0
    for (let round = 0; ended === undefined; round++) {
      expect(round).toBeLessThan(20)
      const before = linesOf().length
      const { child, exited, output } = start(round === 0 ? "start" : "resume")
      const limit = killAfter[round]
      if (limit !== undefined) {
        // The call is written down before it does anything, so the kill comes in the middle of it.
        while (linesOf().length < before + limit && child.exitCode === null) await sleep(1)
        if (child.kill("SIGKILL")) interrupted++
      }
      await exited
      const last = output().split("\n").at(-2)
      if (last?.startsWith("{")) ended = JSON.parse(last)
    }
    expect(existsSync(join(folder, "store.db"))).toBe(true)
    // On a busy machine a process may get further than was meant for it, but not past all of them.
    expect(interrupted).toBeGreaterThan(2)
    // Three transitions with effects, one event each: what was begun and killed has left no trace.
    expect(ended).toEqual({ state: "e", log: expected, sequence: 3 })
    const lines = linesOf()
    expect(lines.length).toBeGreaterThan(5)
    expect([...new Set(lines)].sort()).toEqual(
      [
        "one killed/t-1/1/0/one",
        "one killed/t-1/3/0/one",
        "three killed/t-1/2/1/three",
        "two killed/t-1/1/1/two",
        "two killed/t-1/2/0/two",
      ].sort(),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
