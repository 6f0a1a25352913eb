/** An event on its way into an instance, with what the store must know of it. */
import { Message, type Result, type Tagged } from "@detent/machine/internal"
import type { TimerRecord } from "./Commit.ts"

interface Origin {
  readonly internal?: boolean
  readonly dedupeId?: string | undefined
  readonly timer?: TimerRecord
  readonly raised?: boolean
}

export class Envelope extends Message {
  readonly dedupeId: string | undefined
  /** The timer this event comes from. */
  readonly timer: TimerRecord | undefined
  /** Sent by a decision that is not stored yet: decided again, it is sent again, so a lost commit takes it along. */
  raised: boolean
  /** How often it met a newer sequence. */
  conflicts = 0
  /** The same dedupe id again, while this one is under way: they share the outcome. */
  #followers: Array<Envelope> | undefined

  constructor(event: Tagged, { internal, dedupeId, timer, raised }: Origin) {
    super(event, internal === true || raised === true || timer !== undefined, timer !== undefined)
    this.dedupeId = dedupeId
    this.timer = timer
    this.raised = raised === true
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
    super.complete(result)
    this.#tellFollowers(result)
  }

  #tellFollowers(result: Result) {
    const followers = this.#followers
    this.#followers = undefined
    for (const follower of followers ?? []) follower.complete(result)
  }
}
