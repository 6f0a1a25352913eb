/** Callers that wait for executions to end: callers of `execute`, and executions that called others. */
import type { InstanceKey } from "@detent/store"
import { instanceName } from "@detent/store/internal"
import type { StoredExit } from "./StoredExit.ts"

/** The answer to a waiting caller. */
export type WaitOutcome =
  | { readonly _tag: "Ended"; readonly exit: StoredExit }
  | { readonly _tag: "Suspended"; readonly cause: unknown }
  | { readonly _tag: "Held"; readonly problem: string }

export interface Waiter {
  readonly key: InstanceKey
  /** The waiting execution, if the caller is one. */
  readonly by: InstanceKey | undefined
  /** Whether a suspension is an answer. It suspends a calling execution too; most other callers keep waiting. */
  readonly takesSuspended: boolean
  readonly tell: (outcome: WaitOutcome) => void
}

/** An execution that another node runs is read at least at every 16th scan while a caller waits for it. */
const longestPause = 16

interface Waited {
  readonly key: InstanceKey
  readonly waiters: Set<Waiter>
  pause: number
  turnsLeft: number
}

export class Waiting {
  readonly #waited = new Map<string, Waited>()

  add(waiter: Waiter) {
    const { key } = waiter
    const name = instanceName(key)
    const others = this.#waited.get(name)
    if (others === undefined) this.#waited.set(name, { key, waiters: new Set([waiter]), pause: 1, turnsLeft: 1 })
    else others.waiters.add(waiter)
  }

  remove(waiter: Waiter) {
    const name = instanceName(waiter.key)
    const waited = this.#waited.get(name)
    if (waited?.waiters.delete(waiter) && waited.waiters.size === 0) this.#waited.delete(name)
  }

  has(name: string): boolean {
    return this.#waited.has(name)
  }

  /** Executions of this process that wait for this one. */
  parentsOf(name: string): ReadonlyArray<InstanceKey> {
    return this.#waitersOf(name).flatMap(({ by }) => by ?? [])
  }

  /** Answers all callers with the end. */
  tellEnd(name: string, exit: StoredExit) {
    for (const waiter of this.#waitersOf(name)) this.#answer(waiter, { _tag: "Ended", exit })
  }

  /**
   * Answers that the execution is suspended or held. The answer suspends a waiting execution, which must be woken later, so only executions
   * that are stored as parents get it. For them a held execution counts as suspended: it may still end.
   */
  tellPause(name: string, outcome: WaitOutcome, isKnown: (parent: string) => boolean) {
    for (const waiter of this.#waitersOf(name)) {
      if (waiter.by !== undefined) {
        if (isKnown(instanceName(waiter.by)))
          this.#answer(waiter, outcome._tag === "Held" ? { _tag: "Suspended", cause: undefined } : outcome)
      } else if (outcome._tag === "Held" || waiter.takesSuspended) this.#answer(waiter, outcome)
    }
  }

  #waitersOf(name: string): ReadonlyArray<Waiter> {
    return [...(this.#waited.get(name)?.waiters ?? [])]
  }

  #answer(waiter: Waiter, outcome: WaitOutcome) {
    this.remove(waiter)
    waiter.tell(outcome)
  }

  /** The executions to read at this scan: the longer callers have waited for one, the less often it is read. */
  get due(): ReadonlyArray<InstanceKey> {
    return [...this.#waited.values()].flatMap((waited) => {
      if (--waited.turnsLeft > 0) return []
      waited.pause = Math.min(waited.pause * 2, longestPause)
      waited.turnsLeft = waited.pause
      return [waited.key]
    })
  }
}
