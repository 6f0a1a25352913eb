/**
 * A durable instance while it is in memory. It decides like any actor, but a decision becomes visible only when it is stored.
 * Until then the instance may decide further events on its speculative state; if a commit fails, those decisions are dropped and
 * the events are decided again, in order of arrival.
 *
 * It is put together from owners of one thing each:
 *
 *     InstanceMode       what it does now, and whether it may decide
 *     InstancePosition   what its journal has of it, and the state ahead of that
 *     Inbox              events that wait, or are postponed
 *     decideEvent        one decision
 *     CommitPipeline     decisions that are not stored yet
 *     JournalSync        commits whose outcome is not known, and reads of the journal
 *     StateWork          the work of its state, and who owns it
 *     Answers            the senders that wait for an outcome
 *
 * This class takes events, decides them as its mode allows, carries stored decisions out, and leaves memory.
 */

import { type ActionFailed, type ActorEnd, type SendError, type Taken, timeoutEvent } from "@detent/machine"
import {
  ActorState,
  extendChain,
  inspect,
  type Message,
  overloaded,
  queryAtEnd,
  type Result,
  report,
  reportRefusal,
  type StateScope,
  stale,
  stopped,
  type Tagged,
} from "@detent/machine/internal"
import type { Commit, InstanceKey, InstanceRecord, OpenedInstance, TimerRecord } from "@detent/store"
import { instanceName, isRaisedId } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schedule from "effect/Schedule"
import { selfSent } from "../machine/acceptedEvent.ts"
import { Envelope } from "../machine/Envelope.ts"
import { type CommitRights, instanceCommit, type Limits } from "../machine/InstanceCommit.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import { isAccepted, keptOf, type Pending, type PendingEvent } from "../machine/PendingEvent.ts"
import type { Recovered } from "../machine/Replay.ts"
import type { SelfSentEvent } from "../machine/SelfSentEvents.ts"
import type { HeldLock } from "../nodes/HeldLease.ts"
import { type CommitOwner, CommitPipeline, type Flight, type NotStored } from "../runtime/CommitPipeline.ts"
import { record as count, instancesGivenUp, within } from "../runtime/Telemetry.ts"
import { isTransient } from "../runtime/untilAnswered.ts"
import { Answers } from "./Answers.ts"
import { type DecidedInstance, decideEvent } from "./decideEvent.ts"
import { Inbox } from "./Inbox.ts"
import type { InstanceContext, Reloaded } from "./InstanceContext.ts"
import { type Departure, failurePauseMillis, InstanceMode, type LeaveReason, type Left, leaveText } from "./InstanceMode.ts"
import { InstancePosition } from "./InstancePosition.ts"
import { JournalSync, lost, type SyncedInstance } from "./JournalSync.ts"
import { StateWork, type WorkingInstance } from "./StateWork.ts"
import { isRemoved, removed, retrying } from "./UnconfirmedCommits.ts"

const none: ReadonlyArray<never> = []

/** How many events may be decided ahead of the store. */
const aheadLimit = 1000

export class LiveInstance implements WorkingInstance, DecidedInstance, SyncedInstance, CommitOwner<Pending> {
  readonly context: InstanceContext
  readonly machine: RegisteredMachine
  readonly key: InstanceKey
  /** Its key in all tables of the engine. */
  readonly name: string
  readonly record: ActorState
  readonly position: InstancePosition
  readonly work: StateWork
  readonly mode: InstanceMode
  lastUsedAt: number

  /** Decided events that are not stored. Created with the first event. */
  #pipeline: CommitPipeline<Pending> | undefined = undefined
  /** Created when the journal is first read again. */
  #sync: JournalSync | undefined = undefined
  /** Created with the first event that waits. */
  #inbox: Inbox | undefined = undefined
  /** How many events it received. */
  #arrivals = 0
  /** Created with the first event that has an id, comes from a timer, or is not accepted. */
  #senders: Answers | undefined = undefined
  /** Events are postponed: commits of other nodes are followed. */
  #isPostponing = false
  #lock: HeldLock | undefined = undefined

