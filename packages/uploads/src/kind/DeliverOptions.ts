/** How the stored items of a kind are delivered. */
import type { RetryPolicy } from "@detent/machine"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"

/** Stored items for a handler. */
export interface Delivery<out Item> {
  /**
   * The same for each attempt at this delivery: pass it on as idempotency key. A later attempt may have fewer items: those that a later
   * upload has replaced in the meantime are left out.
   */
  readonly key: string
  readonly batchId: string
  /** In the order of the file. Items that a later upload has replaced by now are not among them: that upload delivers them. */
  readonly items: ReadonlyArray<{ readonly id: string; readonly index: number; readonly item: Item }>
  /** Counted from 1. */
  readonly attempt: number
}

export interface DeliverOptions<in Item> {
  /** Sends the items to where they belong. A failure is retried with the same key. */
  readonly send: (delivery: Delivery<Item>) => Effect.Effect<unknown, unknown> | PromiseLike<unknown>
  /** The most items of one delivery, up to 2,000. Default: 500. */
  readonly batchSize?: number
  /**
   * How many deliveries all processes together send concurrently. Default: 1, so that they begin in the order of the uploads; one that
   * fails is repeated after its delay, and later ones are sent before that.
   */
  readonly concurrency?: number
  /** How many deliveries begin within any interval of this length, in all processes together. Default: no limit. */
  readonly rate?: { readonly limit: number; readonly interval: Duration.Input }
  /** How often a failed delivery is tried before it is a dead letter. Default: that of commands, for about a day. */
  readonly retry?: RetryPolicy.RetryPolicy
  /** How long one attempt may take. Default: 5 minutes. */
  readonly timeout?: Duration.Input
}

/** The most items of a delivery. */
const largestBatch = 2000
export const defaultBatch = 500

/** Throws a TypeError for options that cannot hold. */
export const checkDeliver = (kind: string, { batchSize = defaultBatch }: Pick<DeliverOptions<never>, "batchSize">): void => {
  if (!Number.isSafeInteger(batchSize) || batchSize < 1 || batchSize > largestBatch)
    throw new TypeError(`deliver of ${kind}: a batchSize of ${batchSize} is not a whole number from 1 to ${largestBatch}`)
}
