/**
 * Brings an instance back in step with its journal: after a commit that was not stored or not confirmed, and after a commit of another
 * node. Owns the commits whose outcome is not known.
 *
 * Every read of the journal ends in one of
 *
 *     #settleUpTo    the commit in flight is stored after all
 *     #settleLate    an earlier commit is stored, whose events were decided again since
 *     #redeliver     the events are decided again on the state of the journal, except for those that are rejected
 *     leaveUnknown   the journal cannot be read, or the instance was removed: it leaves memory
 */
import { LockingFailed, PersistenceFailed, type SendError, SequenceConflict } from "@detent/machine"
import { stale, stopped, type Tagged } from "@detent/machine/internal"
import type { InstanceRecord } from "@detent/store"
import { isRaisedId } from "@detent/store/internal"
import type * as Effect from "effect/Effect"
import type { Envelope } from "../machine/Envelope.ts"
import { isAccepted, type Pending, type PendingEvent } from "../machine/PendingEvent.ts"
import type { Recovered } from "../machine/Replay.ts"
import type { SelfSentEvent } from "../machine/SelfSentEvents.ts"
import type { Flight, NotStored } from "../runtime/CommitPipeline.ts"
import { conflicts, record as count } from "../runtime/Telemetry.ts"
import type { Reloaded } from "./InstanceContext.ts"
import { failurePauseMillis } from "./InstanceMode.ts"
import type { InstanceParts } from "./InstanceParts.ts"
import { noneRejected, type Rejected, type Resolution, rejectAll, UnconfirmedCommits } from "./UnconfirmedCommits.ts"

const none: ReadonlyArray<never> = []

/** The longest pause after a conflict. */
const longestBackoffMillis = 250

/** The instance that is brought in step. */
export interface SyncedInstance extends InstanceParts {
  /** The decisions of a stored commit become visible. */
  settle(pending: ReadonlyArray<Pending>): void
  /** Takes over the self-sent events that the journal shows as not handled. */
  takeOver(selfSent: ReadonlyArray<SelfSentEvent>): void
  /** Answers what memory has reached. */
  answerReached(): void
  /** The journal shows that the instance has ended. */
  endBy(stored: InstanceRecord, recovered: Recovered): void
  /** The lock was lost with the commit. Returns whether there was one. */
  lockLost(): boolean
  /** The stored state is unknown. `isUnknown`: a commit may be stored. */
  leaveUnknown(pending: ReadonlyArray<Pending>, error: SendError, isUnknown?: boolean): void
}

export class JournalSync {
  readonly #instance: SyncedInstance
  /** Commits that the store refused or did not confirm since the last one that it stored. */
  #unconfirmed: UnconfirmedCommits | undefined = undefined

  constructor(instance: SyncedInstance) {
    this.#instance = instance
  }

  /** Whether an unconfirmed commit may still be stored. */
  get mayArrive(): boolean {
    return this.#unconfirmed?.mayArrive === true
  }

  /** A commit is stored: no earlier one is unconfirmed any more. */
  stored() {
    this.#unconfirmed = undefined
  }

  /** Events that may be stored, and would be stored twice if they were sent again. Each with the error its sender gets. */
  notIdempotent(reason: string): Rejected {
    return this.#unconfirmed?.notIdempotent(reason) ?? noneRejected
  }

  // Commits that were not stored

  unresolved({ batch: pending }: Flight<Pending>, outcome: NotStored) {
    for (const { envelope } of pending) envelope.trace?.notStored(outcome)
    switch (outcome._tag) {
      case "Unconfirmed":
        // The store may have the commit, or may still receive it.
        for (const { envelope } of pending) envelope.isFirst = false
        return this.#confirm(pending, outcome.error)
      case "PersistenceFailed":
        // A due timer fires again immediately, and its commit may fail again.
        if (pending.some(({ envelope }) => envelope.timer !== undefined)) this.#instance.mode.pause(failurePauseMillis)
        return this.#read(pending, outcome, rejectAll(pending, outcome))
      case "Conflict":
        return this.#conflict(pending, outcome.actual)
      case "Duplicate":
        return this.#duplicate(pending, outcome.dedupeId)
      case "Fenced":
        return this.#fenced(pending)
    }
  }

  #confirm(pending: ReadonlyArray<Pending>, error: PersistenceFailed) {
    const all = [...pending, ...this.#instance.commits.pending]
    this.#resolve(pending, error, this.#commits.confirm(pending.filter(isAccepted), all, error))
  }

