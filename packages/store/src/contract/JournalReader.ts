/**
 * Reads whole journals in bulk, in the order of ids, and never writes: the file is opened to read only, and on PostgreSQL every page is one
 * read-only transaction. The processes that work on the database are not disturbed.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { EventRecord, InstanceKey } from "./Commit.ts"
import type { OpenedInstance } from "./Journal.ts"

/** Instances by when they ended. Absent bounds are open. */
export interface EndedBetween {
  readonly since?: number
  readonly until?: number
}

/** Which journals to read. */
export interface JournalSelection {
  readonly machine: string
  /** Those of instances that have not ended. */
  readonly unended: boolean
  /** Those of instances that have ended; undefined: none of them. */
  readonly ended: EndedBetween | undefined
}

/** A part of the instances of a selection, by their ids: after one and through another. Absent: from the first, to the last. */
export interface IdRange {
  readonly after?: string
  readonly through?: string
}

/** How many instances a selection has, and ids that divide them into ranges of equal size. */
export interface Division {
  readonly count: number
  readonly ranges: ReadonlyArray<IdRange>
}

/** An instance with the events since its beginning, or since its snapshot where earlier ones were pruned. */
export interface ReadJournal extends OpenedInstance {
  /** The sequence number before the first event. */
  readonly start: number
  /** Undefined: there are too many for one page. They are read by `events`. */
  readonly events: ReadonlyArray<EventRecord> | undefined
}

export interface JournalPage {
  readonly journals: ReadonlyArray<ReadJournal>
  /** The id after which the next page begins. Undefined: this was the last one. */
  readonly next: string | undefined
}

export interface JournalReaderService {
  /** The names of all machines and workflows that have instances, sorted. */
  readonly machines: Effect.Effect<ReadonlyArray<string>, PersistenceFailed>
  readonly divide: (selection: JournalSelection, size: number) => Effect.Effect<Division, PersistenceFailed>
  /** At most `limit` journals of a range, in the order of their ids. */
  readonly page: (selection: JournalSelection, range: IdRange, limit: number) => Effect.Effect<JournalPage, PersistenceFailed>
  /** One instance without its events; undefined where there is none. */
  readonly open: (key: InstanceKey) => Effect.Effect<OpenedInstance | undefined, PersistenceFailed>
  /** Events after a sequence number, ascending, at most `limit`. */
  readonly events: (key: InstanceKey, after: number, limit: number) => Effect.Effect<ReadonlyArray<EventRecord>, PersistenceFailed>
}

export class JournalReader extends Context.Service<JournalReader, JournalReaderService>()("@detent/store/JournalReader") {}
