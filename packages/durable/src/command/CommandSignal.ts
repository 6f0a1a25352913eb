/**
 * How this process learns that there are commands: told at once after they are stored here, and by the store where others
 * can tell it. A lost call costs time, not commands: workers look by themselves now and then.
 */

import type { DirectHandoff } from "./DirectHandoff.ts"

/** Without queues: in any. */
export type SignalListener = (queues: ReadonlySet<string> | undefined) => void

/** Undefined where there is no room for all of them. */
export type CommandTaker = (queue: string, count: number) => DirectHandoff | undefined

export class CommandSignal {
  readonly #listeners = new Set<SignalListener>()
  readonly #takers = new Set<CommandTaker>()
  #outward: SignalListener | undefined
  #listened: (() => void) | undefined

  /** Something was stored in these queues by this process. */
  announce(queues: ReadonlySet<string> | undefined) {
    this.hear(queues)
    this.#outward?.(queues)
  }

  /** Something was stored by another process. */
  hear(queues: ReadonlySet<string> | undefined) {
    for (const listener of [...this.#listeners]) listener(queues)
  }

  /** Calls back until the returned function is called. */
  listen(listener: SignalListener): () => void {
    this.#listeners.add(listener)
    this.#listened?.()
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Somebody who has room for commands, and can be given them by whoever stores them. Returns how to end that. */
  whenStoring(taker: CommandTaker): () => void {
    this.#takers.add(taker)
    return () => {
      this.#takers.delete(taker)
    }
  }

  /** So many commands are about to be stored in a queue: who takes them with the same statement? */
  offerFor(queue: string, count: number): DirectHandoff | undefined {
    for (const taker of this.#takers) {
      const offer = taker(queue, count)
      if (offer !== undefined) return offer
    }
    return undefined
  }

  get isListened(): boolean {
    return this.#listeners.size > 0
  }

  /** Calls back when somebody listens: only then is it worth hearing other processes. */
  whenListened(callback: () => void) {
    this.#listened = callback
    if (this.#listeners.size > 0) callback()
  }

  /** How other processes are told. */
  tellOthers(outward: SignalListener) {
    this.#outward = outward
  }
}
