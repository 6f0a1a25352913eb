/**
 * Makes the ids of events that this process writes. An id is a UUID of version 7, and ids order events: each is later than all ids that
 * were made or observed before, also when the clock stands still or is behind the clock of a remote.
 */
import { type EntryId, entryIdMillis, makeEntryIdUnsafe } from "effect/eventlog/EventJournal"

/** The 12 bits after the version count the ids of one millisecond. */
const countBits = 0xfff

export class EntryIds {
  #millis = 0
  #count = 0

  /** Ids that are made from now on are later than this one. */
  observe(id: EntryId): void {
    const millis = entryIdMillis(id)
    const count = (((id[6] ?? 0) << 8) | (id[7] ?? 0)) & countBits
    if (millis < this.#millis || (millis === this.#millis && count <= this.#count)) return
    this.#millis = millis
    this.#count = count
  }

  next(now: number): EntryId {
    if (now > this.#millis) this.#advance(now)
    else if (this.#count < countBits) this.#count++
    else this.#advance(this.#millis + 1)
    const id = makeEntryIdUnsafe({ msecs: this.#millis })
    id[6] = 0x70 | (this.#count >> 8)
    id[7] = this.#count & 0xff
    return id
  }

  #advance(millis: number): void {
    this.#millis = millis
    this.#count = 0
  }
}
