/** A folder that is made where it is missing, with all that it is in. */
import { mkdirSync, statSync } from "node:fs"
import { dirname } from "node:path"

/** One folder after the other: Node's recursive way never ends where the kernel keeps the folder, as below /proc. */
export const makeFolder = (path: string): void => {
  if (isFolder(path)) return
  const parent = dirname(path)
  if (parent !== path) makeFolder(parent)
  try {
    mkdirSync(path)
  } catch (error) {
    // Another process was quicker.
    if (!isFolder(path)) throw error
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