  constructor(context: InstanceContext, machine: RegisteredMachine, reloaded: Reloaded) {
    const { opened, recovered } = reloaded
    const { record } = opened
    this.context = context
    this.machine = machine
    this.key = { machine: machine.name, id: record.id }
    this.name = instanceName(this.key)
    this.record = new ActorState(record.id, machine.compiled, context.host, machine.environment, recovered.state, record.startedAt)
    this.position = new InstancePosition(this.key, this.record, reloaded)
    this.lastUsedAt = machine.environment.clock.currentTimeMillisUnsafe()
    this.work = new StateWork(this, context, record)
    this.mode = new InstanceMode(this.work)
  }

  /** The instance has ended by the journal: its state can be read, and it refuses events with the reason. */
  conclude({ record }: OpenedInstance) {
    this.record.ending = endingIn(record, this.record.currentState)
    this.mode.end()
  }

  /** Arms timers, takes over self-sent events that are not journaled yet and starts its work, where this node owns it. */
  resume(selfSent: ReadonlyArray<SelfSentEvent>) {
    this.context.timers.arm(this, this.position.timers)
    this.takeOver(selfSent)
    this.work.start()
    this.#pump()
  }

  /** Starts a new instance: its timers, its hooks, its work and the events that it sends itself. */
  begin(hooks: Taken<Tagged, Tagged>["hooks"], sends: ReadonlyArray<Tagged>) {
    this.context.timers.arm(this, this.position.timers)
    if (sends.length > 0) {
      const chain = extendChain(undefined, "(start)")
      this.inbox.raise(sends.map((event, index) => selfSent(this.record, event, chain, 0, index)))
    }
    if (hooks.length === 0) this.work.start()
    else {
      this.mode.during("carrying out", this.work.runtime.hooks(hooks, "(start)"), (error) => {
        if (error !== undefined) report(this.record, error)
        this.work.start()
      })
    }
    this.#pump()
  }

  get limits(): Limits {
    return this.context.limits
  }

  // Status, for the engine

  /** Nothing is in memory only: no unstored decision, no lock and no waiting event. It may leave memory. */
  get isIdle(): boolean {
    return this.isSettled && this.#lock === undefined && this.#inbox?.isEmpty !== false
  }

  /** Work runs here, or a listener follows it: it must stay in memory. */
  get isNeeded(): boolean {
    return this.work.isRunning || this.record.isFollowed
  }

  /** Everything that was accepted is stored and carried out. */
  get isSettled(): boolean {
    return !this.isAhead && (this.mode.isIdle || this.mode.isEnded)
  }

  get isLocked(): boolean {
    return this.#lock !== undefined
  }

  /** A commit is in flight. */
  get isCommitting(): boolean {
    return this.isAhead || this.mode.isCommitting
  }

