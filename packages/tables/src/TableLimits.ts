/** The limits of a file. Each has a default. */
export interface TableLimits {
  /** Bytes of the file, before unpacking. Default: 1 GB. */
  readonly maxFileBytes: number
  /** Bytes of the unpacked text; for an XLSX file of its unpacked parts, and of a shared text for each cell that has it. Default: 10 GB. */
  readonly maxUnpackedBytes: number
  /** How many times its size a file may unpack to. Default: 100. */
  readonly maxUnpackRatio: number
  /** Bytes of one row. A larger row is refused alone. Default: 1 MB. */
  readonly maxRowBytes: number
  /** Columns of a table. Default: 2,000. */
  readonly maxColumns: number
  /** Bytes of the shared texts of an XLSX file, which are in memory while it is read. Default: 100 MB. */
  readonly maxSharedBytes: number
}

export const defaultTableLimits: TableLimits = {
  maxFileBytes: 1_000_000_000,
  maxUnpackedBytes: 10_000_000_000,
  maxUnpackRatio: 100,
  maxRowBytes: 1_000_000,
  maxColumns: 2_000,
  maxSharedBytes: 100_000_000,
}
