/** Why a whole file cannot be read, with the place of the problem. A problem with one row refuses only that row. */
import * as Schema from "effect/Schema"

/** A place in a file: the index of the row, counted from 0, and the line, counted from 1. */
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

/** The content of a file is not what its format allows. */
export class FileInvalid extends Schema.TaggedError<FileInvalid>()("FileInvalid", {
  file: Schema.String,
  problem: Schema.String,
  place: Schema.optionalKey(Place),
  /** What to do. Default: correct the file and upload it again. */
  next: Schema.optionalKey(Schema.String),
}) {
  override get message() {
    const at = this.place === undefined ? "" : ` (${placeText(this.place)})`
    return `${this.file}: ${this.problem}${at}; ${this.next ?? "correct the file and upload it again"}`
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

/** A file has none of the formats that can be read. */
export class UnsupportedContentType extends Schema.TaggedError<UnsupportedContentType>()("UnsupportedContentType", {
  file: Schema.String,
  contentType: Schema.String,
}) {
  override get message() {
    return `${this.file} is ${this.contentType}; upload CSV, TSV, XLSX, JSON or JSON lines, plain or packed with gzip or zstd`
  }
}

export type TableProblem = FileInvalid | FileTooLarge | FileUnreadable | UnsupportedContentType

export const isTableProblem = (value: unknown): value is TableProblem =>
  value instanceof FileInvalid ||
  value instanceof FileTooLarge ||
  value instanceof FileUnreadable ||
  value instanceof UnsupportedContentType
