/** An incoming event of an instance, with its origin and the outcome that its sender waits for. */
import type { Chain, Message, Result, Tagged } from "@detent/machine/internal"
import type { CommandFailure } from "@detent/store/internal"
import * as Exit from "effect/Exit"
import type { StoredTrace, TracedTimer } from "../runtime/StoredTrace.ts"
import type { EventTrace } from "../runtime/Telemetry.ts"

interface Origin {
  readonly internal?: boolean
  readonly dedupeId?: string | undefined
  readonly timer?: TracedTimer
  readonly chain?: Chain | undefined
  readonly failure?: CommandFailure | undefined
  readonly isRemote?: boolean
  readonly isFirst?: boolean
  readonly by?: string | undefined
  readonly cause?: StoredTrace | undefined
}

export class Envelope implements Message {
  /** Of a timer: known once memory has the event that set the timer. */
  event: Tagged
  readonly internal: boolean
  readonly dedupeId: string | undefined
  /** The timer this event comes from. */
  readonly timer: TracedTimer | undefined
  /** How the command failed for good, where the event reports that. */
  readonly failure: CommandFailure | undefined
  /** The chain of self-sent events that led to this one. Undefined for an event that is not self-sent. */
  readonly chain: Chain | undefined
  /** Another node sent it, and sends it again if this node does not answer. */
  readonly isRemote: boolean
  /** Who sent it, as text; undefined where the sender did not say so. */
  readonly by: string | undefined
  /** The trace that it continues, of a timer or of another node. */
  readonly cause: StoredTrace | undefined
  /** No event of its id can be in the journal: its sender made the id and sends it for the first time. */
  isFirst: boolean
  /** Sent by a decision that is not stored yet. If that commit is lost, the event is dropped: the decision is made again and sends it again. */
  isSpeculative = false
  /** Its place in the order in which the instance received events. An event that is decided again keeps it. */
  arrival = 0
  /** How many sequence conflicts it has met. */
  conflicts = 0
  /** Its trace; undefined where no tracer is installed. */
  trace: EventTrace | undefined = undefined
  result: Result | undefined = undefined
  observer: ((result: Result) => void) | undefined = undefined
  tracker: (() => void) | undefined = undefined
  /** Events of the same dedupe id that arrived while this one is in progress. They share its outcome. */
  #followers: Array<Envelope> | undefined = undefined

  constructor(event: Tagged, { internal, dedupeId, timer, chain, failure, isRemote, isFirst, by, cause }: Origin) {
    this.event = event
    this.internal = internal === true || chain !== undefined || timer !== undefined
    this.dedupeId = dedupeId
    this.timer = timer
    this.chain = chain
    this.failure = failure
    this.isRemote = isRemote === true
    this.isFirst = isFirst === true
    this.by = by
    this.cause = cause ?? timer?.cause
  }

  /** Whether it is self-sent. A timer does not count: it is in the store and fires again. */
  get isOwn(): boolean {
    return this.internal && this.timer === undefined
  }

  /** Its id, where the journal may already have an event with this id. */
  get repeatedId(): string | undefined {
    return this.isFirst ? undefined : this.dedupeId
  }

  follow(first: Envelope) {
    if (first.result !== undefined) return this.complete(first.result)
    first.#followers ??= []
    first.#followers.push(this)
  }

  /** Fixes the outcome without notifying the sender yet. */
  seal(result: Result) {
    this.result ??= result
  }

  /** Notifies the sender of the outcome that was sealed. */
  announce() {
    const { result, observer } = this
    if (result === undefined) return
    this.observer = undefined
    observer?.(result)
    this.#completeFollowers(result)
  }

  complete(result: Result) {
    if (this.result !== undefined) return
    this.trace?.end(result instanceof Error ? Exit.fail(result) : Exit.void)
    this.result = result
    this.tracker?.()
    this.observer?.(result)
    this.#completeFollowers(result)
  }

  #completeFollowers(result: Result) {
    const followers = this.#followers
    if (followers === undefined) return
    this.#followers = undefined
    for (const follower of followers) follower.complete(result)
  }
}
