/**
 * The permissions of new files and folders with data: only the user of the process may read them. A file or folder that exists keeps its
 * permissions.
 */
import { closeSync, constants, existsSync, openSync } from "node:fs"

export const privateFolder = 0o700
export const privateFile = 0o600

/**
 * Creates a missing file of SQLite, which would itself create one that every user can read. Its log, its journal and its shared memory get
 * the permissions of the file.
 */
export const makePrivateFile = (path: string): void => {
  try {
    closeSync(openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, privateFile))
  } catch (error) {
    // Another process may have created it first.
    if (!existsSync(path)) throw error
  }
}
