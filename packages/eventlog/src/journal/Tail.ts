/**
 * The end of a journal as this process knows it: its last position, its last events, and the readers that wait for more. A
 * thousand readers that keep up are served from here and cost the database one read.
 */
import * as Effect from "effect/Effect"
import { keyOf } from "./EventStore.ts"
import type { StoredEntry } from "./StoredEntry.ts"

/** Readers further behind read from the database. */
const keptEntries = 1_000
const keptBytes = 1024 * 1024

export class Tail {
  #position: number
  /** All events after `#keptAfter`, except those that compaction deleted. */
  #kept: Array<StoredEntry> = []
  #keptAfter: number
  #bytes = 0
  readonly #keepLatest: ReadonlySet<string>
  readonly #waiting = new Set<() => void>()

  constructor(position: number, keepLatest: ReadonlySet<string>) {
    this.#position = position
    this.#keptAfter = position
    this.#keepLatest = keepLatest
  }

  /** The last position known to be stored. */
  get position(): number {
    return this.#position
  }

  /** Adds events that this process has stored. Returns false if this process does not know the events before them. */
  stored(entries: ReadonlyArray<StoredEntry>): boolean {
    const [first] = entries
    if (first === undefined || first.position <= this.#position) return true
    if (first.position !== this.#position + 1) return false
    this.extend(entries[entries.length - 1]?.position ?? first.position, entries)
    return true
  }

  /** Adds all events from the last known position to this one. */
  extend(position: number, entries: ReadonlyArray<StoredEntry>) {
    const fresh = entries.filter((stored) => stored.position > this.#position)
    this.#dropObsolete(fresh)
    for (const stored of fresh) {
      this.#kept.push(stored)
      this.#bytes += stored.entry.payload.length
    }
    this.#trim()
    this.#position = Math.max(this.#position, position)
    this.#wake()
  }

  /** Advances to a stored position whose events no reader here waits for. */
  reach(position: number) {
    if (position <= this.#position) return
    this.#position = position
    this.forget()
    this.#wake()
  }

  /** Drops the kept events, because they differ from the stored ones. */
  forget() {
    this.#kept = []
    this.#keptAfter = this.#position
    this.#bytes = 0
  }

  get isAwaited(): boolean {
    return this.#waiting.size > 0
  }

  /** All events after a position; undefined if they are not kept here. */
  after(position: number): ReadonlyArray<StoredEntry> | undefined {
    if (position < this.#keptAfter) return undefined
    return this.#kept.slice(this.#kept.findLastIndex((stored) => stored.position <= position) + 1)
  }

  /** Waits until there is an event after a position. */
  passed(position: number): Effect.Effect<void> {
    return Effect.callback((resume) => {
      const look = () => {
        if (this.#position <= position) return
        this.#waiting.delete(look)
        resume(Effect.void)
      }
      this.#waiting.add(look)
      look()
      return Effect.sync(() => this.#waiting.delete(look))
    })
  }

  /** Readers run before this returns, so the tail has to be consistent by then. */
  #wake() {
    for (const look of [...this.#waiting]) look()
  }

  /** Events that a newer one makes obsolete are deleted in the database too. */
  #dropObsolete(newer: ReadonlyArray<StoredEntry>) {
    const keys = new Set(
      newer.filter(({ entry }) => this.#keepLatest.has(entry.event)).map(({ entry }) => keyOf(entry.event, entry.primaryKey)),
    )
    if (keys.size === 0) return
    this.#kept = this.#kept.filter(({ entry }) => !this.#keepLatest.has(entry.event) || !keys.has(keyOf(entry.event, entry.primaryKey)))
    this.#bytes = this.#kept.reduce((sum, { entry }) => sum + entry.payload.length, 0)
  }

  #trim() {
    let dropped = 0
    while (this.#kept.length - dropped > keptEntries || this.#bytes > keptBytes) {
      const oldest = this.#kept[dropped]
      if (oldest === undefined) break
      this.#bytes -= oldest.entry.payload.length
      this.#keptAfter = oldest.position
      dropped++
    }
    if (dropped > 0) this.#kept.splice(0, dropped)
  }
}
