/**
 * Resolves the commits of an execution that the store did not confirm. After an unconfirmed commit, or a conflict with another writer, the
 * journal is read before the entries are sent again, so that no entry is stored twice. If the store refuses the content of an entry, only
 * that entry fails: the entries of its batch are committed one by one, later ones together again.
 */
import type { PersistenceFailed } from "@detent/machine"
import type { Environment } from "@detent/machine/internal"
import type { Commit } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { type CommitOwner, CommitPipeline, type Flight, type NotStored } from "../runtime/CommitPipeline.ts"
import type { GroupCommit } from "../runtime/GroupCommit.ts"
import { conflicts } from "../runtime/Telemetry.ts"

/** A commit that was sent, and its entries. */
export interface SentFlight<Entry> {
  readonly batch: ReadonlyArray<Entry>
  readonly commit: Commit
}

/** The execution whose entries are committed. */
export interface ResolutionOwner<Entry, Journaled> {
  readonly environment: Environment
  /** Whether the next commit writes more than entries: the execution itself, or a change of its record. */
  hasMore(): boolean
  /** How many of the pending entries, counted from the first, one commit may contain. */
  countTogether(pending: ReadonlyArray<Entry>): number
  commitOf(batch: ReadonlyArray<Entry>): Commit
  /** Reads the journal of the execution, and retries until the store answers. */
  readonly read: Effect.Effect<Journaled>
  stored(flight: SentFlight<Entry>): void
  /** The store refuses this entry; undefined: the part of the commit besides entries. */
  refused(entry: Entry | undefined, problem: PersistenceFailed): void
  /**
   * Applies the journal. Returns the entries that remain to be stored, in order: those of the flight, then those appended since.
   * `isUnconfirmed`: the journal may already contain entries of the flight.
   */
  resolve(
    journaled: Journaled,
    flight: SentFlight<Entry>,
    isUnconfirmed: boolean,
    appendedSince: ReadonlyArray<Entry>,
  ): ReadonlyArray<Entry>
  /** Called after each change, when no commit is in flight. */
  settled(): void
}

/** The pause after the first unconfirmed commit; it doubles with each further one in a row. */
const firstPauseMillis = 25
const longestPauseMillis = 1000

export class CommitResolution<Entry, Journaled> implements CommitOwner<Entry> {
  readonly pipeline: CommitPipeline<Entry>
  readonly #owner: ResolutionOwner<Entry, Journaled>
  #isOneByOne = false
  /** Commits in a row that the store did not confirm. */
  #unconfirmed = 0

  constructor(group: GroupCommit, owner: ResolutionOwner<Entry, Journaled>) {
    this.#owner = owner
    this.pipeline = new CommitPipeline(group, this)
  }

  /** Reads the journal, because another node may have written. Does nothing while a commit is in flight: its outcome reports a conflict. */
  refresh() {
    if (!this.pipeline.isIdle) return
    this.pipeline.pause()
    this.#ask({ batch: [], commit: this.#owner.commitOf([]) }, 0)
  }

  hasMore(): boolean {
    return this.#owner.hasMore()
  }

  isFired(): boolean {
    return false
  }

  countTogether(pending: ReadonlyArray<Entry>): number {
    const together = this.#owner.countTogether(pending)
    return this.#isOneByOne ? Math.min(together, this.#owner.hasMore() ? 0 : 1) : together
  }

  commitOf(batch: ReadonlyArray<Entry>): Commit | undefined {
    return batch.length === 0 && !this.#owner.hasMore() ? undefined : this.#owner.commitOf(batch)
  }

  stored({ batch, commit }: Flight<Entry>) {
    if (commit === undefined) return
    this.#unconfirmed = 0
    this.#owner.stored({ batch, commit })
  }

  unresolved({ batch, commit }: Flight<Entry>, outcome: NotStored) {
    if (outcome._tag === "PersistenceFailed" || commit === undefined) {
      const problem = outcome._tag === "PersistenceFailed" ? outcome : undefined
      return this.pipeline.settle(() => this.#refuse(batch, problem))
    }
    if (outcome._tag === "Unconfirmed") {
      return this.#ask({ batch, commit }, Math.min(firstPauseMillis * 2 ** this.#unconfirmed++, longestPauseMillis))
    }
    this.#owner.environment.run(Metric.update(conflicts, 1))
    this.#ask({ batch, commit }, 0)
  }

  /** Returns the entries to commit one by one, in order to find the one that the store refuses. */
  #refuse(batch: ReadonlyArray<Entry>, problem: PersistenceFailed | undefined): ReadonlyArray<Entry> | undefined {
    if (problem === undefined || batch.length + (this.#owner.hasMore() ? 1 : 0) > 1) {
      this.#isOneByOne = true
      return batch
    }
    this.#owner.refused(batch[0], problem)
    return undefined
  }

  #ask(flight: SentFlight<Entry>, pauseMillis: number) {
    const { environment, read } = this.#owner
    environment.run(
      Effect.map(pauseMillis === 0 ? read : Effect.delay(read, pauseMillis), (journaled) =>
        this.pipeline.settle(() =>
          this.#owner.resolve(
            journaled,
            flight,
            this.#unconfirmed > 0,
            this.pipeline.drop(() => true),
          ),
        ),
      ),
    )
  }

  settled() {
    if (this.pipeline.pending.length === 0) this.#isOneByOne = false
    this.#owner.settled()
  }
}
