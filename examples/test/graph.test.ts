import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "@effect/vitest"

it("knowledge/graph.ts makes a graph of the corpus and prints facts with their quotes", async () => {
  const folder = await mkdtemp(join(tmpdir(), "detent-graph-"))
  const root = join(import.meta.dirname, "..", "..")
  const program = [join(root, "examples/knowledge/graph.ts"), join(folder, "made", "by", "it")]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, program, { cwd: root })
  await rm(folder, { recursive: true })
  expect(stdout).toContain("Completed: 32 documents")
  expect(stdout).toContain('"Halcyon Works was founded in 1902"')
  expect(stderr).toBe("")
})