  /** Self-sent events are not journaled yet. A snapshot would hide them. */
  get hasUnstoredSelfSent(): boolean {
    return (
      this.#inbox?.hasUndecidedSelfSent === true ||
      [...(this.#pipeline?.inFlight ?? none), ...this.#pending].some(({ envelope }) => isRaisedId(envelope.dedupeId))
    )
  }

  /** Whether it has postponed the event of this id until its state changes. */
  isPostponed(dedupeId: string): boolean {
    return this.#inbox?.isPostponed(dedupeId) === true
  }

  // Receiving events

  offer(event: Tagged, internal: boolean): Result | Message {
    return this.deliver(new Envelope(event, { internal }))
  }

  sendInternal(event: Tagged, scope: StateScope | undefined) {
    const envelope = this.deliver(new Envelope(event, { internal: true }))
    if (envelope.result !== undefined) return reportRefusal(this.record, envelope.result)
    envelope.observer = (result) => reportRefusal(this.record, result)
    scope?.queue(envelope, undefined)
  }

  deliver(envelope: Envelope): Envelope {
    envelope.trace ??= this.context.tracing?.incoming(this.key, envelope)
    const { ending } = this.record
    if (ending !== undefined) {
      const { left } = this.mode
      // The sender found the instance before it left memory: the event follows it.
      if (left !== undefined) {
        this.#sendOn([envelope], left.error)
        return envelope
      }
      const answer = queryAtEnd(this.record, envelope.event)
      if (answer === undefined) this.answers.refuseUnlessJournaled(envelope, stopped(this.record, ending))
      else this.answers.answerQuery(envelope, answer)
      return envelope
    }
    if (envelope.dedupeId !== undefined && this.answers.joins(envelope, envelope.dedupeId)) return envelope
    envelope.arrival = ++this.#arrivals
    if (this.#inbox?.isWaiting !== true && this.#mayDecide && !this.#needsLock) decideEvent(this, envelope)
    else if (!this.#queue(envelope)) return envelope
    this.#pump()
    return envelope
  }

  /** Adds an event to the inbox. If the mailbox is full, refuses the event and returns false. */
  #queue(envelope: Envelope): boolean {
    const { inbox } = this
    const isFull = inbox.size >= this.limits.mailbox && !envelope.internal
    if (isFull) this.answers.refused(envelope, overloaded(this.record, inbox.size))
    else inbox.push(envelope)
    return !isFull
  }

  get inbox(): Inbox {
    this.#inbox ??= new Inbox()
    return this.#inbox
  }

  get waiting(): Inbox | undefined {
    return this.#inbox
  }

  get answers(): Answers {
    this.#senders ??= new Answers(this)
    return this.#senders
  }

  /** Fires a timer that is due. Timers of one instance fire in the order of their deadlines, so earlier ones come first. */
  fire(timer: TimerRecord): Envelope {
    const { timers } = this.position
    if (timers.size > 1) {
      const earlier = [...timers.values()].filter(({ due }) => due < timer.due).sort((left, right) => left.due - right.due)
      for (const one of earlier) this.#fireOne(one)
    }
    return this.#fireOne(timer)
  }

  #fireOne(timer: TimerRecord): Envelope {
    // Memory may not have the timer yet. What it fires is found when it is decided.
    const event = this.position.timers.get(timer.name)?.event ?? timeoutEvent(timer.name)
    const { envelope, isNew } = this.answers.firing(timer, event)
    return isNew ? this.deliver(envelope) : envelope
  }

  // Deciding

  /** Decided events that wait for the next flush. */
  get #pending(): ReadonlyArray<Pending> {
    return this.#pipeline?.pending ?? none
  }

  get commits(): CommitPipeline<Pending> {
    this.#pipeline ??= new CommitPipeline(this.context.groupCommit, this)
    return this.#pipeline
  }

  get isAhead(): boolean {
    return this.#pipeline !== undefined && (this.#pipeline.pending.length > 0 || this.#pipeline.inFlight.length > 0)
  }

  /** Whether the next event may be decided, once the instance is locked where it needs a lock. */
  get #mayDecide(): boolean {
    return this.mode.mayDecide && this.record.ending === undefined && this.#pending.length < aheadLimit
  }