  /** Another node has committed first. The event is decided again after a pause that grows with each conflict, so that every writer makes progress. */
  #conflict(pending: ReadonlyArray<Pending>, actual: number) {
    const { key, position, record } = this.#instance
    count(conflicts, 1, record.environment)
    const error = new SequenceConflict({ ...key, expected: position.sequence, actual })
    const times = Math.max(...pending.map(({ envelope }) => ++envelope.conflicts))
    const backoff = times < 2 ? 0 : Math.min(2 ** times, longestBackoffMillis)
    this.#read(pending, error, noneRejected, backoff)
  }

  #duplicate(pending: ReadonlyArray<Pending>, dedupeId: string) {
    const { answers, key, record } = this.#instance
    const repeated = pending.find(({ envelope }) => envelope.dedupeId === dedupeId)
    const cause = new Error("the journal no longer has it")
    const missing = new PersistenceFailed({ ...key, operation: "find the first event of an id", cause })
    // Another node has handled the self-sent event. No sender waits for its outcome.
    if (repeated !== undefined && isRaisedId(dedupeId)) answers.complete(repeated.envelope, stale(record, repeated.envelope.event._tag))
    else if (repeated !== undefined) answers.refuseUnlessJournaled(repeated.envelope, missing)
    this.#read(
      pending.filter((one) => one !== repeated),
      missing,
    )
  }

  /**
   * The lock or the node's lease is lost. After a lost lock, the event fails. After a lost lease, the node registers again, and
   * the event is decided again.
   */
  #fenced(pending: ReadonlyArray<Pending>) {
    const instance = this.#instance
    const error = lost(instance)
    if (instance.mode.departure !== undefined && !this.mayArrive) return instance.leaveUnknown(pending, error)
    const all = [...pending, ...instance.commits.pending]
    if (instance.lockLost()) {
      // A commit that was not confirmed may have been stored while the lock was still held.
      return this.mayArrive ? this.#read(pending, error, rejectAll(all, error)) : instance.leaveUnknown(pending, error)
    }
    instance.work.stop("its node has lost its lease")
    this.#resolve(pending, error, this.#commits.fenced(all, error))
  }

  // Reading the journal

  /** Another node has changed the instance: the journal is read before anything else is decided. */
  refresh() {
    // A commit in flight gets a conflict, and the journal is read then.
    if (!this.#maySeeChange) return
    const cause = new Error("the store no longer has it")
    this.readAgain(new PersistenceFailed({ ...this.#instance.key, operation: "read again", cause }))
  }

  /** Reads the journal, because memory is behind it. */
  readAgain(error: SendError) {
    this.#read(none, error)
  }

  get #maySeeChange(): boolean {
    const { isAhead, mode, record } = this.#instance
    return record.ending === undefined && !isAhead && mode.isIdle
  }

  /** Applies a read of the journal that is newer than memory, unless a commit is in flight. Returns false if it is of another instance. */
  takeIn(reloaded: Reloaded, passed: ReadonlyArray<Tagged> | undefined): boolean {
    const { context, position } = this.#instance
    const { opened, recovered } = reloaded
    if (!this.#maySeeChange) return true
    if (opened.record.startedAt !== position.startedAt) return false
    if (!position.isBehind(opened.record)) return true
    if (context.isClosed() || !context.isKept(this.#instance)) {
      position.advanceTo(recovered)
      this.#relocate(recovered, opened.record, passed)
      // The journal may contain an unconfirmed commit now.
    } else if (this.mayArrive) this.refresh()
    else this.#redeliver(none, reloaded, noneRejected, passed)
    return true
  }

  get #commits(): UnconfirmedCommits {
    this.#unconfirmed ??= new UnconfirmedCommits(this.#instance)
    return this.#unconfirmed
  }

  /** Reads the journal. Events that were not stored are decided again, except for those that are rejected. */
  #read(pending: ReadonlyArray<Pending>, error: SendError, rejected: Rejected = noneRejected, backoffMillis = 0) {
    this.#resolve(pending, error, this.#commits.resolve(error, rejected, backoffMillis))
  }

  /** Waits for the outcome of a commit, and continues from there. */
  #resolve(pending: ReadonlyArray<Pending>, error: SendError, resolution: Effect.Effect<Resolution>) {
    const { mode } = this.#instance
    mode.during("resyncing", resolution, (found: Resolution = { _tag: "Unknown", error }) => {
      if (this.#unconfirmed?.isEmpty === true) this.#unconfirmed = undefined
      switch (found._tag) {
        case "Stored":
          return this.#settleUpTo(pending, found.reloaded)
        case "StoredLate":
          return this.#settleLate(found.flight, pending, found.reloaded, found.rejected)
        case "NotStored":
          if (found.pauseMillis > 0) mode.pause(found.pauseMillis)
          return this.#redeliver(pending, found.reloaded, found.rejected)
        case "Unknown":
          return this.#instance.leaveUnknown(pending, found.error, true)
      }
    })
  }

  // Applying what was read

  /** Moves to the state of the journal and decides events again, in order of arrival. Rejected events are answered last. */
  #redeliver(pending: ReadonlyArray<Pending>, reloaded: Reloaded, rejected: Rejected, passed?: ReadonlyArray<Tagged>) {
    const { commits, mode, record } = this.#instance
    commits.settle(() => {
      const again = undecided([...pending, ...this.#dropPending()], rejected)
      mode.resume()
      this.adopt(reloaded, passed)
      if (record.ending === undefined) {
        this.#instance.inbox.requeue(again, (envelope) => envelope.isSpeculative)
        this.#instance.takeOver(reloaded.recovered.selfSent)
      } else for (const envelope of again) this.#instance.answers.refuseUnlessJournaled(envelope, stopped(record, record.ending))
      for (const [envelope, error] of rejected) this.#instance.answers.complete(envelope, error)
    })
  }

  /** Drops the decisions on a speculative state, and returns them: they are made again. */
  #dropPending(): ReadonlyArray<Pending> {
    return this.#instance.commits.drop(() => true)
  }

  /** A commit arrived after its events were decided again: its decisions count, and the other events are decided on top of them. */
  #settleLate(flight: ReadonlyArray<PendingEvent>, pending: ReadonlyArray<Pending>, reloaded: Reloaded, rejected: Rejected) {
    const { answers, inbox, mode, position } = this.#instance
    const stored = new Set(flight.map(({ envelope }) => envelope))
    const sent = flight.flatMap((one) => one.sent).filter((envelope) => !stored.has(envelope))
    const again = undecided([...pending, ...this.#dropPending()], rejected)
    inbox.requeue(again, (envelope) => envelope.isSpeculative || stored.has(envelope))
    inbox.putFirst(sent)
    mode.resume()
    position.rebase(flight)
    this.#settleUpTo(flight, reloaded)
    for (const [envelope, error] of rejected) if (!stored.has(envelope)) answers.complete(envelope, error)
  }

  /** The commit in flight is stored after all; other nodes may have committed since. */
  #settleUpTo(pending: ReadonlyArray<Pending>, { opened, recovered }: Reloaded) {
    const { commits, mode, position, work } = this.#instance
    const last = pending.findLast(isAccepted)
    this.stored()
    work.take(opened.record)
    mode.resume()
    position.take(opened)
    // Events that were decided meanwhile are stored next. Nothing is decided after a barrier among them.
    if ([...pending, ...commits.pending].some((one) => isAccepted(one) && one.isBarrier)) mode.awaitCommit()
    commits.settle(() => this.#instance.settle(pending))
    if (last !== undefined && (recovered.sequence > last.sequence || position.differsInRevision(opened.record))) this.refresh()
  }

  /** Moves to the state of the journal. */
  adopt(reloaded: Reloaded, passed?: ReadonlyArray<Tagged>) {
    const instance = this.#instance
    const { context, position } = instance
    const { opened, recovered } = reloaded
    const moved = position.differsFrom(reloaded)
    position.adopt(reloaded)
    if (moved) {
      this.#unconfirmed?.moved()
      this.#relocate(recovered, opened.record, passed)
    } else instance.work.adopt(opened.record)
    position.rebase(none)
    if (moved) instance.waiting?.releasePostponed()
    context.timers.arm(instance, position.timers)
    instance.answerReached()
  }

  /**
   * Moves to a later state of the journal. Listeners get the `passed` states in between. If only the data changed, work continues. If
   * events were rewritten, the work of the state begins again.
   */
  #relocate(recovered: Recovered, stored: InstanceRecord, passed: ReadonlyArray<Tagged> = [recovered.state]) {
    const instance = this.#instance
    const { context, mode, position, record, work } = instance
    const kept = position.keptIn(recovered, stored)
    const closing = kept === undefined ? undefined : work.leaveState({ _tag: "(reload)" }, kept)
    for (const one of passed) {
      record.currentState = one
      record.notifyState()
    }
    position.moveTo(recovered, stored)
    work.adopt(stored)
    instance.endBy(stored, recovered)
    if (closing === undefined) return work.start()
    if (record.ending === undefined) mode.during("carrying out", closing, () => work.start())
    else context.workEnding(instance, record.environment.run(closing))
  }
}

/** The error of an instance that this node has lost. */
export const lost = ({ key }: Pick<InstanceParts, "key">): LockingFailed => new LockingFailed({ ...key, problem: "lost" })

const undecided = (pending: ReadonlyArray<Pending>, rejected: Rejected): ReadonlyArray<Envelope> =>
  pending.map(({ envelope }) => envelope).filter((one) => !rejected.has(one) && !one.isSpeculative && one.result === undefined)
