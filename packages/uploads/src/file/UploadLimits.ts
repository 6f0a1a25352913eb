/** The limits of a file. Each has a default. */
export interface UploadLimits {
  /** Bytes of the file, before unpacking. Default: 1 GB. */
  readonly maxFileBytes: number
  /** Bytes of an unpacked gzip file. Default: 10 GB. */
  readonly maxUnpackedBytes: number
  /** How many times its size a gzip file may unpack to. Default: 100. JSON of items packs to a tenth at best. */
  readonly maxUnpackRatio: number
  /** Bytes of one item. A larger item fails alone. Default: 1 MB. */
  readonly maxItemBytes: number
  /** Items of a file. Each is an instance with about 1 kB in the database. Default: 1,000,000. */
  readonly maxItems: number
}

export const defaultLimits: UploadLimits = {
  maxFileBytes: 1_000_000_000,
  maxUnpackedBytes: 10_000_000_000,
  maxUnpackRatio: 100,
  maxItemBytes: 1_000_000,
  maxItems: 1_000_000,
}
