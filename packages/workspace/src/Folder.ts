/** Creates a folder where it is missing, with its parents. */
import { mkdirSync, statSync } from "node:fs"
import { dirname } from "node:path"

/** One folder after the other: Node's recursive `mkdir` never ends where the kernel owns the folder, as below /proc. */
export const makeFolder = (path: string): void => {
  if (isFolder(path)) return
  const parent = dirname(path)
  if (parent !== path) makeFolder(parent)
  try {
    mkdirSync(path)
  } catch (error) {
    // Another process created it first.
    if (!isFolder(path)) throw error
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
