/**
 * What a process has in memory of one kind: the instances of its engine, or the executions of its workflow engine. At most one object of
 * each, by name.
 */
import * as Effect from "effect/Effect"
import type { InstanceEntry } from "./InstanceContext.ts"

/** A read in flight of objects that were not in memory when it began. */
export interface TableRead {
  /** The names of those that were in memory since, and have left it. They may have stored events after they were read: read them again. */
  readonly left: ReadonlySet<string>
  readonly end: () => void
}

export class LiveTable<Live extends InstanceEntry> {
  readonly #live = new Map<string, Live>()
  /** The `left` of each read in flight, by the names that it reads. */
  readonly #reads = new Map<string, Set<Set<string>>>()
  /** Waits for departures. */
  readonly #waiting = new Set<(live: InstanceEntry) => void>()

  get(name: string): Live | undefined {
    return this.#live.get(name)
  }

  has(name: string): boolean {
    return this.#live.has(name)
  }

  get size(): number {
    return this.#live.size
  }

  /** A copy: objects may enter and leave meanwhile. */
  get all(): ReadonlyArray<Live> {
    return [...this.#live.values()]
  }

  add(live: Live) {
    this.#live.set(live.name, live)
  }

  /** Returns false if it is not here. An object that only observes never is, and its name may have another one. */
  remove(live: InstanceEntry): boolean {
    const { name } = live
    if (this.#live.get(name) !== live) return false
    this.#live.delete(name)
    for (const left of this.#reads.get(name) ?? []) left.add(name)
    for (const left of [...this.#waiting]) left(live)
    return true
  }

  /** A read of these names begins. */
  beginRead(names: ReadonlyArray<string>): TableRead {
    const left = new Set<string>()
    for (const name of names) {
      const reads = this.#reads.get(name)
      if (reads === undefined) this.#reads.set(name, new Set([left]))
      else reads.add(left)
    }
    const end = () => {
      for (const name of names) {
        const reads = this.#reads.get(name)
        if (reads?.delete(left) && reads.size === 0) this.#reads.delete(name)
      }
    }
    return { left, end }
  }

  /** Ends when all of these have left memory. */
  departed(leaving: ReadonlyArray<Live>): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      const remaining = new Set<InstanceEntry>(leaving.filter((live) => this.#live.get(live.name) === live))
      if (remaining.size === 0) return resume(Effect.void)
      const left = (live: InstanceEntry) => {
        if (!remaining.delete(live) || remaining.size > 0) return
        this.#waiting.delete(left)
        resume(Effect.void)
      }
      this.#waiting.add(left)
      return Effect.sync(() => this.#waiting.delete(left))
    })
  }
}
