/**
 * A command whose executions never came to an end may kill its process each time, or only have been claimed beside one that did,
 * and never have begun. So it is executed once more, and its worker holds nothing meanwhile that has not begun: whoever kills the
 * process then has shown itself, and takes no other along.
 */
import type { Held } from "./Executable.ts"
import type { Ended } from "./finishing.ts"
import type { QueueState } from "./QueueState.ts"

export type Suspicion = "none" | "suspect" | "guilty"

/** One that may be tried only once is not tried again: nobody knows whether it had begun. */
export const suspicionOf = (attempts: number, maxAttempts: number): Suspicion => {
  if (attempts <= maxAttempts) return "none"
  return attempts === maxAttempts + 1 && maxAttempts > 1 ? "suspect" : "guilty"
}

interface CrashQuarantine {
  readonly run: QueueState
  readonly command: Held
}

export class Quarantine {
  #suspect: CrashQuarantine | undefined
  #hasBegun = false

  /** While there is one, nothing else is claimed. */
  get isClosed(): boolean {
    return this.#suspect !== undefined
  }

  /** The one that waits until all that has not begun is handed back. */
  get waiting(): CrashQuarantine | undefined {
    return this.#hasBegun ? undefined : this.#suspect
  }

  isolate(run: QueueState, command: Held) {
    this.#suspect = { run, command }
    this.#hasBegun = false
  }

  /** The one that can be tried now: what was handed back is stored. */
  release(finished: ReadonlyArray<Ended>): CrashQuarantine | undefined {
    const { waiting } = this
    if (waiting === undefined || finished.some(({ verdict }) => verdict._tag === "Released")) return undefined
    this.#hasBegun = true
    return waiting
  }

  /** Whether it was the one. */
  ended(number: number): boolean {
    if (this.#suspect?.command.number !== number) return false
    this.#suspect = undefined
    return true
  }
}
