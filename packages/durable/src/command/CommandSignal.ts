/**
 * How this process learns that there are commands: told at once after they are stored here, and by the store where others
 * can tell it. A lost call costs time, not commands: workers look by themselves now and then.
 */

/** Without queues: in any. */
export type SignalListener = (queues: ReadonlySet<string> | undefined) => void

export class CommandSignal {
  readonly #listeners = new Set<SignalListener>()
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
