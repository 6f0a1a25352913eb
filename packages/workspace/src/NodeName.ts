/**
 * The node id of a working process in one workspace. Only one process holds an id at a time. A process that starts after another
 * was killed gets the id of the killed process and resumes its work immediately.
 */

import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { releasing } from "@detent/machine/internal"
import { makePrivateFile, privateFile } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { makeFolder } from "./Folder.ts"

/** The data folder cannot be written to. */
export interface WriteFailed {
  readonly _tag: "WriteFailed"
  readonly cause: unknown
}

/** Returns the first free name. A file lock holds it; the kernel releases the lock when the process dies. */
export const takeNodeName = (data: string): Effect.Effect<string, WriteFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const folder = join(data, "nodes")
    const random = yield* Effect.all([Random.nextIntBetween(0, 2 ** 32), Random.nextIntBetween(0, 2 ** 32)])
    const writing = <A>(write: () => A) => Effect.try({ try: write, catch: (cause): WriteFailed => ({ _tag: "WriteFailed", cause }) })
    const workspace = yield* writing(() => workspaceName(folder, random.map((part) => part.toString(16).padStart(8, "0")).join("")))
    for (let number = 1; ; number++) {
      const lock = yield* Effect.acquireRelease(
        writing(() => tryLock(join(folder, `${number}.lock`))),
        (held) => releasing("the name of the node", () => held?.close()),
      )
      if (lock !== undefined) return `${workspace}/${number}`
    }
  })

/**
 * The name of the folder among all folders on one database, chosen once. A host name is not unique and not stable: containers
 * share one, or get a new one with every start.
 */
const workspaceName = (folder: string, chosen: string): string => {
  makeFolder(folder)
  const file = join(folder, "name")
  if (!existsSync(file)) {
    const draft = `${file}.${chosen}`
    writeFileSync(draft, chosen, { mode: privateFile })
    try {
      // Of two processes that choose at the same time one wins, and no process reads half a name.
      linkSync(draft, file)
    } catch (error) {
      if (!existsSync(file)) throw error
    } finally {
      rmSync(draft)
    }
  }
  return readFileSync(file, "utf8")
}

/** Locks a file with a write transaction that writes nothing. Returns undefined where another process holds the lock. */
const tryLock = (file: string): DatabaseSync | undefined => {
  makePrivateFile(file)
  const database = new DatabaseSync(file)
  try {
    database.exec("BEGIN IMMEDIATE")
    return database
  } catch (error) {
    database.close()
    if (isBusy(error)) return undefined
    throw error
  }
}

const sqliteBusy = 5

const isBusy = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "errcode" in error && error.errcode === sqliteBusy
