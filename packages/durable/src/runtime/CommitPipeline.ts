/**
 * Commits the events of one instance, or of one execution of a workflow, to the journal. Entries that are appended while a commit
 * is in flight are stored together by the next commit.
 *
 *     idle -> queued             entries are pending and wait for the next flush of the group commit
 *     queued -> in flight        the flush began: the commit contains the entries pending at that time
 *     in flight -> settling      the store has stored the commit
 *     in flight -> resolving     the store refused or did not confirm the commit: the owner reads the journal
 *     resolving -> settling      the owner returns the entries that are committed again
 *     settling -> idle, queued
 *
 * Guarantees:
 * - At most one commit is in flight: the store never gets two commits of one instance at the same time.
 * - Entries are stored in the order in which they were appended. Entries that remain after resolving return to the front, before
 *   all that were appended since.
 * - An owner that throws leaves the pipeline usable.
 */
import { PersistenceFailed } from "@detent/machine"
import type { Commit, CommitOutcome } from "@detent/store"
import type { CommitSource, GroupCommit, Unconfirmed } from "./GroupCommit.ts"

/** Entries in flight, and the commit that contains them: undefined where none of them needs to be stored. */
export interface Flight<Entry> {
  readonly batch: ReadonlyArray<Entry>
  readonly commit: Commit | undefined
}

/** Any outcome of a commit except `Stored`. */
export type NotStored = Exclude<CommitOutcome, { readonly _tag: "Stored" }> | Unconfirmed

export interface CommitOwner<Entry> {
  /** How many of the pending entries, from the first on, the next commit contains. */
  countTogether(pending: ReadonlyArray<Entry>): number
  commitOf(batch: ReadonlyArray<Entry>): Commit | undefined
  /** Whether the next commit comes from a fired timer: commits that callers wait for go before it. */
  isFired(first: Entry | undefined): boolean
  stored(flight: Flight<Entry>): void
  /** A commit is refused or not confirmed. The owner finds out which entries are stored, and then calls `settle`. */
  unresolved(flight: Flight<Entry>, outcome: NotStored): void
  /** Whether the owner needs a commit although no entry is pending. */
  hasMore(): boolean
  /** Called after each change, when no commit is in flight. */
  settled(): void
}

type Mode = "idle" | "queued" | "in flight" | "resolving" | "settling"

const none: Array<never> = []

export class CommitPipeline<Entry> implements CommitSource {
  readonly #group: GroupCommit
  readonly #owner: CommitOwner<Entry>
  #mode: Mode = "idle"
  /** Never changed in place while it is empty: idle pipelines share one empty array. */
  #pending: Array<Entry> = none
  #flight: Flight<Entry> | undefined = undefined

  constructor(group: GroupCommit, owner: CommitOwner<Entry>) {
    this.#group = group
    this.#owner = owner
  }

  /** Whether nothing is pending, in flight or being resolved. */
  get isIdle(): boolean {
    return this.#mode === "idle" && this.#pending.length === 0
  }

  get pending(): ReadonlyArray<Entry> {
    return this.#pending
  }

  get inFlight(): ReadonlyArray<Entry> {
    return this.#flight?.batch ?? none
  }

  append(entry: Entry) {
    // A push to an empty array reserves room for seventeen entries, and nearly always there is only one.
    if (this.#pending.length === 0) this.#pending = [entry]
    else this.#pending.push(entry)
    this.commitSoon()
  }

  /** Queues a commit of the pending entries, or of changes that the owner has besides entries. */
  commitSoon() {
    if (this.#mode !== "idle") return
    this.#mode = "queued"
    if (this.#owner.isFired(this.#pending[0])) this.#group.enqueueFired(this)
    else this.#group.enqueue(this)
  }

  /** Removes pending entries, and returns them. Those in flight stay. */
  drop(isDropped: (entry: Entry) => boolean): ReadonlyArray<Entry> {
    const dropped = this.#pending.filter(isDropped)
    if (dropped.length > 0) this.#pending = this.#pending.filter((entry) => !isDropped(entry))
    return dropped
  }

  takeCommit(): Commit | undefined {
    const batch = this.#takeBatch()
    let commit: Commit | undefined
    try {
      commit = this.#owner.commitOf(batch)
    } catch (cause) {
      this.resolve({ batch, commit: undefined }, new PersistenceFailed({ machine: "any", operation: "encode", cause }))
      return undefined
    }
    const flight = { batch, commit }
    if (commit === undefined) {
      this.#stored(flight)
      return undefined
    }
    this.#mode = "in flight"
    this.#flight = flight
    return commit
  }

  #takeBatch(): ReadonlyArray<Entry> {
    const together = this.#owner.countTogether(this.#pending)
    if (together < this.#pending.length) return this.#pending.splice(0, together)
    const batch = this.#pending
    this.#pending = none
    return batch
  }

  committed(outcome: CommitOutcome | Unconfirmed) {
    const flight = this.#flight ?? { batch: none, commit: undefined }
    if (outcome._tag === "Stored") this.#stored(flight)
    else this.resolve(flight, outcome)
  }

  #stored(flight: Flight<Entry>) {
    this.#beginSettling()
    try {
      this.#owner.stored(flight)
    } finally {
      this.#endSettling()
    }
  }

  /** Hands entries over to the owner, which finds out whether they are stored. New entries wait until it calls `settle`. */
  resolve(flight: Flight<Entry>, outcome: NotStored) {
    this.#mode = "resolving"
    this.#flight = flight
    this.#owner.unresolved(flight, outcome)
  }

  /** Commits nothing while the owner reads the journal, until it calls `settle`. */
  pause() {
    this.#mode = "resolving"
  }

  /** Ends a commit, or its resolution. Entries that `change` returns are committed next, before those that were appended since. */
  settle(change: () => ReadonlyArray<Entry> | undefined | void) {
    this.#beginSettling()
    try {
      const remaining = change()
      if (remaining !== undefined && remaining.length > 0) this.#pending = [...remaining, ...this.#pending]
    } finally {
      this.#endSettling()
    }
  }

  #beginSettling() {
    this.#mode = "settling"
    this.#flight = undefined
  }

  #endSettling() {
    this.#mode = "idle"
    if (this.#pending.length > 0 || this.#owner.hasMore()) this.commitSoon()
    this.#owner.settled()
  }
}
