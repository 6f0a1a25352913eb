/** A folder for the files of a measurement, removed when the process ends for whatever reason. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { atExit } from "./AtExit.ts"

export interface TemporaryFolder {
  file(name: string): string
  remove(): void
}

export const temporaryFolder = (): TemporaryFolder => {
  const path = mkdtempSync(join(tmpdir(), "detent-bench-"))
  return {
    file: (name) => join(path, name),
    remove: atExit(() => rmSync(path, { recursive: true, force: true, maxRetries: 3 })),
  }
}
