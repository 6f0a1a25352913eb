/** The part of a fork that SQLite and PostgreSQL share. */
import type { Commit } from "../contract/Commit.ts"
import type { Row } from "./Row.ts"
import { optionalTextOf, textOf, wholeOf } from "./Row.ts"

/** Returns the commit with the first state and the snapshot of the source, unless it has its own. */
export const inheriting = (to: Commit, source: Row): Commit => ({
  ...to,
  origin: to.origin ?? optionalTextOf(source, "origin"),
  snapshot:
    to.snapshot ??
    (source["sequence"] === null
      ? undefined
      : {
          sequence: wholeOf(source, "sequence"),
          at: wholeOf(source, "at"),
          version: wholeOf(source, "version"),
          body: textOf(source, "body"),
        }),
})
