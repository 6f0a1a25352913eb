/** The note that a restore keeps in the data folder until it has ended: a partly restored folder is not a workspace. */
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

export const restoreNote = "restoring.json"

const RestoreNote = Schema.Struct({
  /** The folder of the backup. */
  from: Schema.String,
  /** The time of the backup. */
  createdAt: Schema.String,
  /** The hash of the backup's database. */
  sha256: Schema.String,
  /** The process id of the restoring process, for messages. */
  pid: Schema.Int,
  /** Identifies that process, to check whether it still runs. Notes of earlier releases have none. */
  process: Schema.optionalKey(Schema.String),
  /** The SQLite file that is restored to; absent for PostgreSQL. */
  file: Schema.optionalKey(Schema.String),
})
export type RestoreNote = typeof RestoreNote.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(RestoreNote))

/** Undefined where no restore into the data folder is running or was interrupted. */
export const noteIn = (data: string): RestoreNote | undefined => {
  if (isBucketLocation(data)) return undefined
  const file = join(data, restoreNote)
  return existsSync(file) ? Option.getOrUndefined(decode(readFileSync(file, "utf8"))) : undefined
}

/** Whether a restore has begun to write this SQLite database, and has not ended. */
export const isUnderRestore = (data: string, file: string): boolean => noteIn(data)?.file === resolve(file)
