/**
 * Finds the command that kills its process. A command whose executions never ended may have killed the process each time, or was only
 * claimed together with the one that did. So it is executed once more as the suspect: its worker hands back all commands that have not
 * begun and claims no others meanwhile. If the process is killed again, the suspect did it, and no other command loses an attempt with it.
 */
import type { Ended, Held } from "./Execution.ts"
import type { QueueState } from "./QueueState.ts"

export type Suspicion = "none" | "suspect" | "guilty"

/** A command that may be tried only once is not tried again: it is not known whether it had begun. */
export const suspicionOf = (attempts: number, maxAttempts: number): Suspicion => {
  if (attempts <= maxAttempts) return "none"
  return attempts === maxAttempts + 1 && maxAttempts > 1 ? "suspect" : "guilty"
}

export interface Suspect {
  readonly queue: QueueState
  readonly command: Held
}

/**
 * - `open`: no suspect; the worker claims as usual.
 * - `waiting`: the suspect waits until the store has recorded that all commands that have not begun are handed back.
 * - `trying`: the suspect is executed.
 */
type Mode = { readonly _tag: "open" } | ({ readonly _tag: "waiting" | "trying" } & Suspect)

export class CrashQuarantine {
  #mode: Mode = { _tag: "open" }

  /** While there is a suspect, nothing else is claimed. */
  get isClosed(): boolean {
    return this.#mode._tag !== "open"
  }

  get waiting(): Suspect | undefined {
    return this.#mode._tag === "waiting" ? this.#mode : undefined
  }

  isolate(queue: QueueState, command: Held) {
    this.#mode = { _tag: "waiting", queue, command }
  }

  /** Returns the suspect if it can begin: the store has recorded all commands that were handed back. */
  release(ended: ReadonlyArray<Ended>): Suspect | undefined {
    const { waiting } = this
    if (waiting === undefined || ended.some(({ verdict }) => verdict._tag === "Released")) return undefined
    this.#mode = { ...waiting, _tag: "trying" }
    return waiting
  }

  /** A command has ended. Returns whether it was the suspect. */
  ended(number: number): boolean {
    if (this.#mode._tag === "open" || this.#mode.command.number !== number) return false
    this.#mode = { _tag: "open" }
    return true
  }
}
