/** An event on its way into an instance, with what the store must know of it. */
import type { SendError, Taken } from "@detent/machine"
import { Message, type Result, type Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { EventTrace } from "../engine/Tracing.ts"
import type { TimerRecord } from "../store/Commit.ts"

interface Origin {
  readonly internal?: boolean
  readonly dedupeId?: string | undefined
  readonly timer?: TimerRecord
  readonly raised?: boolean
  readonly failure?: string | undefined
}

export class Envelope extends Message {
  readonly dedupeId: string | undefined
  /** The timer this event comes from. */
  readonly timer: TimerRecord | undefined
  /** Where it tells that a command failed for good: with what. */
  readonly failure: string | undefined
  /** Sent by a decision that is not stored yet: decided again, it is sent again, so a lost commit takes it along. */
  raised: boolean
  /** Its way, for a tracer; undefined where none is installed. */
  trace: EventTrace | undefined = undefined
  /** How often it met a newer sequence. */
  conflicts = 0
  /** The same dedupe id again, while this one is under way: they share the outcome. */
  #followers: Array<Envelope> | undefined

  constructor(event: Tagged, { internal, dedupeId, timer, raised, failure }: Origin) {
    super(event, internal === true || raised === true || timer !== undefined, timer !== undefined)
    this.dedupeId = dedupeId
    this.timer = timer
    this.failure = failure
    this.raised = raised === true
  }

  /** The instance sent it itself. A timer is in the store, and comes again. */
  get isOwn(): boolean {
    return this.internal && this.timer === undefined
  }

  follow(first: Envelope) {
    if (first.result !== undefined) return this.complete(first.result)
    first.#followers ??= []
    first.#followers.push(this)
  }

  /** Settles the outcome without telling anybody yet: nothing can change it any more. */
  seal(result: Result) {
    this.result ??= result
  }

  /** Tells the outcome that was sealed. */
  announce() {
    const { result, observer } = this
    if (result === undefined) return
    this.observer = undefined
    observer?.(result)
    this.#tellFollowers(result)
  }

  override complete(result: Result) {
    if (this.result !== undefined) return
    this.trace?.end(result instanceof Error ? Exit.fail(result) : Exit.void)
    super.complete(result)
    this.#tellFollowers(result)
  }

  #tellFollowers(result: Result) {
    const followers = this.#followers
    if (followers === undefined) return
    this.#followers = undefined
    for (const follower of followers) follower.complete(result)
  }
}

/** What an event came to. Whoever waits may go away; the event stays on its way. */
export const awaitEnvelope = (envelope: Envelope): Effect.Effect<Taken<Tagged, Tagged>, SendError> => {
  const read = (result: Result) => (result instanceof Error ? Exit.fail(result) : Exit.succeed(result))
  if (envelope.result !== undefined) return read(envelope.result)
  return Effect.callback((resume) => {
    envelope.observer = (result) => resume(read(result))
    return Effect.sync(() => {
      envelope.observer = undefined
    })
  })
}
