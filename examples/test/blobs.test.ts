import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"

it("keeps what both writers added", async () => {
  const folder = mkdtempSync(join(tmpdir(), "detent-blobs-"))
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, "../blobs/pointer.ts"), folder])
    expect(stdout).toBe("Ada and Grace\n")
    expect(readFileSync(join(folder, "names.txt"), "utf8").split("\n").sort()).toEqual(["", "Ada", "Grace"])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
