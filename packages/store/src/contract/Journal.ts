/** The journal: where instances are kept. Three backends implement it; one conformance kit holds them to the same rules. */

import type { PersistenceFailed } from "@detent/machine"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { TransactionConnection } from "effect/sql/SqlClient"
import type {
  Commit,
  CommitOutcome,
  EventRecord,
  InstanceKey,
  InstanceStatus,
  InstanceSummary,
  Json,
  ShardFilter,
  SnapshotRecord,
  TimerRecord,
} from "./Commit.ts"
import type { DatabaseId } from "./DatabaseId.ts"
import type { FieldsWrite, FieldValue, IndexFill, LabelChanges, LabelOutcome, SearchFilter, SearchPosition } from "./Search.ts"

/** An instance as the store lists it. */
export interface InstanceRecord extends InstanceKey, InstanceSummary {
  readonly sequence: number
  readonly startedAt: number
  readonly updatedAt: number
  /** How often events of its journal were rewritten. Absent: never. */
  readonly revision?: number
  /** The values of its indexed fields by name, as JSON. Absent: it was never indexed. */
  readonly fields?: Json
  /** Its labels by name, as JSON. Absent: it never had one. */
  readonly labels?: Json
}

/** The data of a recovery, without the events after the snapshot. */
export interface OpenedInstance {
  readonly record: InstanceRecord
  /** The first state of the instance, as JSON; undefined once it was pruned because of a snapshot. */
  readonly origin: Json | undefined
  readonly snapshot: SnapshotRecord | undefined
  readonly timers: ReadonlyArray<TimerRecord>
}

/** An instance of an id. With `startedAt`, only the one that was started then: the id of a removed instance may be used again. */
export interface InstanceLife extends InstanceKey {
  readonly startedAt?: number
}

/** The journal of an instance. With `startedAt`, only while it has that revision. Default: 0, no event was rewritten. */
export interface JournalRevision extends InstanceLife {
  readonly revision?: number
}

/** An instance, with the sequence that it must be at. Undefined: any. */
export interface RewriteKey extends InstanceKey {
  readonly sequence?: number
}

/** The position of an instance. */
export interface InstanceStanding {
  readonly sequence: number
  readonly status: InstanceStatus
  /** Distinguishes an instance from an earlier one of the same id, which was removed. */
  readonly startedAt?: number
  /** How often events of its journal were rewritten. Absent: never. */
  readonly revision?: number
}

export interface InstanceFilter {
  readonly machine?: string
  /** In this state, or in any of these. An instance that changes between them while it is listed is not left out. */
  readonly tag?: string | ReadonlyArray<string>
  readonly status?: InstanceStatus
  readonly needsOwner?: boolean
  readonly owes?: boolean
  readonly updatedAfter?: number
  readonly updatedBefore?: number
  /** By the time of the last change. Default: `oldest` change first. */
  readonly order?: "oldest" | "newest"
}

/** Which instances to page through by key. All conditions are served by an index. */
export interface KeyFilter {
  readonly machine: string
  readonly status?: InstanceStatus
  /** Only instances whose id begins with this. */
  readonly idPrefix?: string
  /** Only running instances whose state has work. */
  readonly needsOwner?: true
  /** Only running instances whose state has work and whose owner this is; null: those without an owner. */
  readonly owner?: string | null
  /** Only instances that were last written by this version of the machine, or by an older one. */
  readonly newestVersion?: number
  /** Only executions that have ended and whose parents may not have been notified. */
  readonly owes?: true
  /** Only instances in these shards. Stores that only one process uses ignore it. */
  readonly shards?: ShardFilter
}

/** Which instances to take over: those of one owner; null: those without an owner. */
export interface TakeoverFilter extends KeyFilter {
  readonly owner: string | null
}

/** A page of instances that have another owner now. */
export interface TakenOver {
  readonly opened: ReadonlyArray<OpenedInstance>
  /** The id after which the next page begins. Undefined: this was the last one. */
  readonly next: string | undefined
}

/** Where a page ended; pass it to get the next. */
export interface InstanceCursor extends InstanceKey {
  readonly updatedAt: number
  /** Of a search: the value of the field that it is ordered by. */
  readonly value?: FieldValue
}

export interface InstancePage {
  readonly instances: ReadonlyArray<InstanceRecord>
  readonly next: InstanceCursor | undefined
  /** The page of a search ended early, after examining this many entries of an index. The next page continues. */
  readonly scanned?: number
}

