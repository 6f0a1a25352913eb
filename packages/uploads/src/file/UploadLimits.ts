import { defaultTableLimits, type TableLimits } from "@detent/tables"

/** The limits of a file. Each has a default. */
export interface UploadLimits {
  /** Bytes of the file, before unpacking. Default: 1 GB. */
  readonly maxFileBytes: number
  /** Bytes of an unpacked file. Default: 10 GB. */
  readonly maxUnpackedBytes: number
  /** How many times its size a packed file may unpack to. Default: 100. Items pack to a tenth at best. */
  readonly maxUnpackRatio: number
  /** Bytes of one item. A larger item fails alone. Default: 1 MB. */
  readonly maxItemBytes: number
  /** Columns of a table. Default: 2,000. */
  readonly maxColumns: number
  /** Items of a file. Each is an instance with about 1 kB in the database. Default: 1,000,000. */
  readonly maxItems: number
}

export const defaultLimits: UploadLimits = {
  maxFileBytes: 1_000_000_000,
  maxUnpackedBytes: 10_000_000_000,
  maxUnpackRatio: 100,
  maxItemBytes: 1_000_000,
  maxColumns: defaultTableLimits.maxColumns,
  maxItems: 1_000_000,
}

/** The limits of reading the rows of a file. */
export const tableLimits = ({ maxFileBytes, maxUnpackedBytes, maxUnpackRatio, maxItemBytes, maxColumns }: UploadLimits): TableLimits => ({
  ...defaultTableLimits,
  maxFileBytes,
  maxUnpackedBytes,
  maxUnpackRatio,
  maxColumns,
  maxRowBytes: maxItemBytes,
})
