/** What the pool and its threads say to each other. */

/** Something large that many tasks need, handed to a thread once and known by its key from then on. */
export interface Shared {
  readonly key: string
  readonly value: unknown
}

export type ToWorker =
  | { readonly _tag: "Share"; readonly shared: Shared }
  | { readonly _tag: "Forget"; readonly key: string }
  | { readonly _tag: "Run"; readonly id: number; readonly task: string; readonly input: unknown; readonly shared: string | undefined }

export type FromWorker =
  | { readonly _tag: "Done"; readonly id: number; readonly output: unknown }
  | { readonly _tag: "Failed"; readonly id: number; readonly problem: string }
