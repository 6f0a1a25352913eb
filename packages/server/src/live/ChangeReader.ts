/** Reads which instances and executions any process has changed since the last read. */
import type { InstanceRecord, JournalService } from "@detent/durable"
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"

export interface Changes {
  /** The current records, oldest change first. Empty where too many have changed. */
  readonly changed: ReadonlyArray<InstanceRecord>
  /** Whether too many have changed to list them. */
  readonly isMany: boolean
}

/** More changes than this between two reads are not listed. */
export const mostNamed = 200

/** The most records of one read, including the overlap. */
const mostRead = 1000

export class ChangeReader {
  readonly #journal: JournalService
  /** Each read overlaps the previous one by this time: a node whose clock is behind stores changes with an earlier time. */
  readonly #overlapMillis: number
  /** The time of the latest change that was read. */
  #since = 0
  /** The records of the overlap, by name. */
  #seen = new Map<string, InstanceRecord>()

  constructor(journal: JournalService, overlapMillis: number) {
    this.#journal = journal
    this.#overlapMillis = overlapMillis
  }

  /** Changes since the last call, or since the time given to {@link begin}. */
  get next(): Effect.Effect<Changes, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const since = this.#since
      const page = yield* this.#journal.list({ updatedAfter: since - this.#overlapMillis - 1 }, mostRead)
      const changed = page.instances.filter((record) => isChanged(record, this.#seen.get(nameOf(record))))
      if (page.next !== undefined || changed.length > mostNamed) return yield* Effect.as(this.#skip, { changed: [], isMany: true })
      this.#advance(page.instances, since)
      return { changed, isMany: false }
    })
  }

  /** Continues with changes after a time. */
  begin(since: number) {
    this.#since = since
    this.#seen.clear()
  }

  /** Continues after the latest change. */
  get #skip(): Effect.Effect<void, PersistenceFailed> {
    return Effect.map(this.#journal.list({ order: "newest" }, mostNamed), ({ instances }) => {
      this.begin(0)
      this.#advance(instances, 0)
    })
  }

  #advance(records: ReadonlyArray<InstanceRecord>, since: number) {
    const latest = records.reduce((most, { updatedAt }) => Math.max(most, updatedAt), since)
    this.#since = latest
    for (const record of records) this.#seen.set(nameOf(record), record)
    for (const [name, { updatedAt }] of this.#seen) if (updatedAt < latest - this.#overlapMillis) this.#seen.delete(name)
  }
}

const nameOf = ({ machine, id }: InstanceRecord): string => `${machine}\u0000${id}`

const isChanged = (record: InstanceRecord, seen: InstanceRecord | undefined): boolean =>
  seen === undefined || record.sequence !== seen.sequence || record.status !== seen.status || record.updatedAt !== seen.updatedAt
