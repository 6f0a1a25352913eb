/**
 * Notifies the workers of this process of new commands: immediately after they are stored here, and through the store for those
 * of other processes. A lost notification costs time, not commands: workers also poll.
 *
 * A worker that waits for commands can also take them by a direct handoff: the statement that stores them claims them for the
 * worker, so that they begin a round trip and a transaction sooner.
 */
import type { PersistenceFailed } from "@detent/machine"
import type { ClaimedCommand } from "./StoredCommand.ts"

export interface DirectHandoff {
  readonly queue: string
  readonly worker: string
  readonly claimMillis: number
  /** The worker holds these commands from now on. Empty if the statement claimed none. */
  readonly taken: (claimed: ReadonlyArray<ClaimedCommand>) => void
  /** The statement failed, and it is unknown whether it stored and claimed them. */
  readonly unanswered: (error: PersistenceFailed) => void
}

/** The queues with new commands; undefined: any. */
export type SignalListener = (queues: ReadonlySet<string> | undefined) => void

/** Returns undefined if the worker has no room for all of them. */
export type CommandTaker = (queue: string, count: number) => DirectHandoff | undefined

export class CommandSignal {
  readonly #listeners = new Set<SignalListener>()
  readonly #takers = new Set<CommandTaker>()
  #outward: SignalListener | undefined
  #listened: (() => void) | undefined

  /** This process has stored commands in these queues. */
  announce(queues: ReadonlySet<string> | undefined) {
    this.hear(queues)
    this.#outward?.(queues)
  }

  /** Another process has stored commands in these queues. */
  hear(queues: ReadonlySet<string> | undefined) {
    for (const listener of [...this.#listeners]) listener(queues)
  }

  /** Calls the listener until the returned function is called. */
  listen(listener: SignalListener): () => void {
    this.#listeners.add(listener)
    this.#listened?.()
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Offers commands to this worker before they are stored, until the returned function is called. */
  whenStoring(taker: CommandTaker): () => void {
    this.#takers.add(taker)
    return () => {
      this.#takers.delete(taker)
    }
  }

  /** Returns a worker for commands that are about to be stored; undefined if none has room for all of them. */
  offerFor(queue: string, count: number): DirectHandoff | undefined {
    for (const taker of this.#takers) {
      const handoff = taker(queue, count)
      if (handoff !== undefined) return handoff
    }
    return undefined
  }

  get isListened(): boolean {
    return this.#listeners.size > 0
  }

  /** Calls back when a worker listens: only then is it worth listening to other processes. */
  whenListened(callback: () => void) {
    this.#listened = callback
    if (this.#listeners.size > 0) callback()
  }

  /** Sets how other processes are notified. */
  tellOthers(outward: SignalListener) {
    this.#outward = outward
  }
}
