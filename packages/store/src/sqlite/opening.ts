/** Creates the folder of a SQLite file if it does not exist, and explains why a file cannot be opened. */
import { mkdirSync, statSync } from "node:fs"
import { dirname } from "node:path"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { SqlError } from "effect/sql/SqlError"
import { causeOf, type Explain, StoreNotOpened } from "../contract/StoreNotOpened.ts"
import { makePrivateFile, privateFolder } from "../runtime/PrivateFiles.ts"

/** Databases in memory have no folder, and only SQLite knows which part of a `file:` address is the path. */
export const hasFolder = (filename: string): boolean => filename !== "" && filename !== ":memory:" && !filename.startsWith("file:")

export const makeFolder = (filename: string): Effect.Effect<void, StoreNotOpened> => {
  if (!hasFolder(filename)) return Effect.void
  const nextStep = "create the folder, or name a place where this user may create one"
  return Effect.try({
    try: () => make(dirname(filename)),
    catch: (cause) =>
      notOpened(filename, `its folder cannot be created: ${cause instanceof Error ? cause.message : String(cause)}`, nextStep),
  })
}

/** Creates a missing database file that only this user may read. An error is left to SQLite, which explains it. */
export const makeFile = (filename: string): Effect.Effect<void> =>
  hasFolder(filename) ? Effect.ignore(Effect.try(() => makePrivateFile(filename))) : Effect.void

/** Creates one folder after the other: `recursive` retries forever where the file system allows no folders, such as in /proc. */
const make = (folder: string): void => {
  if (isFolder(folder)) return
  make(dirname(folder))
  try {
    mkdirSync(folder, { mode: privateFolder })
  } catch (cause) {
    // Another process may have created it first.
    if (!isFolder(folder)) throw cause
  }
}

/** The problems of a file, by SQLite's result code. */
const reasons: { readonly [code: number]: readonly [problem: string, nextStep: string] } = {
  8: ["it cannot be written to", "let this user write to the file and to its folder, which the write-ahead log is in"],
  10: ["reading or writing it failed", "check the disk it is on"],
  11: ["it is damaged", "restore it from a backup"],
  13: ["its disk is full", "free space on the disk"],
  14: ["it cannot be opened", "let this user read and write the file and its folder"],
  26: ["it is not a SQLite database", "name another file"],
}

export const explainSqlite =
  (filename: string): Explain =>
  (error) => {
    const reason = reasons[codeOf(error)]
    if (reason === undefined) return undefined
    return isFolder(filename)
      ? notOpened(filename, "it is a folder", `name a file in it, such as ${filename}/detent.db`)
      : notOpened(filename, ...reason)
  }

/** Whether another process has the file locked at the moment. */
export const isBusy = (error: SqlError): boolean => [5, 6].includes(codeOf(error))

/**
 * Whether another process held a lock that will be released. False if another process has written since this transaction began to read: the
 * transaction can only begin again.
 */
export const isLockedElsewhere = (error: SqlError): boolean => codeOf(error) === 5 && extendedCodeOf(error) >> 8 !== 2

/** The lower eight bits; the others are details. */
const codeOf = (error: unknown): number => extendedCodeOf(error) & 0xff

const extendedCodeOf = (error: unknown): number => {
  const cause = causeOf(error)
  return Predicate.hasProperty(cause, "errcode") && typeof cause.errcode === "number" ? cause.errcode : -1
}

const isFolder = (filename: string): boolean => statSync(filename, { throwIfNoEntry: false })?.isDirectory() === true

const notOpened = (place: string, problem: string, nextStep: string) => new StoreNotOpened({ store: "SQLite", place, problem, nextStep })
