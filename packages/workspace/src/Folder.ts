/** Creates a folder where it is missing, with its parents. */
import { mkdirSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { privateFolder } from "@detent/store/internal"

/** Creates one folder at a time: Node's recursive `mkdir` never returns below a folder of the kernel, such as /proc. */
export const makeFolder = (path: string): void => {
  if (isFolder(path)) return
  const parent = dirname(path)
  if (parent !== path) makeFolder(parent)
  try {
    mkdirSync(path, { mode: privateFolder })
  } catch (error) {
    // Another process created it first.
    if (!isFolder(path)) throw error
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
