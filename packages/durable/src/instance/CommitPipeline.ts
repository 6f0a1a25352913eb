/**
 * Takes what happens to one instance to the journal. Entries gather while a commit is in flight and go out together with the next.
 *
 *     idle -> queued           entries are pending and wait for the next flush of the group commit
 *     queued -> in flight      the flush began: the commit brings what is pending by then
 *     in flight -> settling    the store has stored or refused the commit
 *     in flight -> asking      the commit is unconfirmed, or met another writer: the journal is read
 *     asking -> settling       the journal says what is stored
 *     settling -> idle, queued
 *
 * Guarantees:
 * - At most one commit is in flight: the store never gets two commits of one instance at once.
 * - Entries are stored in the order in which they were appended. What is retried keeps its place: entries of a commit that was not
 *   stored return to the front, before all that were appended since.
 * - An unconfirmed commit is not repeated before the journal was read: no entry is stored twice.
 * - An entry that the store refuses by its content is refused alone. The entries that were committed with it are committed one by
 *   one, then together again.
 */
import { PersistenceFailed } from "@detent/machine"
import type { Environment } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { conflicts } from "../engine/EngineMetrics.ts"
import type { Committing, Doubtful, GroupCommit } from "../runtime/GroupCommit.ts"
import type { Commit, CommitOutcome } from "../store/Commit.ts"

/** A commit, and the entries it brings. */
export interface Flight<Entry> {
  readonly batch: ReadonlyArray<Entry>
  readonly commit: Commit
}

/** The instance that the entries happen to. */
export interface PipelineOwner<Entry, Journaled> {
  readonly environment: Environment
  /** Whether the next commit brings more than entries: the instance itself, or a change of its record. */
  hasMore(): boolean
  /** How many of the pending entries, from the first on, one commit may bring. */
  countTogether(pending: ReadonlyArray<Entry>): number
  commitOf(batch: ReadonlyArray<Entry>): Commit
  /** Reads what the journal has of the instance, for as long as that takes. */
  readonly read: Effect.Effect<Journaled>
  stored(flight: Flight<Entry>): void
  /** The store does not take this entry; undefined: what the commit brought besides entries. */
  refused(entry: Entry | undefined, problem: PersistenceFailed): void
  /**
   * Applies what the journal has. Returns all entries that remain to be stored, in their order: of the flight, and of those that
   * were appended since. `isUnconfirmed`: some of the flight may be what the journal has.
   */
  resolve(journaled: Journaled, flight: Flight<Entry>, isUnconfirmed: boolean, appendedSince: ReadonlyArray<Entry>): ReadonlyArray<Entry>
  /** Called after each change, when no commit is in flight. */
  settled(): void
}

type Mode = "idle" | "queued" | "in flight" | "asking" | "settling"

/** The first pause after an unconfirmed commit; it doubles with each that follows. */
const firstPauseMillis = 25
const longestPauseMillis = 1000

export class CommitPipeline<Entry, Journaled> implements Committing {
  readonly #group: GroupCommit
  readonly #owner: PipelineOwner<Entry, Journaled>
  #mode: Mode = "idle"
  #pending: Array<Entry> = []
  #flight: Flight<Entry> | undefined
  #isOneByOne = false
  /** Commits in a row that the store did not confirm. */
  #unconfirmed = 0

  constructor(group: GroupCommit, owner: PipelineOwner<Entry, Journaled>) {
    this.#group = group
    this.#owner = owner
  }

  /** Whether nothing is pending or in flight. */
  get isIdle(): boolean {
    return this.#mode === "idle"
  }

  get pending(): ReadonlyArray<Entry> {
    return this.#pending
  }

  get inFlight(): ReadonlyArray<Entry> {
    return this.#flight?.batch ?? none
  }

  append(entry: Entry) {
    this.#pending.push(entry)
    this.commitSoon()
  }

  /** Commits what the owner has besides entries. */
  commitSoon() {
    if (this.#mode !== "idle") return
    this.#mode = "queued"
    this.#group.enqueue(this)
  }

  /** Removes pending entries, and returns them. Those in flight stay. */
  drop(isDropped: (entry: Entry) => boolean): ReadonlyArray<Entry> {
    const dropped = this.#pending.filter(isDropped)
    if (dropped.length > 0) this.#pending = this.#pending.filter((entry) => !isDropped(entry))
    return dropped
  }

  /** Reads the journal, because another node may have written. Does nothing while something is on its way: its answer will tell. */
  refresh() {
    if (this.#mode !== "idle") return
    this.#ask({ batch: [], commit: this.#owner.commitOf([]) }, 0)
  }

  takeCommit(): Commit | undefined {
    const hasMore = this.#owner.hasMore()
    const together = this.#owner.countTogether(this.#pending)
    const batch = this.#pending.splice(0, this.#isOneByOne ? Math.min(together, hasMore ? 0 : 1) : together)
    if (batch.length === 0 && !hasMore) {
      this.#settle(() => undefined)
      return undefined
    }
    try {
      const commit = this.#owner.commitOf(batch)
      this.#mode = "in flight"
      this.#flight = { batch, commit }
      return commit
    } catch (cause) {
      this.#refuse(batch, new PersistenceFailed({ machine: "any", operation: "encode", cause }))
      return undefined
    }
  }

  committed(outcome: CommitOutcome | Doubtful) {
    const flight = this.#flight as Flight<Entry>
    switch (outcome._tag) {
      case "Stored":
        this.#unconfirmed = 0
        return this.#settle(() => this.#owner.stored(flight))
      case "PersistenceFailed":
        return this.#refuse(flight.batch, outcome)
      case "Doubtful":
        return this.#ask(flight, Math.min(firstPauseMillis * 2 ** this.#unconfirmed++, longestPauseMillis))
      default:
        this.#owner.environment.run(Metric.update(conflicts, 1))
        return this.#ask(flight, 0)
    }
  }

  #refuse(batch: ReadonlyArray<Entry>, problem: PersistenceFailed) {
    this.#settle(() => {
      if (batch.length + (this.#owner.hasMore() ? 1 : 0) === 1) return this.#owner.refused(batch[0], problem)
      this.#isOneByOne = true
      this.#pending.unshift(...batch)
    })
  }

  #ask(flight: Flight<Entry>, pauseMillis: number) {
    this.#mode = "asking"
    this.#flight = flight
    const { environment, read } = this.#owner
    environment.run(
      Effect.map(pauseMillis === 0 ? read : Effect.delay(read, pauseMillis), (journaled) =>
        this.#settle(() => {
          const since = this.#pending
          this.#pending = []
          this.#pending = [...this.#owner.resolve(journaled, flight, this.#unconfirmed > 0, since), ...this.#pending]
        }),
      ),
    )
  }

  /** While the owner takes in what became of a commit, new entries wait. A callback that throws leaves the pipeline usable. */
  #settle(change: () => void) {
    this.#mode = "settling"
    this.#flight = undefined
    try {
      change()
    } finally {
      if (this.#pending.length === 0) this.#isOneByOne = false
      this.#mode = "idle"
      if (this.#pending.length > 0 || this.#owner.hasMore()) this.commitSoon()
      this.#owner.settled()
    }
  }
}

const none: ReadonlyArray<never> = []
