/** How the requested effects of a slot are carried out, and which events they lead to. */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { Tagged } from "../define/Declarations.ts"
import type { CommandFailed } from "./CommandResult.ts"
import type { RetryPolicy } from "./RetryPolicy.ts"

/** What a result is told with. */
export interface CommandContext<P> {
  /** The instance that requested it. */
  readonly id: string
  /** The idempotency key of the command. */
  readonly key: string
  readonly parameters: P
}

export interface SlotSettings<P, A, X, E> {
  /** The event that follows from success, if any. */
  readonly onSuccess?: (value: A, context: CommandContext<P>) => E | undefined
  /** The event that follows when it failed for good, if any. */
  readonly onFailure?: (error: X | CommandFailed, context: CommandContext<P>) => E | undefined
  /** Which failures are worth another attempt; all unless told. */
  readonly retryable?: (error: X) => boolean
  /** A durable engine tries again with growing pauses unless told; in memory a slot runs once unless told. */
  readonly retry?: RetryPolicy
  /** How long one execution may take. */
  readonly timeout?: Duration.Input
  /** Which queue of a durable engine it waits in; that of the machine unless told. */
  readonly queue?: string
  /** In its queue, higher goes first; 0 unless told. */
  readonly priority?: number
  /** It waits until all earlier ordered commands of its instance are over. */
  readonly ordered?: boolean
}

/** By slot; `Runs` are the slots as `spawn` would call them. */
export type CommandSettings<Runs, E> = {
  readonly [K in keyof Runs]?: Runs[K] extends (...parameters: infer P) => Effect.Effect<infer A, infer X, infer _R>
    ? SlotSettings<NonNullable<P[0 & keyof P]>, A, X, E>
    : never
}

/** The run-time side. */
export type UntypedCommandSettings = { readonly [slot: string]: SlotSettings<object, unknown, unknown, Tagged> | undefined }