/** A store in the memory of this process: it is read synchronously, and notifies of every write. */
export interface LocalJournal {
  /** The sequence of the instance that was started then and whose journal has this revision (default: 0); undefined where there is none. */
  readonly sequence: (key: InstanceKey, startedAt: number, revision?: number) => number | undefined
  /** Calls back for every instance that was written to, synchronously; returns the function that unsubscribes. */
  readonly watch: (written: (key: InstanceKey) => void) => () => void
}

/** Notifications of changed instances, between processes. */
export interface ChangeNotifications {
  readonly notify: (keys: ReadonlyArray<InstanceKey>) => void
  /** Calls back with changed instances; without keys, any may have changed. Returns the function that unsubscribes. */
  readonly listen: (changed: (keys: ReadonlyArray<InstanceKey>) => void) => () => void
}

export interface JournalService {
  /** Undefined where the store has no notifications: then positions are polled. */
  readonly changed?: ChangeNotifications
  /** Set where no other process can reach the store, and reading it costs nothing. */
  readonly local?: LocalJournal
  readonly databaseId: DatabaseId
  /** The service that a fiber has in its context inside a transaction of the store's database. */
  readonly transaction?: Context.Key<TransactionConnection, TransactionConnection.Service>
  /** How many groups of commits the store writes efficiently at the same time. Default: 1. */
  readonly writers?: number
  /** The store's time in milliseconds since 1970: the database's clock where it is a server, else the clock of this process. */
  readonly clock: Effect.Effect<number, PersistenceFailed>
  /** The largest event, state or parameters in bytes that the store can read back. It refuses a commit with a larger one. */
  readonly maxBodyBytes?: number
  /** Stores many commits in one transaction; outcomes in the order given. No two may be of the same instance. */
  readonly commit: (commits: ReadonlyArray<Commit>) => Effect.Effect<ReadonlyArray<CommitOutcome>, PersistenceFailed>
  readonly open: (key: InstanceKey) => Effect.Effect<Option.Option<OpenedInstance>, PersistenceFailed>
  /** The positions of instances, in the order given: a third of the cost of `open`. Undefined for a key without an instance. */
  readonly standings: (keys: ReadonlyArray<InstanceKey>) => Effect.Effect<ReadonlyArray<InstanceStanding | undefined>, PersistenceFailed>
  /**
   * Opens many instances together, as a restart does. Unknown keys are left out. An instance that cannot be read does not fail the
   * others: it is returned as held, without state, with the problem as its reason. Lists and pages do the same.
   */
  readonly openAll: (keys: ReadonlyArray<InstanceKey>) => Effect.Effect<ReadonlyArray<OpenedInstance>, PersistenceFailed>
  /** Events after a sequence number, ascending, at most `limit`. None where a later instance of the id was started since. */
  readonly events: (key: InstanceLife, after: number, limit: number) => Effect.Effect<ReadonlyArray<EventRecord>, PersistenceFailed>
  /**
   * The events of several instances for a recovery: the events after the snapshot of each, ascending, grouped by instance. None for
   * an instance whose id belongs to a later instance by now.
   */
  readonly tails: (keys: ReadonlyArray<InstanceLife>) => Effect.Effect<ReadonlyArray<InstanceKey & EventRecord>, PersistenceFailed>
  /** The journaled event that was sent under an id. */
  readonly findDuplicate: (key: InstanceKey, dedupeId: string) => Effect.Effect<Option.Option<EventRecord>, PersistenceFailed>
  /**
   * Saves a snapshot. Returns false where a newer snapshot is stored, where the id belongs to a later instance, or where an event was
   * rewritten since.
   */
  readonly saveSnapshot: (key: JournalRevision, snapshot: SnapshotRecord) => Effect.Effect<boolean, PersistenceFailed>
  /**
   * Removes events that a snapshot covers, after one sequence number and through another. Numbering continues. Events
   * that were sent under an id stay, because that id may come again. Returns how many were removed.
   */
  readonly prune: (key: InstanceKey, through: number, after?: number) => Effect.Effect<number, PersistenceFailed>
  readonly list: (filter: InstanceFilter, limit: number, after?: InstanceCursor) => Effect.Effect<InstancePage, PersistenceFailed>
  /** Instances in the order of their ids. Ids never change, so paging neither skips nor repeats instances. `after` is an id. */
  readonly page: (filter: KeyFilter, limit: number, after?: string) => Effect.Effect<ReadonlyArray<InstanceRecord>, PersistenceFailed>
  /**
   * The distinct owners of a machine's running instances whose state has work; undefined stands for instances without an owner.
   * Costs one index lookup per owner, however many instances there are.
   */
  readonly owners: (machine: string) => Effect.Effect<ReadonlyArray<string | undefined>, PersistenceFailed>
  /**
   * Makes another node the owner of running instances whose state has work, if the owner is still `from`: compare-and-set, so that
   * only one of two callers succeeds. Returns the instances it changed.
   */
  readonly changeOwner: (
    keys: ReadonlyArray<InstanceKey>,
    from: string | undefined,
    to: string,
  ) => Effect.Effect<ReadonlyArray<InstanceKey>, PersistenceFailed>
  /**
   * The same for a page of `limit` instances in the order of their ids. Returns those it changed as `openAll` does, so that they can be
   * replayed without being read again. `after` is an id.
   */
  readonly takeOver: (filter: TakeoverFilter, to: string, limit: number, after?: string) => Effect.Effect<TakenOver, PersistenceFailed>
  /** The names of all machines and workflows that have instances, sorted. Costs one index lookup per name. */
  readonly machines: Effect.Effect<ReadonlyArray<string>, PersistenceFailed>
  /** How many instances are in each state. */
  readonly count: (machine: string) => Effect.Effect<ReadonlyMap<string, number>, PersistenceFailed>
  /**
   * Marks an instance as held, or releases it, if it still has the status and the sequence that the caller has seen: compare-and-set.
   * False where another process has changed it since, or where there is none.
   */
  readonly setStatus: (
    seen: InstanceKey & InstanceStanding,
    status: InstanceStatus,
    reason: string | undefined,
  ) => Effect.Effect<boolean, PersistenceFailed>
  /**
   * Removes instances of a machine that ended this long ago by the store's clock, at most `limit`, with journal, snapshot, timers,
   * dedupe ids and commands. An instance with an unfinished command or a dead letter, or with parents that are not notified of its
   * end, stays. Returns how many it removed.
   */
  readonly purgeEnded: (machine: string, endedMillis: number, limit: number) => Effect.Effect<number, PersistenceFailed>
  /** How many instances `purgeEnded` would remove without its limit. Removes none. */
  readonly countEnded: (machine: string, endedMillis: number) => Effect.Effect<number, PersistenceFailed>
  /**
   * Replaces tag and body of one journaled event, to repair a held instance, and adds one to the revision of the journal. With `seen`,
   * only if the body is still the one that the caller has seen; with the `sequence` of the instance, only if no event was added since:
   * compare-and-set. False where that does not hold, or the event does not exist.
   */
  readonly rewrite: (key: RewriteKey, event: EventRecord, seen?: Json) => Effect.Effect<boolean, PersistenceFailed>
  /** Instances by indexed fields and labels, in pages. Includes every stored commit. */
  readonly search: (filter: SearchFilter, limit: number, after?: SearchPosition) => Effect.Effect<InstancePage, PersistenceFailed>
  /** How far the indexes of a machine are filled. None: no machine of this name with indexes was registered. */
  readonly indexFill: (machine: string) => Effect.Effect<Option.Option<IndexFill>, PersistenceFailed>
  /**
   * Stores how far the indexes of a machine are filled, if nothing has changed since `seen` was read: compare-and-set. False where another
   * process was faster.
   */
  readonly setIndexFill: (machine: string, seen: IndexFill | undefined, fill: IndexFill) => Effect.Effect<boolean, PersistenceFailed>
  /** Stores the values of instances that are still at the sequence they were read at. Returns the ids of those that were not. */
  readonly writeFields: (machine: string, writes: ReadonlyArray<FieldsWrite>) => Effect.Effect<ReadonlyArray<string>, PersistenceFailed>
  /** Sets and removes labels of an instance. */
  readonly label: (key: InstanceKey, changes: LabelChanges) => Effect.Effect<LabelOutcome, PersistenceFailed>
  /** Copies the journal of one instance up to a sequence number to a new one. Commands are not copied. */
  readonly fork: (from: InstanceKey, through: number, to: Commit) => Effect.Effect<CommitOutcome, PersistenceFailed>
}

export class Journal extends Context.Service<Journal, JournalService>()("@detent/durable/Journal") {}

/** Takes over a page of instances with three operations, for stores in the process itself: a round trip to them costs nothing. */
export const takeOverInSteps =
  ({ page, changeOwner, openAll }: Pick<JournalService, "page" | "changeOwner" | "openAll">): JournalService["takeOver"] =>
  (filter, to, limit, after) =>
    Effect.gen(function* () {
      const records = yield* page(filter, limit, after)
      const changed = yield* changeOwner(records, filter.owner ?? undefined, to)
      return { opened: yield* openAll(changed), next: records.length < limit ? undefined : records.at(-1)?.id }
    })
