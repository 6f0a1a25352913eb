/** The output and the exit code of the benchmark program. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { root } from "../projects.mjs"

/** Measures the group of support/failing. */
const measure = (choice: { readonly only?: string }) => {
  const group = join("..", "..", "scripts", "test", "support", "failing")
  const chosen = JSON.stringify({ group, quick: true, json: true, record: false, ...choice })
  return spawnSync(process.execPath, [join(root, "bench", "main.ts"), chosen], { encoding: "utf8" })
}

describe("a group of benchmarks", () => {
  it("ends with 1 and the reason where a part fails, and with the figures of the others", () => {
    const { status, stdout, stderr } = measure({})
    expect(stderr).toContain("broken failed: Error: a node did not start")
    expect(stdout.trim().split("\n").at(-1)).toBe('{"sound.figure":1}')
    expect(status).toBe(1)
  })

  it("ends with 0 where all parts were measured", () => {
    expect(measure({ only: "sound" }).status).toBe(0)
  })
})
