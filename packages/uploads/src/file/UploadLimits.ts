/** The limits of a file. Each has a default. */
export interface UploadLimits {
  /** Bytes of the file as it is; default: 1 GB. */
  readonly maxFileBytes: number
  /** Bytes of a gzip file unpacked; default: 10 GB. */
  readonly maxUnpackedBytes: number
  /** How many times its size a gzip file may unpack to; default: 100. JSON of items packs to a tenth at best. */
  readonly maxUnpackRatio: number
  /** Bytes of one item; default: 1 MB. A larger one fails alone. */
  readonly maxItemBytes: number
}

export const defaultLimits: UploadLimits = {
  maxFileBytes: 1_000_000_000,
  maxUnpackedBytes: 10_000_000_000,
  maxUnpackRatio: 100,
  maxItemBytes: 1_000_000,
}
