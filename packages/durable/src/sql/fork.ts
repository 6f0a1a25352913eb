/** What SQLite and PostgreSQL do alike when an instance is forked. */
import type { Commit } from "../store/Commit.ts"
import type { Row } from "./Row.ts"
import { optionalTextOf, textOf, wholeOf } from "./Row.ts"

/** A fork begins with what its source began with, and with its snapshot, unless it brings its own. */
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
