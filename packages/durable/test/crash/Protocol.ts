/** What a test and its worker processes say to each other. */
import type { ClusterOptions } from "@detent/cluster"
import type { Tagged } from "@detent/machine/internal"
import type { Answer } from "../simulation/Answers.ts"

export type StoreAddress = { readonly _tag: "Sqlite"; readonly filename: string } | { readonly _tag: "Postgres"; readonly url: string }

export interface Opening {
  readonly _tag: "Open"
  readonly store: StoreAddress
  readonly node: string
  readonly pace: number
  /** The version of its machines. Default: 1. */
  readonly version?: number
  /** With locks that last so long. */
  readonly lockMillis?: number
  readonly storeTimeoutMillis?: number
  /** As a node of a cluster. */
  readonly cluster?: ClusterOptions
}

export type ToWorker =
  | Opening
  | {
      readonly _tag: "Send"
      readonly token: string
      readonly machine: string
      readonly id: string
      readonly event: Tagged
      readonly dedupeId: string | undefined
    }
  | { readonly _tag: "Read"; readonly machine: string; readonly id: string }
  /** Sets the clock forward or back. */
  | { readonly _tag: "Jump"; readonly millis: number }
  /** Runs nothing for a while, as a loop without an end would. */
  | { readonly _tag: "Block"; readonly millis: number }
  | { readonly _tag: "Stop" }

export type FromWorker =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Opened" }
  | { readonly _tag: "Answered"; readonly token: string; readonly answer: Answer }
  | { readonly _tag: "State"; readonly machine: string; readonly id: string; readonly sequence: number; readonly state: Tagged | undefined }
  | { readonly _tag: "Stopped" }
  | { readonly _tag: "Failed"; readonly problem: string }