  get #needsLock(): boolean {
    return this.context.lock !== undefined && this.#lock === undefined
  }

  /** Decides waiting events for as long as it can. */
  #pump() {
    while (this.#mayDecide) {
      if (this.context.lock !== undefined && this.#needsLock) {
        if (this.#inbox?.isWaiting !== true) break
        this.#acquireLock(this.context.lock)
        continue
      }
      const envelope = this.#inbox?.shift()
      if (envelope === undefined) break
      if (envelope.result === undefined) decideEvent(this, envelope)
    }
    if (!this.mode.isIdle) return
    this.#followWhilePostponed()
    // It became the owner while it was not idle.
    if (this.work.isOwned && !this.work.isRunning) this.work.start()
    if (this.#lock !== undefined && !this.isAhead) this.#releaseLock(this.#lock)
    if (this.position.owed !== undefined && !this.isAhead && !this.#owesSelfSent) this.#releaseOwed(this.position.owed)
    if (this.#senders?.hasKnown === true) this.#catchUpWithKnown()
    if (this.mode.departure !== undefined && !this.isAhead && this.mode.isReady) this.leaveUnknown(none, lost(this))
  }

  /** A change of state by another node must reach the senders of postponed events. */
  #followWhilePostponed() {
    const isPostponing = this.record.ending === undefined && this.#inbox !== undefined && this.#inbox.postponed > 0
    if (isPostponing === this.#isPostponing) return
    this.#isPostponing = isPostponing
    this.context.postponing(this, isPostponing)
  }

  // Answering

  /** Answers what memory has reached. If another node is ahead of memory, reads the journal. */
  #catchUpWithKnown() {
    this.answerReached()
    if (this.#senders?.hasKnown === true) this.refresh()
  }

  answerReached() {
    this.#senders?.answerReached()
  }

  awaitSequence() {
    this.#pump()
  }

  /** The store or a lock failed. A self-sent event has no sender that would try again: it stays in the inbox. */
  giveUp(envelope: Envelope, error: SendError) {
    if (!envelope.isOwn || this.record.ending !== undefined || !isTransient(error)) return this.answers.complete(envelope, error)
    this.inbox.putFirst([envelope])
    this.mode.pause(failurePauseMillis)
  }

  /** A refusal that the journal confirms ends the timer. Any other failure leaves it in the store, and the sweeper fires it again. */
  timerRefused(timer: TimerRecord, error: SendError) {
    if (error._tag === "MachineStopped") return
    const life = { ...this.key, startedAt: this.record.startedAt }
    if (!this.position.hasTimer(timer)) return this.context.timers.stale(life, timer)
    if (error._tag !== "TransitionRefused" && error._tag !== "InvalidTransition") return report(this.record, error)
    this.position.removeTimer(timer)
    this.context.timers.refused(life, timer, error)
  }

  // Self-sent events

  /** Takes over the self-sent events that are stored and not handled. */
  takeOver(selfSent: ReadonlyArray<SelfSentEvent>) {
    if (selfSent.length === 0 && this.#inbox === undefined) return
    for (const envelope of this.inbox.takeOver(selfSent)) this.answers.complete(envelope, stale(this.record, envelope.event._tag))
  }

  get #owesSelfSent(): boolean {
    return this.#inbox?.owesSelfSent === true
  }

  /** The sweeper has found the timer row of self-sent events, which the process that stored it did not handle in time. */
  handleSelfSent({ entry }: TimerRecord) {
    if (entry > this.record.sequence || !this.#owesSelfSent) this.refresh()
  }

  /** The last self-sent events were refused, or are postponed: no commit removes their timer row. */
  #releaseOwed(owed: TimerRecord) {
    this.position.removeOwed()
    this.context.timers.handled({ ...this.key, startedAt: this.record.startedAt }, owed)
  }

  // Committing

  hasMore(): boolean {
    return false
  }

  isFired(first: Pending | undefined): boolean {
    return first?.envelope.timer !== undefined
  }

  countTogether(pending: ReadonlyArray<Pending>): number {
    return pending.length
  }

  /** Undefined where all are refusals: their senders are answered once the decisions before them are stored. */
  commitOf(pending: ReadonlyArray<Pending>): Commit | undefined {
    const accepted = pending.every(isAccepted) ? pending : pending.filter(isAccepted)
    const last = accepted.at(-1)
    if (last === undefined) return undefined
    const { context, machine, position } = this
    const ahead = this.#inbox?.hasUndecidedSelfSent === true ? undefined : position.ahead
    return instanceCommit(context, machine, position, this.#rights, accepted, last, ahead, this.#owesSelfSent)
  }

  get #rights(): CommitRights {
    const { needsOwner, isOwned } = this.work
    return { needsOwner, isOwner: isOwned, isLost: this.mode.departure === "lost", lockFence: this.#lock?.fence }
  }

  stored({ batch, commit }: Flight<Pending>) {
    if (commit !== undefined) this.#commitStored(commit)
    this.settle(batch)
  }

  unresolved(flight: Flight<Pending>, outcome: NotStored) {
    this.#journalSync.unresolved(flight, outcome)
  }

  /** Called by the pipeline when a commit has ended. */
  settled() {
    if (this.#pending.length === 0) this.mode.committed()
    this.resumed()
  }

  /** The commit in flight is stored: its decisions become visible. */
  settle(pending: ReadonlyArray<Pending>) {
    const before = this.position.timers
    for (const one of pending) {
      if (one._tag === "Refused") {
        this.answers.refuseUnlessJournaled(one.envelope, one.error)
        continue
      }
      this.position.stored(one)
      if (one.envelope.timer !== undefined) this.context.timers.stored(this.name, one.envelope.timer)
      this.#senders?.stored(one.envelope)
      for (const sent of one.sent) sent.isSpeculative = false
      one.envelope.trace?.stored(one.sequence, one.commands)
      this.#carryOut(one)
    }
    const { timers } = this.position
    if (before !== timers) this.context.timers.arm(this, timers)
  }

  /** Takes over the snapshot, the owner and the self-sent events of a stored commit. No earlier commit is unconfirmed any more. */
  #commitStored(commit: Commit) {
    const { position } = this
    this.#sync?.stored()
    position.committed(commit)
    if (commit.snapshot !== undefined && !this.machine.keepJournal) {
      const { sequence } = commit.snapshot
      this.context.prune(this.key, sequence, position.prunedThrough, () => position.pruned(sequence))
    }
    this.work.stored(commit.summary)
  }

  // Carrying out

  /** The order is: decide, commit, new state, exit, enter, spawn. The decision is stored, so its state is visible from here on. */
  #carryOut(pending: PendingEvent) {
    const { decision, envelope, at } = pending
    const { record } = this
    // Leaving a state drops the events that its work has sent. This event may be one of them, but it is stored.
    if (envelope.internal) envelope.seal(decision)
    const closing = decision._tag === "Stay" ? undefined : this.work.leaveState(decision.event, keptOf(pending))
    this.#arrive(decision, at)
    if (closing === undefined && decision.hooks.length === 0) {
      this.#settleIn(pending)
      if (!envelope.internal) return envelope.complete(decision)
      envelope.trace?.end(Exit.void)
      return envelope.announce()
    }
    if (envelope.internal) envelope.announce()
    const transit = this.work.runtime.transit(decision, closing, () => undefined)
    this.mode.during("carrying out", within(envelope.trace, transit), (error) => {
      envelope.trace?.end(error === undefined ? Exit.void : Exit.fail(error))
      if (this.mode.isEnded) return envelope.complete(stopped(record, record.ending))
      if (error !== undefined && envelope.internal) report(record, error)
      this.#settleIn(pending)
      envelope.complete(error ?? decision)
    })
  }

  #arrive(decision: Taken<Tagged, Tagged>, at: number) {
    const { record } = this
    const changed = this.position.carriedOut(decision, at)
    if (record.isInspected) this.#inspect({ _tag: "Decided", decision })
    if (changed) record.notifyState()
    if (decision._tag === "Stop") this.#reachEnd({ _tag: "Stopped", state: record.currentState, reason: decision.reason })
    else if (record.node.final) this.#reachEnd({ _tag: "Final", state: record.currentState })
  }

  /** The end is stored: the instance takes no more events. Its last hooks may still run. */
  #reachEnd(ending: ActorEnd<Tagged>) {
    if (this.record.ending !== undefined) return
    this.record.ending = ending
    if (this.record.isInspected) this.#inspect({ _tag: "Ended", ending })
    this.record.notifyEnd(ending)
  }

  #settleIn({ decision, isBarrier }: PendingEvent) {
    if (isBarrier) this.mode.committed()
    if (this.record.ending !== undefined) this.#end(this.record.ending)
    else if (decision._tag === "Goto") {
      this.work.forgetFailures()
      this.work.start()
    }
  }

  resumed() {
    this.#pump()
    this.context.settled()
  }

  // Work

  get mayWork(): boolean {
    return !this.context.isClosed() && this.record.ending === undefined && this.mode.departure === undefined && this.context.isKept(this)
  }

  /** This node has become the owner of its work. */
  own(owner: string) {
    if (this.record.ending === undefined && this.work.own(owner) && this.mode.isIdle) this.work.start()
  }

  /** This node has lost its lease: its work must stop before anything else happens. */
  ownershipLost() {
    if (this.work.isRunning) this.work.stop("its node has lost its lease")
  }

  workFailed(error: ActionFailed) {
    this.#end({ _tag: "Failed", state: this.record.currentState, error })
  }

  get workRetry(): Schedule.Schedule<unknown> {
    return this.context.workRetry
  }

  outageOf(cause: unknown): Schedule.Schedule<unknown> | undefined {
    return isTransient(cause) ? this.context.outageRetry : undefined
  }

  // Resyncing with the journal

  get #journalSync(): JournalSync {
    this.#sync ??= new JournalSync(this)
    return this.#sync
  }

  /** Another node has changed the instance: the journal is read before anything else is decided. */
  refresh() {
    this.#journalSync.refresh()
  }

  readAgain(error: SendError) {
    this.#journalSync.readAgain(error)
  }

  /** Applies a read of the journal that is newer than memory, unless a commit is in flight. */
  takeIn(reloaded: Reloaded, passed: ReadonlyArray<Tagged> | undefined) {
    if (!this.#journalSync.takeIn(reloaded, passed)) this.leaveRemoved()
  }

  /** The journal shows whether it has ended. */
  endBy(stored: InstanceRecord, { state, stopped }: Recovered) {
    const { status, reason = stopped } = stored
    if (status === "final" || status === "stopped") this.#end(endingIn({ status, reason }, state))
  }

  // Locking

  /** The previous holder of the lock may have committed: the journal is read under the lock. */
  #acquireLock(lock: NonNullable<InstanceContext["lock"]>) {
    const { record } = this
    // If anything fails in between, the lock is released.
    const acquired = Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(lock(this.key)), (held) =>
        Effect.onExit(
          Effect.flatMap(restore(retrying(this.context, this.context.loader.reload(this.machine, this.key))), (reloaded) =>
            reloaded?.opened.record.startedAt === record.startedAt
              ? Effect.succeed({ held, reloaded })
              : Effect.fail(removed(this.key, record.sequence)),
          ),
          (exit) => (exit._tag === "Success" ? Effect.void : held.release),
        ),
      ),
    )
    this.mode.during("resyncing", Effect.result(acquired), (result) => {
      if (result?._tag !== "Success") {
        const error = result?._tag === "Failure" ? result.failure : stopped(record, record.ending)
        if (isRemoved(error)) return this.leaveUnknown(none, error)
        for (const envelope of [...(this.#inbox?.takeWaiting() ?? none)].reverse()) this.giveUp(envelope, error)
        return
      }
      this.#lock = result.success.held
      this.#journalSync.adopt(result.success.reloaded)
      if (record.ending === undefined) this.takeOver(result.success.reloaded.recovered.selfSent)
    })
  }

  #releaseLock(lock: HeldLock) {
    this.#lock = undefined
    this.record.environment.run(lock.release)
  }

  lockLost(): boolean {
    const wasLocked = this.isLocked
    this.#lock = undefined
    return wasLocked
  }

  // Leaving memory

  /** Moves to another node: it leaves memory once its accepted events are stored. Its work may take longer to end. */
  depart(departure: Departure) {
    if (this.mode.isEnded) return
    this.mode.depart(departure)
    if (this.work.isRunning) this.work.stop("it goes to another node")
    this.#pump()
  }

  /** Leaves memory without ending: the journal keeps it. */
  leave(reason: LeaveReason): Effect.Effect<void> {
    return Effect.suspend(() => {
      const ending = this.#endingBy(reason)
      const left = this.record.ending === undefined ? { reason, error: stopped(this.record, ending) } : undefined
      return this.#end(ending, left) ?? Effect.void
    })
  }

  #endingBy(reason: LeaveReason): ActorEnd<Tagged> {
    return { _tag: "Stopped", state: this.record.currentState, reason: leaveText(reason) }
  }

  /** The stored state is unknown: the instance leaves memory, and the next caller reads the journal. */
  leaveUnknown(pending: ReadonlyArray<Pending>, error: SendError, isUnknown = false) {
    // An instance that has come back to this node while it was leaving continues here.
    const { departure } = this.mode
    const continues =
      departure === undefined
        ? this.work.isOwned || this.hasUnstoredSelfSent || (isUnknown && this.#mayOweWork(pending))
        : (this.work.needsOwner || this.hasUnstoredSelfSent) && this.context.isLocal(this.key)
    const decided = [...pending, ...this.commits.drop(() => true)].map(({ envelope }) => envelope)
    if (departure !== undefined) {
      // Events that may be stored are not sent again, unless the journal can be checked by their id: their senders get the error.
      if (isUnknown) for (const { envelope } of pending) this.answers.complete(envelope, error)
      for (const [envelope, unknown] of this.#sync?.notIdempotent("it went to another node meanwhile") ?? none)
        this.answers.complete(envelope, unknown)
    }
    const waiting = [...decided, ...(this.#inbox?.takeAll() ?? none)].sort((left, right) => left.arrival - right.arrival)
    const reason: LeaveReason = { _tag: departure !== undefined ? "Moved" : isRemoved(error) ? "Removed" : "StateUnknown" }
    const closing = this.#end(this.#endingBy(reason), { reason, error })
    if (closing !== undefined) this.record.environment.run(closing)
    this.commits.settle(() => undefined)
    count(instancesGivenUp, 1, this.record.environment)
    // A sender may ask for the state immediately: it must no longer find the instance here.
    if (isRemoved(error) || departure !== undefined) this.#sendOn(waiting, error)
    else for (const envelope of waiting) envelope.complete(error)
    if (continues && !isRemoved(error)) this.context.bringBack(this.key)
  }

  /** Whether unconfirmed commits, if they are stored, leave work or self-sent events to this node that no caller would ask for. */
  #mayOweWork(pending: ReadonlyArray<Pending>): boolean {
    return this.machine.mayHaveWork || pending.some((one) => isAccepted(one) && one.sent.length > 0)
  }

  /**
   * Sends events and due timers on to the instance that has the id now: this one as it is read again, here or on another node, or a later one
   * of the same id. Others get the error.
   */
  #sendOn(waiting: ReadonlyArray<Envelope>, error: SendError) {
    // The node that sent a remote event sends it to the next owner itself: a second copy could be accepted after the first was refused.
    const isForNext = ({ internal, isRemote, timer }: Envelope) => {
      if (this.mode.departure !== undefined) return !internal && !isRemote
      return !internal || timer !== undefined
    }
    for (const envelope of waiting) if (!isForNext(envelope)) envelope.complete(error)
    // An event whose sender has got an error may be stored: it is not sent again.
    const sent = waiting.filter((envelope) => envelope.result === undefined && isForNext(envelope))
    if (sent.length > 0) this.context.sendOn(this.key, sent, error)
  }

  /** The store no longer has the instance: it leaves memory. Returns false where it is busy: its next commit or read finds out. */
  leaveRemoved(): boolean {
    if (this.record.ending !== undefined || this.isAhead || !this.mode.isIdle) return false
    if (this.#sync?.mayArrive === true) {
      this.refresh()
      return false
    }
    this.leaveUnknown(none, removed(this.key, this.record.sequence))
    return true
  }

  /** Ends work and leaves memory. Returns an Effect that waits for work that takes time to end. */
  #end(ending: ActorEnd<Tagged>, left?: Left): Effect.Effect<void> | undefined {
    if (!this.mode.end(left)) return undefined
    const { record } = this
    this.#reachEnd(ending)
    const by = record.ending ?? ending
    const closing = this.work.end(by)
    this.context.gone(this)
    this.#followWhilePostponed()
    // While a commit is in flight, the lock is held until its outcome is known.
    if (this.#lock !== undefined && !this.isAhead) this.#releaseLock(this.#lock)
    for (const envelope of this.#inbox?.takeAll() ?? none) this.answers.refuseUnlessJournaled(envelope, stopped(record, by))
    this.#senders?.end()
    return closing
  }

  /** A method of its own: the closure that `inspect` takes would cost each of its callers an allocation, inspected or not. */
  #inspect(what: ReturnType<Parameters<typeof inspect>[1]>) {
    inspect(this.record, () => what)
  }
}

/** The end of an instance whose journal has ended. */
const endingIn = ({ status, reason = "it was stopped" }: Pick<InstanceRecord, "status" | "reason">, state: Tagged): ActorEnd<Tagged> =>
  status === "final" ? { _tag: "Final", state } : { _tag: "Stopped", state, reason }
