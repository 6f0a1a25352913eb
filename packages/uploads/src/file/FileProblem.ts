/** Why a whole file cannot be processed, with the place of the problem. A problem with one item fails only that item. */
import type { TableProblem } from "@detent/tables"
import * as Schema from "effect/Schema"

/** A file has more items than are allowed. It is refused before any of them is stored. */
export class TooManyItems extends Schema.TaggedError<TooManyItems>()("TooManyItems", {
  file: Schema.String,
  limit: Schema.Number,
}) {
  override get message() {
    const { file, limit } = this
    return `${file} has more than ${limit} items, and none is stored; split it, or raise limits.uploadItems of the configuration (maxItems of Uploads.layer)`
  }
}

/** A file has changed since it was validated. */
export class FileChanged extends Schema.TaggedError<FileChanged>()("FileChanged", {
  file: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.file} has changed: ${this.problem}; put the original back and retry the batch, or upload the new file as a batch of its own`
  }
}

/** The MD5 of the received bytes differs from the MD5 that the sender gave. */
export class FileDamaged extends Schema.TaggedError<FileDamaged>()("FileDamaged", {
  file: Schema.String,
  md5: Schema.String,
  expected: Schema.String,
}) {
  override get message() {
    return `${this.file} has the MD5 ${this.md5}, ${this.expected} was expected; send it again`
  }
}

export type FileProblem = TableProblem | TooManyItems | FileChanged | FileDamaged
