/**
 * Detects that the database file or its write-ahead log was deleted or replaced while it is open. The operating system keeps the deleted
 * file for this process alone: SQLite would continue to write without an error, and all these writes would be lost with the process.
 */
import { type Stats, statSync } from "node:fs"
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import { RowProblem } from "../sql/StoreFailure.ts"

/** Raised after a write that did not reach the file of this name, and by every statement after that. */
const fileReplaced = (path: string): RowProblem =>
  new RowProblem(
    `${path} was deleted or replaced while it was open, and the writes since then are not in it: stop this process, restore the file and its -wal from a backup or from where they were moved to, and start again`,
  )

export class FileGuard {
  readonly #filename: string
  #file: Identity | undefined
  #log: Identity | undefined
  #problem: RowProblem | undefined

  constructor(filename: string) {
    this.#filename = filename
  }

  get problem(): RowProblem | undefined {
    return this.#problem
  }

  /** Remembers which files are open. Call it when the database is in WAL mode. */
  arm() {
    this.#file = identityOf(this.#filename)
    this.#log = identityOf(`${this.#filename}-wal`)
  }

  /** Throws if the file or its log is no longer the one that was opened. Called after each commit, before it is acknowledged. */
  check() {
    if (this.#problem !== undefined) throw this.#problem
    const log = identityOf(`${this.#filename}-wal`)
    if (this.#log === undefined) this.#log = log
    else if (!isSame(this.#log, log)) this.#fail(`${this.#filename}-wal`)
    if (!isSame(this.#file, identityOf(this.#filename))) this.#fail(this.#filename)
  }

  #fail(path: string): never {
    this.#problem = fileReplaced(path)
    throw this.#problem
  }
}

/** The guard of the file that a store writes to. A store over a client of the user's own has none. */
export const CurrentFileGuard = Context.Reference<Option.Option<FileGuard>>("@detent/durable/sqlite/FileGuard", {
  defaultValue: Option.none,
})

type Identity = Pick<Stats, "dev" | "ino">

const identityOf = (path: string): Identity | undefined => statSync(path, { throwIfNoEntry: false })

const isSame = (one: Identity | undefined, other: Identity | undefined): boolean => one?.ino === other?.ino && one?.dev === other?.dev
