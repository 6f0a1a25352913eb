/** Temporary files of measurements. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

const folder = join(import.meta.dirname, "..", ".generated")

/** An empty folder, inside bench/ so that imports resolve as they do for its own files. */
export const generatedFolder = (name: string): string => {
  const path = join(folder, name)
  rmSync(path, { recursive: true, force: true })
  mkdirSync(path, { recursive: true })
  return path
}

export const write = (path: string, content: string) => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}
