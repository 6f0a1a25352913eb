/**
 * What a pool and its worker processes say to each other. A worker has one task at a time. While it works, it may ask for the next
 * piece of a source and hand over a part of its output; it waits for the answer to either before it continues.
 */

/** Something large that many tasks need: handed to a worker once, and known by its key from then on. */
export interface Shared {
  readonly key: string
  readonly value: unknown
}

export type ToWorker =
  | { readonly _tag: "Share"; readonly shared: Shared }
  | { readonly _tag: "Forget"; readonly key: string }
  | {
      readonly _tag: "Run"
      readonly task: string
      readonly input: unknown
      readonly shared: string | undefined
      /** In megabytes: the worker ends itself above it. */
      readonly memory: number
    }
  /** The next piece of the source that was asked for; without items, the source is at its end. */
  | { readonly _tag: "Piece"; readonly items: ReadonlyArray<unknown> | undefined }
  /** What was emitted is taken. */
  | { readonly _tag: "Taken" }

export type FromWorker =
  | { readonly _tag: "Ready" }
  /** `opening` tells apart what is read at the same time, also of one source: each is read from its beginning. */
  | { readonly _tag: "Pull"; readonly source: string; readonly opening: number }
  | { readonly _tag: "Emit"; readonly items: ReadonlyArray<unknown> }
  /** `memory` is what the process holds, in megabytes. */
  | { readonly _tag: "Done"; readonly output: unknown; readonly memory: number }
  /** `isUnsound`: the state of the worker cannot be relied on any more. */
  | { readonly _tag: "Failed"; readonly problem: string; readonly isUnsound: boolean; readonly memory: number }
