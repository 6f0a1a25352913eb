/**
 * The waiting events of one instance: sent, self-sent, and postponed until the next change of state. An event that is decided
 * again keeps its place in the order of arrival.
 */
import { Mailbox } from "@detent/machine/internal"
import { isRaisedId } from "@detent/store/internal"
import { Envelope } from "../machine/Envelope.ts"
import { type SelfSentEvent, UndecidedSelfSentEvents } from "../machine/SelfSentEvents.ts"

const none: ReadonlyArray<never> = []

export class Inbox {
  #mailbox: Mailbox<Envelope> | undefined = undefined
  #postponed: Array<Envelope> | undefined = undefined
  #undecided: UndecidedSelfSentEvents | undefined = undefined

  get isWaiting(): boolean {
    return this.#mailbox?.isWaiting === true
  }

  /** Whether no event waits, not even a postponed one. */
  get isEmpty(): boolean {
    return !this.isWaiting && this.postponed === 0
  }

  /** How many events wait to be decided, without postponed ones. */
  get size(): number {
    return this.#mailbox?.size ?? 0
  }

  get postponed(): number {
    return this.#postponed?.length ?? 0
  }

  /** Whether the event of this id is postponed. */
  isPostponed(dedupeId: string): boolean {
    return this.#postponed?.some((envelope) => envelope.dedupeId === dedupeId) === true
  }

  /** Whether self-sent events are not decided yet. */
  get hasUndecidedSelfSent(): boolean {
    return this.#undecided !== undefined && this.#undecided.size > 0
  }

  /**
   * Whether self-sent events have to be decided without a further event. Postponed ones do not count: the process that stores the next
   * change of state has them too, and decides them.
   */
  get owesSelfSent(): boolean {
    const undecided = this.#undecided
    if (undecided === undefined || undecided.size === 0) return false
    const postponed = this.#postponed?.filter((envelope) => undecided.has(envelope)).length ?? 0
    return undecided.size > postponed
  }

  push(envelope: Envelope) {
    this.#mailbox ??= new Mailbox()
    this.#mailbox.push(envelope)
  }

  /** Puts events before all waiting events. */
  putFirst(envelopes: ReadonlyArray<Envelope>) {
    if (envelopes.length === 0) return
    this.#mailbox ??= new Mailbox()
    this.#mailbox.unshift(envelopes)
  }

  shift(): Envelope | undefined {
    return this.#mailbox?.shift()
  }

  postpone(envelope: Envelope) {
    this.#postponed ??= []
    this.#postponed.push(envelope)
  }

  /** The state has changed: postponed events are decided next. */
  releasePostponed() {
    if (this.#postponed === undefined) return
    this.putFirst(this.#postponed)
    this.#postponed = undefined
  }

  /** Adds self-sent events: they are decided after earlier ones, and count as undecided until then. */
  raise(envelopes: ReadonlyArray<Envelope>) {
    this.#trackUndecided(envelopes)
    this.#mailbox ??= new Mailbox()
    this.#mailbox.raise(envelopes)
  }

  /** The number of self-sent events that wait. */
  get raised(): number {
    return this.#mailbox?.selfSent ?? 0
  }

  #trackUndecided(envelopes: ReadonlyArray<Envelope>) {
    if (envelopes.length === 0) return
    this.#undecided ??= new UndecidedSelfSentEvents()
    this.#undecided.add(envelopes)
  }

  /** An event was decided. */
  decided(envelope: Envelope) {
    this.#undecided?.delete(envelope)
  }

  /** Puts all waiting events back in the order of arrival. Events that were postponed in a speculative state are decided again. */
  requeue(again: ReadonlyArray<Envelope>, isDropped: (envelope: Envelope) => boolean) {
    const waiting = [...again, ...(this.#postponed ?? none), ...(this.#mailbox?.takeAll() ?? none)].filter((one) => !isDropped(one))
    this.#postponed = undefined
    const selfSent = waiting.filter(({ chain }) => chain !== undefined)
    const others = waiting.filter(({ chain }) => chain === undefined).sort((left, right) => left.arrival - right.arrival)
    this.putFirst([...selfSent, ...others])
  }

  /**
   * Adds the self-sent events that the journal shows as not handled. Some wait here already; the previous owner left the others.
   * Returns waiting events that another node has handled.
   */
  takeOver(selfSent: ReadonlyArray<SelfSentEvent>): ReadonlyArray<Envelope> {
    this.#undecided?.clear()
    const waiting = this.#mailbox?.takeAll() ?? none
    const ids = new Set(selfSent.map(({ id }) => id))
    const known = new Map([...waiting, ...(this.#postponed ?? none)].map((envelope) => [envelope.dedupeId, envelope]))
    const raised = selfSent.map(({ id, event, chain }) => known.get(id) ?? new Envelope(event, { chain, dedupeId: id }))
    const isHandled = ({ dedupeId }: Envelope) => isRaisedId(dedupeId) && !ids.has(dedupeId)
    const isRaised = new Set(raised)
    const isPostponed = new Set(this.#postponed)
    this.putFirst([
      ...raised.filter((envelope) => !isPostponed.has(envelope)),
      ...waiting.filter((envelope) => !isHandled(envelope) && !isRaised.has(envelope)),
    ])
    this.#trackUndecided(raised)
    return waiting.filter(isHandled)
  }

  /** Removes the waiting events, except for postponed ones. */
  takeWaiting(): ReadonlyArray<Envelope> {
    return this.#mailbox?.takeAll() ?? none
  }

  /** Removes all waiting events, postponed ones first. */
  takeAll(): ReadonlyArray<Envelope> {
    const all = [...(this.#postponed ?? none), ...(this.#mailbox?.takeAll() ?? none)]
    this.#postponed = undefined
    this.#mailbox = undefined
    return all
  }
}
