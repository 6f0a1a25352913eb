/** Why a whole file cannot be processed, with the place of the problem. A problem with one item fails only that item. */
import * as Schema from "effect/Schema"

/** A place in a file: the index of the item, counted from 0, and the line, counted from 1. */
export const Place = Schema.Struct({
  index: Schema.optionalKey(Schema.Int),
  line: Schema.optionalKey(Schema.Int),
  /** Bytes from the start of the text, after unpacking. */
  offset: Schema.optionalKey(Schema.Int),
})
export type Place = typeof Place.Type

/** A place as text, such as `item 7, line 9, byte 1204`. */
export const placeText = ({ index, line, offset }: Place): string =>
  [
    ...(index === undefined ? [] : [`item ${index}`]),
    ...(line === undefined ? [] : [`line ${line}`]),
    ...(offset === undefined ? [] : [`byte ${offset}`]),
  ].join(", ")

/** The content of a file is neither an array of items nor lines of items. */
export class FileInvalid extends Schema.TaggedError<FileInvalid>()("FileInvalid", {
  file: Schema.String,
  problem: Schema.String,
  place: Schema.optionalKey(Place),
}) {
  override get message() {
    const at = this.place === undefined ? "" : ` (${placeText(this.place)})`
    return `${this.file}: ${this.problem}${at}; correct the file and upload it again`
  }
}

/** A file exceeds a size limit, packed or unpacked. */
export class FileTooLarge extends Schema.TaggedError<FileTooLarge>()("FileTooLarge", {
  file: Schema.String,
  /** The bytes read so far. */
  bytes: Schema.Number,
  limit: Schema.Number,
  what: Schema.Literals(["file", "unpacked", "ratio"]),
}) {
  override get message() {
    const { file, bytes, limit } = this
    if (this.what === "file") return `${file} has ${bytes} bytes, ${limit} are allowed; split it, or raise maxFileBytes`
    if (this.what === "unpacked") return `${file} unpacks to more than ${limit} bytes; split it, or raise maxUnpackedBytes`
    return `${file} unpacks to more than ${limit} times its size, ${bytes} bytes so far; upload it unpacked, or raise maxUnpackRatio`
  }
}

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

/** A file no longer exists, cannot be read, or could not be written when it was received. */
export class FileUnreadable extends Schema.TaggedError<FileUnreadable>()("FileUnreadable", {
  file: Schema.String,
  problem: Schema.String,
  while: Schema.Literals(["reading", "receiving"]),
}) {
  override get message() {
    const { file, problem } = this
    if (this.while === "receiving") return `${file} cannot be stored: ${problem}; make its folder writable, and send it again`
    return `${file} cannot be read: ${problem}; put it back and retry the batch`
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

/** The declared content type is not JSON. */
export class UnsupportedContentType extends Schema.TaggedError<UnsupportedContentType>()("UnsupportedContentType", {
  file: Schema.String,
  contentType: Schema.String,
}) {
  override get message() {
    return `${this.file} is ${this.contentType}; upload JSON (application/json) or lines of JSON (application/x-ndjson), plain or gzip`
  }
}

export type FileProblem = FileInvalid | FileTooLarge | TooManyItems | FileUnreadable | FileChanged | FileDamaged | UnsupportedContentType
