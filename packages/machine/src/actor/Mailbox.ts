/** Events that wait for their turn, and those who wait for the outcome. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Taken } from "../decide/Decision.ts"
import type { Tagged } from "../define/Declarations.ts"
import type { SendError } from "../MachineError.ts"

/** How an event went. */
export type Result = Taken<Tagged, Tagged> | SendError

/** An event that could not be handled at once. */
export class Message {
  readonly event: Tagged
  /**
   * It comes from the actor's own work, timers or decisions. Its sender is told as soon as it is decided, without
   * waiting for hooks: a state's work must not wait for its own end.
   */
  readonly internal: boolean
  result: Result | undefined
  /** Whoever sent it and waits. */
  observer: ((result: Result) => void) | undefined
  /** Whoever keeps track of it meanwhile. */
  tracker: (() => void) | undefined

  /** It comes from a timer of the actor; outsiders cannot make such events. */
  readonly isTimer: boolean

  constructor(event: Tagged, internal: boolean, isTimer: boolean) {
    this.event = event
    this.internal = internal
    this.isTimer = isTimer
  }

  complete(result: Result) {
    if (this.result !== undefined) return
    this.result = result
    this.tracker?.()
    this.observer?.(result)
  }
}

/** A queue whose front can be added to: what an actor sends itself comes before what others sent. */
export class Mailbox<M = Message> {
  /** In reverse: the last one is the first to come. */
  #front: Array<M> = []
  #back: Array<M> = []
  #next = 0

  get isWaiting(): boolean {
    return this.#front.length > 0 || this.#next < this.#back.length
  }

  push(message: M) {
    this.#back.push(message)
  }

  unshift(messages: ReadonlyArray<M>) {
    for (let index = messages.length - 1; index >= 0; index--) this.#front.push(messages[index] as M)
  }

  shift(): M | undefined {
    const first = this.#front.pop()
    if (first !== undefined) return first
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
    const all = [...this.#front.reverse(), ...this.#back.slice(this.#next)]
    this.#front = []
    this.#back = []
    this.#next = 0
    return all
  }
}

/** Waits for the outcome of an event that was handled, or kept. */
export const outcome = <A>(offered: Result | Message, read: (result: Result) => Exit.Exit<A, SendError>): Effect.Effect<A, SendError> => {
  if (!(offered instanceof Message)) return read(offered)
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
