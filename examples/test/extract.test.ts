import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "@effect/vitest"

it("knowledge/extract.ts extracts a document and prints the quotes of its facts", async () => {
  const folder = await mkdtemp(join(tmpdir(), "detent-extract-"))
  const root = join(import.meta.dirname, "..", "..")
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(root, "examples/knowledge/extract.ts"), folder], {
    cwd: root,
  })
  await rm(folder, { recursive: true })
  expect(stdout).toContain("facts, and the quotes that support them")
  expect(stdout).toContain("Ada Sol was born in Port Verran on 2 May 1984")
  expect(stderr).toBe("")
})
