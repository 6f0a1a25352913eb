/** What a process that runs a batch is told, and what it tells. */
export interface Work {
  /** The same after every restart; two processes at once have two. */
  readonly node: string
  /** A file, or the address of a PostgreSQL database. */
  readonly database: string
  readonly data: string
  readonly input: string
  readonly names: ReadonlyArray<string>
  readonly batchId: string
  /** Gets a line for every call of the extractor: the hash of what it was asked about. */
  readonly calls: string
}

export type Told =
  | { readonly _tag: "Ready" }
  /** The state the batch is in now. */
  | { readonly _tag: "State"; readonly state: { readonly _tag: string } }
  | { readonly _tag: "Problem"; readonly problem: string }
