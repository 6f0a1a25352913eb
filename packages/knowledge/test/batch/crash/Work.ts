/** The messages to a process that runs a batch, and its answers. */
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
  /** How long the extractor takes for a chunk, in milliseconds. Default: 5. */
  readonly pause?: number
  /** `cancel` cancels the batch and does no work; `wait` works on what is there and does not start it. Default: it starts the batch. */
  readonly task?: "cancel" | "wait"
  /** The batch is dispatched by tasks, which arrive twice and late, and every third call of the extractor fails. Default: in process. */
  readonly byTasks?: boolean
}

export type Told =
  | { readonly _tag: "Ready" }
  /** The state the batch is in now. */
  | { readonly _tag: "State"; readonly state: { readonly _tag: string } }
  | { readonly _tag: "Problem"; readonly problem: string }
