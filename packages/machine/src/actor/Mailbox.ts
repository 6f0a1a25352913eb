/** Events that wait for their turn, and the outcome each sender waits for. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Taken } from "../decision/Decision.ts"
import type { Tagged } from "../define/Declarations.ts"
import type { SendError } from "../error/MachineError.ts"

/** The result of an event. */
export type Result = Taken<Tagged, Tagged> | SendError

/** How many events may wait for one actor before a sender is refused. */
export const mailboxLimit = 100_000

/** After this many self-sent events in a row, one event of another sender gets its turn. */
const selfSentTurn = 100

/** A longer chain of self-sent events counts as endless. So do more than {@link mailboxLimit} self-sent events that wait. */
export const chainLimit = 10_000

/** How many events of a chain an error shows. */
const pathLength = 6

/** An event that waits for its result. Actors in memory and durable instances each have a class for it. */
export interface Message {
  readonly event: Tagged
  /**
   * It comes from the actor's own work, timers or decisions. Its sender gets the outcome as soon as it is decided, without
   * waiting for hooks: a state's work must not wait for its own end.
   */
  readonly internal: boolean
  result: Result | undefined
  /** The sender that waits for the result. */
  observer: ((result: Result) => void) | undefined
  /** Called when the message is completed, by the scope that tracks it. */
  tracker: (() => void) | undefined
  complete(result: Result): void
}

/** Whether an event was kept as a message. Otherwise it was handled, and this is the result. */
export const isMessage = (offered: Result | Message): offered is Message => "complete" in offered

/** Events that a machine sent to itself one after the other. */
export interface Chain {
  readonly length: number
  /** The last events, oldest first. */
  readonly path: ReadonlyArray<string>
}

/** The chain of events sent while an event is handled. */
export const extendChain = (chain: Chain | undefined, event: string): Chain => ({
  length: (chain?.length ?? 0) + 1,
  path: [...(chain?.path.slice(1 - pathLength) ?? []), event],
})

/** Events with a chain are self-sent. */
const isSelfSent = (message: { readonly chain?: Chain | undefined }): boolean => message.chain !== undefined

/**
 * The order of events: self-sent events first, in the order of sending, then events that were put back, then all others. After a
 * bounded number of self-sent events in a row, one other event is next.
 */
export class Mailbox<M extends object> {
  #selfSent: Array<M> = []
  #nextSelfSent = 0
  /** Postponed and retried events, which stay before later ones. In reverse order: the last element is next. */
  #front: Array<M> = []
  #back: Array<M> = []
  #next = 0
  #selfSentInARow = 0

  get size(): number {
    return this.selfSent + this.#front.length + this.#back.length - this.#next
  }

  /** How many self-sent events wait. */
  get selfSent(): number {
    return this.#selfSent.length - this.#nextSelfSent
  }

  get isWaiting(): boolean {
    return this.selfSent > 0 || this.#front.length > 0 || this.#next < this.#back.length
  }

  push(message: M) {
    this.#back.push(message)
  }

  /** Adds self-sent events: after earlier self-sent events, before all others. */
  raise(messages: ReadonlyArray<M>) {
    for (const message of messages) this.#selfSent.push(message)
  }

  /** Puts events back, before all that wait. Self-sent ones come before others. */
  unshift(messages: ReadonlyArray<M>) {
    const selfSent = messages.filter(isSelfSent)
    if (selfSent.length > 0) {
      this.#selfSent = [...selfSent, ...this.#selfSent.slice(this.#nextSelfSent)]
      this.#nextSelfSent = 0
    }
    for (let index = messages.length - 1; index >= 0; index--) {
      const message = messages[index] as M
      if (!isSelfSent(message)) this.#front.push(message)
    }
  }

  shift(): M | undefined {
    const others = this.#front.length > 0 || this.#next < this.#back.length
    if (this.selfSent > 0 && !(others && this.#selfSentInARow >= selfSentTurn)) {
      this.#selfSentInARow++
      return this.#shiftSelfSent()
    }
    this.#selfSentInARow = 0
    return this.#front.pop() ?? this.#shiftBack()
  }

  #shiftSelfSent(): M | undefined {
    const message = this.#selfSent[this.#nextSelfSent]
    this.#nextSelfSent++
    // Releases handled events, at the cost of a copy per 1,000 events.
    if (this.selfSent === 0 || this.#nextSelfSent === 1000) {
      this.#selfSent = this.#selfSent.slice(this.#nextSelfSent)
      this.#nextSelfSent = 0
    }
    return message
  }

  #shiftBack(): M | undefined {
    const message = this.#back[this.#next]
    if (message === undefined) return undefined
    this.#next++
    if (this.#next === this.#back.length) {
      this.#back = []
      this.#next = 0
    }
    return message
  }

  takeAll(): ReadonlyArray<M> {
    const all = [...this.#selfSent.slice(this.#nextSelfSent), ...this.#front.reverse(), ...this.#back.slice(this.#next)]
    this.#selfSent = []
    this.#nextSelfSent = 0
    this.#front = []
    this.#back = []
    this.#next = 0
    return all
  }
}

/** Returns the result of a handled event, or waits for the result of a queued one. */
export const outcome = <A, E>(offered: Result | Message, read: (result: Result) => Exit.Exit<A, E>): Effect.Effect<A, E> => {
  if (!isMessage(offered)) return read(offered)
  if (offered.result !== undefined) return read(offered.result)
  return Effect.callback((resume) => {
    offered.observer = (result) => resume(read(result))
    return Effect.sync(() => {
      offered.observer = undefined
    })
  })
}

export const asDecision = (result: Result): Exit.Exit<Taken<Tagged, Tagged>, SendError> =>
  result instanceof Error ? Exit.fail(result) : Exit.succeed(result)

export const asVoid = (result: Result): Exit.Exit<void, SendError> => (result instanceof Error ? Exit.fail(result) : Exit.void)
