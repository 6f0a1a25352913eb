/** The errors of reading a document, each with the next step. */
import * as Schema from "effect/Schema"

export const DocumentFormat = Schema.Literals(["txt", "md", "html", "json", "jsonl", "csv", "xlsx", "pdf"])
export type DocumentFormat = typeof DocumentFormat.Type

export class FormatUnknown extends Schema.TaggedError<FormatUnknown>()("FormatUnknown", {
  source: Schema.String,
  contentType: Schema.optionalKey(Schema.String),
}) {
  override get message() {
    const given = this.contentType === undefined ? "its name does not show its format" : `there is no reader for ${this.contentType}`
    return `${this.source}: ${given}; name a content type of ${DocumentFormat.literals.join(", ")}, or convert it to one of these`
  }
}

export class DocumentEmpty extends Schema.TaggedError<DocumentEmpty>()("DocumentEmpty", {
  source: Schema.String,
  format: DocumentFormat,
}) {
  override get message() {
    const next = this.format === "pdf" ? "if its pages are pictures, run OCR on them first" : "remove it from the batch, or add text to it"
    return `${this.source} contains no text; ${next}`
  }
}

export class DocumentBinary extends Schema.TaggedError<DocumentBinary>()("DocumentBinary", {
  source: Schema.String,
  /** The format it seems to have. */
  looksLike: Schema.optionalKey(Schema.String),
}) {
  override get message() {
    const seems = this.looksLike === undefined ? "" : ` and looks like ${this.looksLike}`
    return `${this.source} is not text${seems}; name its real content type, or convert it to text in UTF-8`
  }
}

export class DocumentWronglyEncoded extends Schema.TaggedError<DocumentWronglyEncoded>()("DocumentWronglyEncoded", {
  source: Schema.String,
  problem: Schema.String,
  /** The first byte that is wrong, counted from 0. */
  offset: Schema.optionalKey(Schema.Finite),
}) {
  override get message() {
    const where = this.offset === undefined ? "" : ` at byte ${this.offset}`
    return `${this.source}: ${this.problem}${where}; save it as UTF-8`
  }
}

export class DocumentEncrypted extends Schema.TaggedError<DocumentEncrypted>()("DocumentEncrypted", { source: Schema.String }) {
  override get message() {
    return `${this.source} is protected by a password; save a copy without one`
  }
}

export class DocumentMalformed extends Schema.TaggedError<DocumentMalformed>()("DocumentMalformed", {
  source: Schema.String,
  format: DocumentFormat,
  /** Counted from 1. */
  line: Schema.optionalKey(Schema.Finite),
  problem: Schema.String,
}) {
  override get message() {
    const where = this.line === undefined ? this.source : `${this.source}, line ${this.line}`
    return `${where}: no valid ${this.format.toUpperCase()}: ${this.problem}; correct it, or name its real content type`
  }
}

/** The document is too large for a format that is read as a whole. */
export class DocumentTooLarge extends Schema.TaggedError<DocumentTooLarge>()("DocumentTooLarge", {
  source: Schema.String,
  format: DocumentFormat,
  size: Schema.Finite,
  limit: Schema.Finite,
}) {
  override get message() {
    return `${this.source} has ${this.size} bytes, more than the ${this.limit} a ${this.format.toUpperCase()} document may have; split it, or save it as plain text, which may be of any size`
  }
}

/** Work on the document exceeded a limit twice, or crashed the worker. It is not tried again in the same batch. */
export class DocumentSetAside extends Schema.TaggedError<DocumentSetAside>()("DocumentSetAside", {
  source: Schema.String,
  problem: Schema.String,
  /** The limit to raise when the document is correct as it is. */
  setting: Schema.String,
}) {
  override get message() {
    return `${this.source} is set aside: ${this.problem}; split or simplify it, or raise ${this.setting}, and start a new batch`
  }
}

export const ReadError = Schema.Union([
  FormatUnknown,
  DocumentEmpty,
  DocumentBinary,
  DocumentWronglyEncoded,
  DocumentEncrypted,
  DocumentMalformed,
  DocumentTooLarge,
  DocumentSetAside,
])
export type ReadError = typeof ReadError.Type
