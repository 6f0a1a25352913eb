/** The note that a restore leaves in the data folder until it has ended: without the rest, the folder is not a workspace. */
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { isBucketLocation } from "@detent/durable/BucketLocation"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

export const restoreNote = "restoring.json"

const RestoreNote = Schema.Struct({
  /** The folder of the backup. */
  from: Schema.String,
  /** Of the backup. */
  createdAt: Schema.String,
  /** Of its database. */
  sha256: Schema.String,
  /** The number of the process that restores, on its host. For messages. */
  pid: Schema.Int,
  /** The name of that process, which says whether it still runs. Notes of earlier releases have none. */
  process: Schema.optionalKey(Schema.String),
  /** The database that is restored to; absent for one of PostgreSQL. */
  file: Schema.optionalKey(Schema.String),
})
export type RestoreNote = typeof RestoreNote.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(RestoreNote))

/** Undefined where no restore into the data folder is running or was cut off. */
export const noteIn = (data: string): RestoreNote | undefined => {
  if (isBucketLocation(data)) return undefined
  const file = join(data, restoreNote)
  return existsSync(file) ? Option.getOrUndefined(decode(readFileSync(file, "utf8"))) : undefined
}

/** Whether a restore has begun to write this SQLite database, and has not ended. */
export const isUnderRestore = (data: string, file: string): boolean => noteIn(data)?.file === resolve(file)
