/**
 * A durable instance while it is in memory. It decides like any actor, but a decision becomes visible only when it is stored.
 * Until then the instance may decide further events on its speculative state; if a commit fails, those decisions are dropped and
 * the events are decided again, in order of arrival.
 *
 * It is always in one mode, and decides only when it is idle:
 *
 *     idle          an event can be decided
 *     deciding      a decision is being made: by a function, an Effect, or after a read of the journal
 *     committing    a decision must be stored and carried out before the next one
 *     carrying out  a stored decision takes time: the end of work, exit and enter hooks
 *     resyncing     the journal is read: after a conflict, an unconfirmed commit, or a commit of another node
 *     ended         it has left memory
 *
 * What enters a mode, and what leaves it:
 *
 *     deciding      #decide, and #await in #decideByEffect, #runDecision, #query and #ifCurrent; left to idle when the decision is made,
 *                   to committing by #accept of a barrier and by #decideAfterCommit
 *     committing    #accept, #decideAfterCommit, and #settleUpTo where a barrier is pending; left to idle by `settled`, when nothing is
 *                   pending, and by #settleIn, when the barrier is carried out
 *     carrying out  #await in `begin`, #carryOut and #relocate; left to idle when the hooks and the work have ended
 *     resyncing     #await in #resolve and #acquireLock; left to idle by what was found: #redeliver, #settleLate, #settleUpTo, #adopt
 *     ended         `conclude` and #end, from any mode; never left
 */
import {
  type ActionFailed,
  type ActorEnd,
  type Decision,
  LockingFailed,
  PersistenceFailed,
  type SendError,
  SequenceConflict,
  type Taken,
  timeoutEvent,
} from "@detent/machine"
import {
  ActorState,
  actionFailed,
  type Compiled,
  chainLimit,
  decide,
  eventProblem,
  extendChain,
  identified,
  inspect,
  isQuery,
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
import type { Commit, InstanceKey, InstanceRecord, InstanceStanding, OpenedInstance, SnapshotRecord, TimerRecord } from "@detent/store"
import { instanceName, isDeliveryId, isRaisedId } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Schedule from "effect/Schedule"
import { acceptedEvent, type DecidingInstance, endlessChain, labelOf, selfSent } from "../machine/acceptedEvent.ts"
import { type DelayedEvent, delayedOf, type InstanceTimer, isDelayTimer, timersByName } from "../machine/DelayedEvents.ts"
import { Envelope } from "../machine/Envelope.ts"
import { entriesAfter, type GroupEntries } from "../machine/GroupEntries.ts"
import type { Limits } from "../machine/InstanceCommit.ts"
import { instanceCommit, type StoredPosition } from "../machine/InstanceCommit.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import { entersState, isAccepted, keptOf, type Pending, type PendingEvent, timersAfter } from "../machine/PendingEvent.ts"
import type { Recovered } from "../machine/Replay.ts"
import { isOwedTimer, type SelfSentEvent } from "../machine/SelfSentEvents.ts"
import { encodeSnapshot } from "../machine/SnapshotBody.ts"
import type { Moment } from "../machine/SnapshotPolicy.ts"
import { type SpeculativeState, stateAfter } from "../machine/SpeculativeState.ts"
import type { HeldLock } from "../nodes/InstanceLock.ts"
import { type CommitOwner, CommitPipeline, type Flight, type NotStored } from "../runtime/CommitPipeline.ts"
import { isTransient } from "../runtime/isTransient.ts"
import { conflicts, record as count, instancesGivenUp, within } from "../runtime/Telemetry.ts"
import { type AnsweringInstance, Answers } from "./Answers.ts"
import { Inbox } from "./Inbox.ts"
import type { InstanceContext, Reloaded } from "./InstanceContext.ts"
import { type LeaveReason, leaveText } from "./LeaveReason.ts"
import { StateWork, type WorkingInstance } from "./StateWork.ts"
import {
  isRemoved,
  noneRejected,
  type Rejected,
  type Resolution,
  rejectAll,
  removed,
  retrying,
  UnconfirmedCommits,
} from "./UnconfirmedCommits.ts"

type Mode = "idle" | "deciding" | "committing" | "carrying out" | "resyncing" | "ended"

type DeferredDecision = Extract<Decision<Tagged, Tagged>, { readonly _tag: "Deferred" }>

/** It has left memory without an end: its journal continues. */
interface Left {
  readonly reason: LeaveReason
  /** The error of events that cannot follow it. */
  readonly error: SendError
}

const none: ReadonlyArray<never> = []

/** How many events may be decided ahead of the store. */
const aheadLimit = 1000

/** How long an instance with self-sent events or due timers decides nothing after the store or a lock failed. */
const pauseMillis = 1000

/** The longest pause after a conflict. */
const longestBackoffMillis = 250

export class LiveInstance implements WorkingInstance, AnsweringInstance, DecidingInstance, CommitOwner<Pending> {
  readonly context: InstanceContext
  readonly machine: RegisteredMachine
  readonly key: InstanceKey
  /** Its key in all tables of the engine. */
  readonly name: string
  readonly record: ActorState
  /** The sequence at which the current state was entered. */
  entered: number
  /** The same for the groups around the current state. */
  #groups: GroupEntries
  /** How often events of its journal were rewritten, when it was read. */
  revision: number
  /** Updated on every event. Used to find idle instances. */
  lastUsedAt: number

  #mode: Mode = "idle"
  readonly #work: StateWork
  #ahead: SpeculativeState
  #timers: ReadonlyMap<string, InstanceTimer>
  /** The timer row of self-sent events that are stored and not handled yet. */
  #owed: TimerRecord | undefined
  #lastSnapshot: Moment | undefined
  /** The values of its indexed fields as they are stored. */
  #fields: string | undefined
  /** Decided events that are not stored. Created with the first event. */
  #pipeline: CommitPipeline<Pending> | undefined = undefined
  /** Commits that the store refused or did not confirm since the last one that it stored. */
  #unconfirmed: UnconfirmedCommits | undefined = undefined
  /** Created with the first event that waits. */
  #inbox: Inbox | undefined = undefined
  /** How many events it received. */
  #arrivals = 0
  /** Created with the first event that has an id, comes from a timer, or is not accepted. */
  #senders: Answers | undefined = undefined
  /** Events are postponed: commits of other nodes are followed. */
  #isPostponing = false
  #lock: HeldLock | undefined = undefined
  /** Nothing is decided while this fiber sleeps. */
  #pausing: Fiber.Fiber<void> | undefined = undefined
  /** The journal is pruned up to this sequence. */
  #prunedThrough = 0
  /**
   * Set while the instance moves to another node: new events no longer reach it here. `leaving`: waiting events are decided and
   * stored first. `lost`: this node has lost the instance and decides and stores nothing more for it, even under its next lease.
   */
  #departure: "leaving" | "lost" | undefined = undefined
  #left: Left | undefined = undefined

  constructor(context: InstanceContext, machine: RegisteredMachine, { opened, recovered }: Reloaded) {
    const { record } = opened
    this.context = context
    this.machine = machine
    this.key = { machine: machine.name, id: record.id }
    this.name = instanceName(this.key)
    this.record = new ActorState(record.id, machine.compiled, context.host, machine.environment, recovered.state, record.startedAt)
    this.record.lastTransitionAt = recovered.at
    this.record.sequence = recovered.sequence
    this.record.place(recovered.state, recovered.past)
    this.entered = recovered.entered
    this.#groups = recovered.groups
    this.revision = revisionOf(record)
    this.lastUsedAt = machine.environment.clock.currentTimeMillisUnsafe()
    this.#timers = timersByName(opened.timers, recovered.delayed)
    this.#owed = opened.timers.find(isOwedTimer)
    this.#lastSnapshot = momentOf(opened.snapshot)
    this.#fields = record.fields
    this.#work = new StateWork(this, context, record)
    this.#ahead = this.#stored()
  }

  /** The instance has ended by the journal: its state can be read, and it refuses events with the reason. */
  conclude({ record }: OpenedInstance) {
    const state = this.record.currentState
    this.record.ending =
      record.status === "final" ? { _tag: "Final", state } : { _tag: "Stopped", state, reason: record.reason ?? "it was stopped" }
    this.#mode = "ended"
  }

  /** Arms timers, takes over self-sent events that are not journaled yet and starts its work, where this node owns it. */
  resume(selfSent: ReadonlyArray<SelfSentEvent>) {
    this.context.timers.arm(this, this.#timers)
    this.#takeOver(selfSent)
    this.#work.start()
    this.#pump()
  }

  /** Starts a new instance: its timers, its hooks, its work and the events that it sends itself. */
  begin(hooks: Taken<Tagged, Tagged>["hooks"], sends: ReadonlyArray<Tagged>) {
    this.context.timers.arm(this, this.#timers)
    if (sends.length > 0) {
      const chain = extendChain(undefined, "(start)")
      this.#inboxOf().raise(sends.map((event, index) => selfSent(this.record, event, chain, 0, index)))
    }
    if (hooks.length === 0) this.#work.start()
    else {
      this.#await("carrying out", this.#work.runtime.hooks(hooks, "(start)"), (error) => {
        if (error !== undefined) report(this.record, error)
        this.#work.start()
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
    return this.isAtWork || this.record.isFollowed
  }

  /** Its work runs here. */
  get isAtWork(): boolean {
    return this.#work.isRunning
  }

  /** Everything that was accepted is stored and carried out. */
  get isSettled(): boolean {
    return !this.#isAhead && (this.#mode === "idle" || this.#mode === "ended")
  }

  /** Why it has left memory, where its journal continues. */
  get left(): LeaveReason | undefined {
    return this.#left?.reason
  }

  get isLocked(): boolean {
    return this.#lock !== undefined
  }

  /** A commit is in flight. */
  get isCommitting(): boolean {
    return this.#isAhead || this.#mode === "committing"
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

  /** Whether the stored state still has this timer, set at the same sequence. */
  hasTimer({ name, entry }: TimerRecord): boolean {
    return this.#timers.get(name)?.entry === entry
  }

  /** The delayed events of the stored state that wait. */
  get delayed(): ReadonlyArray<DelayedEvent> {
    return delayedOf(this.#timers.values())
  }

  /** A snapshot of the stored state. State and sequence are read in one turn of the event loop, so they belong together. */
  snapshotRecord(): SnapshotRecord {
    const { currentState: state, past, sequence, lastTransitionAt: at } = this.record
    const body = encodeSnapshot(this.machine.codec, {
      state,
      previous: past?.at(-1),
      entered: this.entered,
      groups: this.#groups,
      delayed: this.delayed,
    })
    return { sequence, at, version: this.machine.version, body }
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
      // The sender found the instance before it left memory: the event follows it.
      if (this.#left !== undefined) {
        this.#sendOn([envelope], this.#left.error)
        return envelope
      }
      const answer = queryAtEnd(this.record, envelope.event)
      if (answer === undefined) this.#answers.refuseUnlessJournaled(envelope, stopped(this.record, ending))
      else this.#answers.answerQuery(envelope, answer)
      return envelope
    }
    if (envelope.dedupeId !== undefined && this.#answers.joins(envelope, envelope.dedupeId)) return envelope
    envelope.arrival = ++this.#arrivals
    if (this.#inbox?.isWaiting !== true && this.#mayDecide && !this.#needsLock) this.#decide(envelope)
    else if (!this.#queue(envelope)) return envelope
    this.#pump()
    return envelope
  }

  /** Adds an event to the inbox. If the mailbox is full, refuses the event and returns false. */
  #queue(envelope: Envelope): boolean {
    const inbox = this.#inboxOf()
    const isFull = inbox.size >= this.limits.mailbox && !envelope.internal
    if (isFull) this.#answers.refused(envelope, overloaded(this.record, inbox.size))
    else inbox.push(envelope)
    return !isFull
  }

  #inboxOf(): Inbox {
    this.#inbox ??= new Inbox()
    return this.#inbox
  }

  get #answers(): Answers {
    this.#senders ??= new Answers(this)
    return this.#senders
  }

  /** Fires a timer that is due. Timers of one instance fire in the order of their deadlines, so earlier ones come first. */
  fire(timer: TimerRecord): Envelope {
    if (this.#timers.size > 1) {
      const earlier = [...this.#timers.values()].filter(({ due }) => due < timer.due).sort((left, right) => left.due - right.due)
      for (const one of earlier) this.#fireOne(one)
    }
    return this.#fireOne(timer)
  }

  #fireOne(timer: TimerRecord): Envelope {
    // Memory may not have the timer yet. What it fires is found when it is decided.
    const { envelope, isNew } = this.#answers.firing(timer, this.#timers.get(timer.name)?.event ?? timeoutEvent(timer.name))
    return isNew ? this.deliver(envelope) : envelope
  }

  // Deciding

  /** Decided events that wait for the next flush. */
  get #pending(): ReadonlyArray<Pending> {
    return this.#pipeline?.pending ?? none
  }

  get #commits(): CommitPipeline<Pending> {
    this.#pipeline ??= new CommitPipeline(this.context.groupCommit, this)
    return this.#pipeline
  }

  get #isAhead(): boolean {
    return this.#pipeline !== undefined && (this.#pipeline.pending.length > 0 || this.#pipeline.inFlight.length > 0)
  }

  /** Whether the next event may be decided, once the instance is locked where it needs a lock. */
  get #mayDecide(): boolean {
    const isReady = this.#mode === "idle" && this.record.ending === undefined && this.#pausing === undefined
    return isReady && this.#departure !== "lost" && this.#pending.length < aheadLimit
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
      if (envelope.result === undefined) this.#decide(envelope)
    }
    if (this.#mode !== "idle") return
    this.#followWhilePostponed()
    // It became the owner while it was not idle.
    if (this.#work.isOwned && !this.#work.isRunning) this.#work.start()
    if (this.#lock !== undefined && !this.#isAhead) this.#releaseLock(this.#lock)
    if (this.#owed !== undefined && !this.#isAhead && !this.#owesSelfSent) this.#releaseOwed(this.#owed)
    if (this.#senders?.hasKnown === true) this.#catchUpWithKnown()
    if (this.#departure !== undefined && !this.#isAhead && this.#mode === "idle" && this.#pausing === undefined)
      this.#forget([], this.#lost)
  }

  #decide(envelope: Envelope) {
    this.#mode = "deciding"
    try {
      this.#decideOn(envelope)
    } catch (cause) {
      // A check or a getter of the event itself threw: no decision was made.
      this.#refuse(envelope, actionFailed(this.record, "decide", cause, undefined, false))
    } finally {
      if (this.#mode === "deciding" && !this.#work.isAwaiting) this.#mode = "idle"
    }
  }

  #decideOn(envelope: Envelope) {
    const { timer } = envelope
    const { compiled, environment } = this.record
    // Whole milliseconds, as stores keep them: a replay then decides with the same time.
    this.lastUsedAt = Math.floor(environment.clock.currentTimeMillisUnsafe())
    if (timer !== undefined) {
      const armed = this.#ahead.timers.get(timer.name)
      if (armed?.entry !== timer.entry) {
        if (timer.entry > this.#ahead.sequence) return this.#readFor(envelope)
        return this.#refuse(envelope, stale(this.record, `(${timer.name})`))
      }
      if (armed.event !== undefined) envelope.event = armed.event
      else if (isDelayTimer(timer)) return this.#readFor(envelope)
    }
    const { event } = envelope
    const problem = timer === undefined ? eventProblem(compiled, event) : undefined
    if (problem !== undefined) return this.#refuse(envelope, identified(problem, this.key.id))
    envelope.trace?.deciding(this.#ahead.state)
    const decision = decide(compiled, this.#ahead.state, event, this.lastUsedAt)
    this.#follow(envelope, decision, this.lastUsedAt, keepsState(compiled, this.#ahead.state, decision))
  }

  /**
   * Another node has stored the event that set the timer, and memory does not have it yet: the journal is read once the commit in flight has
   * ended, and the timer is decided again. If the journal does not have that event either, the timer stays in the store, where it becomes a
   * dead letter.
   */
  #readFor(envelope: Envelope) {
    if (this.#isAhead) return this.#decideAfterCommit(envelope)
    const cause = new Error("the journal does not have it")
    const error = new PersistenceFailed({ ...this.key, operation: "read the event that set the timer", cause })
    if (envelope.conflicts++ > 0) return this.#answers.complete(envelope, error)
    this.#inboxOf().putFirst([envelope])
    this.#resync([], error)
  }

  #follow(envelope: Envelope, decision: Decision<Tagged, Tagged>, at: number, keepsState: boolean) {
    switch (decision._tag) {
      case "Goto":
      case "Stay":
      case "Stop":
        if (decision.answer !== undefined && isUnjournaled(envelope) && isQuery(decision)) return this.#query(envelope, decision)
        return this.#accept(envelope, decision, at, keepsState)
      case "Refused":
        return this.#refuse(envelope, identified(decision.error, this.key.id))
      case "Postponed":
        return this.#postpone(envelope)
      case "Deferred":
        return this.#decideByEffect(envelope, decision, at)
    }
  }

  /** Without a lock, another node may have changed the state: the journal is read before an event is postponed. */
  #postpone(envelope: Envelope) {
    if (this.#isAhead || this.#lock !== undefined || this.#isLocallyCurrent) this.#postponed(envelope)
    else this.#ifCurrent(envelope, () => this.#postponed(envelope))
  }

  #postponed(envelope: Envelope) {
    const inbox = this.#inboxOf()
    if (inbox.postponed >= this.limits.mailbox) return this.#answers.refused(envelope, overloaded(this.record, inbox.postponed))
    inbox.postpone(envelope)
    inspect(this.record, () => ({ _tag: "Postponed", event: envelope.event._tag }))
    envelope.trace?.postponed()
    if (envelope.repeatedId !== undefined) this.#answers.answerJournaled(envelope, envelope.repeatedId)
  }

  /** The Effect of a decision must neither depend on a speculative state, nor run again for an event that is journaled. */
  #decideByEffect(envelope: Envelope, { effect, event }: DeferredDecision, at: number) {
    if (this.#isAhead) return this.#decideAfterCommit(envelope)
    const { repeatedId } = envelope
    if (repeatedId === undefined) return this.#runDecision(envelope, effect, event, at)
    this.#await("deciding", Effect.result(this.context.loader.firstOutcome(this.machine, this.key, repeatedId)), (known) => {
      if (known === undefined) return envelope.complete(stopped(this.record, this.record.ending))
      if (known._tag === "Failure") return this.giveUp(envelope, known.failure)
      if (known.success !== undefined) return this.#answers.answerFirst(envelope, known.success)
      this.#runDecision(envelope, effect, event, at)
    })
  }

  /** The event is decided again, as the next one, when every decision before it is stored. */
  #decideAfterCommit(envelope: Envelope) {
    this.#inboxOf().putFirst([envelope])
    this.#mode = "committing"
  }

  #runDecision(envelope: Envelope, effect: DeferredDecision["effect"], event: Tagged, at: number) {
    const limited = this.#work.runtime.limited(effect, event._tag)
    this.#await("deciding", within(envelope.trace, Effect.result(limited)), (settled) => {
      if (settled === undefined) return envelope.complete(stopped(this.record, this.record.ending))
      if (settled._tag === "Success") this.#follow(envelope, settled.success, at, true)
      else this.#refuse(envelope, settled.failure)
    })
  }

  #accept(envelope: Envelope, decision: Taken<Tagged, Tagged>, at: number, keepsState: boolean) {
    const chain = decision.sends.length === 0 ? undefined : extendChain(envelope.chain, labelOf(envelope, decision))
    const raised = (this.#inbox?.raised ?? 0) + decision.sends.length
    if (chain !== undefined && (chain.length > chainLimit || raised > this.limits.mailbox))
      return this.#refuse(envelope, endlessChain(this.key, envelope, decision, chain))
    const { hasScope } = this.#work
    const pending = acceptedEvent(this, { ahead: this.#ahead, envelope, decision, at, chain, keepsState, hasScope })
    if (pending instanceof Error) return this.#refuse(envelope, pending)
    this.#ahead = stateAfter(this.#ahead, pending)
    envelope.trace?.committing(decision, pending.sequence)
    if (decision._tag === "Goto") this.#inbox?.releasePostponed()
    this.#inbox?.decided(envelope)
    if (pending.sent.length > 0) {
      for (const sent of pending.sent) sent.trace = envelope.trace?.raises(this.key, sent)
      this.#inboxOf().raise(pending.sent)
    }
    if (pending.isBarrier) this.#mode = "committing"
    this.#commits.append(pending)
  }

  // Refusing and answering

  /** A change of state by another node must reach the senders of postponed events. */
  #followWhilePostponed() {
    const isPostponing = this.record.ending === undefined && this.#inbox !== undefined && this.#inbox.postponed > 0
    if (isPostponing === this.#isPostponing) return
    this.#isPostponing = isPostponing
    this.context.postponing(this, isPostponing)
  }

  /** A query is not journaled. It is answered from the stored state, never from a speculative one. */
  #query(envelope: Envelope, decision: Taken<Tagged, Tagged>) {
    if (this.#isAhead) return this.#decideAfterCommit(envelope)
    if (this.#lock !== undefined || this.#isLocallyCurrent) return this.#answers.answerQuery(envelope, decision)
    // Another node may have changed the state.
    this.#await("deciding", Effect.result(this.context.journal.open(this.key)), (read) => {
      if (read === undefined) return envelope.complete(stopped(this.record, this.record.ending))
      if (read._tag === "Failure") return this.giveUp(envelope, read.failure)
      const { sequence: expected } = this.record
      const actual = this.#sequenceIn(read.success)
      if (actual === expected || this.record.ending !== undefined) return this.#answers.answerQuery(envelope, decision)
      this.#inboxOf().putFirst([envelope])
      this.#resync([], new SequenceConflict({ ...this.key, expected, actual }))
    })
  }

  /** Whether the store is in this process and has the same sequence as memory. */
  get #isLocallyCurrent(): boolean {
    const { sequence, startedAt } = this.record
    return this.context.journal.local?.sequence(this.key, startedAt, this.revision) === sequence
  }

  /** The sequence in the store; -1 if an event was rewritten, or the instance was removed, even if another one was started under its id since. */
  #sequenceIn(opened: Option.Option<OpenedInstance>): number {
    const stored = Option.getOrUndefined(opened)?.record
    return stored?.startedAt === this.record.startedAt && revisionOf(stored) === this.revision ? stored.sequence : -1
  }

  #refuse(envelope: Envelope, error: SendError) {
    // Speculative decisions may never be stored: a refusal that depends on one has to wait.
    if (this.#isAhead) {
      return this.#commits.append({ _tag: "Refused", envelope, error })
    }
    const dependsOnState = error._tag === "InvalidTransition" || error._tag === "TransitionRefused"
    if (dependsOnState && this.#lock === undefined) return this.#confirmRefusal(envelope, error)
    this.#answers.refuseUnlessJournaled(envelope, error)
  }

  /**
   * Reads the journal before an event is refused: without a lock, another node may have changed the state. If the journal cannot
   * be read, the sender gets that error: a refusal is as reliable as an acceptance. The same for a timer, whose refusal removes it.
   */
  #confirmRefusal(envelope: Envelope, error: SendError) {
    if (this.#isLocallyCurrent) this.#answers.refuseUnlessJournaled(envelope, error)
    else this.#ifCurrent(envelope, () => this.#answers.refuseUnlessJournaled(envelope, error))
  }

  /** Reads the journal, and continues if memory has the same. Otherwise the event is decided again. */
  #ifCurrent(envelope: Envelope, current: () => void) {
    this.#await("deciding", Effect.result(this.context.journal.open(this.key)), (read) => {
      if (read === undefined || this.record.ending !== undefined)
        return this.#answers.refuseUnlessJournaled(envelope, stopped(this.record, this.record.ending))
      if (read._tag === "Failure") return this.giveUp(envelope, read.failure)
      const { sequence: expected } = this.record
      const actual = this.#sequenceIn(read.success)
      if (actual === expected && this.#departure !== "lost") return current()
      this.#inboxOf().putFirst([envelope])
      if (actual !== expected) this.#resync([], new SequenceConflict({ ...this.key, expected, actual }))
    })
  }

  /** Answers what memory has reached. If another node is ahead of memory, reads the journal. */
  #catchUpWithKnown() {
    this.#senders?.answerReached()
    if (this.#senders?.hasKnown === true) this.refresh()
  }

  awaitSequence() {
    this.#pump()
  }

  /** The store or a lock failed. A self-sent event has no sender that would try again: it stays in the inbox. */
  giveUp(envelope: Envelope, error: SendError) {
    if (!envelope.isOwn || this.record.ending !== undefined || !isTransient(error)) return this.#answers.complete(envelope, error)
    this.#inboxOf().putFirst([envelope])
    this.#pause(pauseMillis)
  }

  /**
   * Decides nothing for this time. A later pause replaces an earlier one. The end of the sleep counts, not the clock: timers of Node fire
   * up to a millisecond early, and clocks are set back.
   */
  #pause(millis: number) {
    const pausing = this.record.environment.run(Effect.sleep(millis))
    this.#pausing = pausing
    pausing.addObserver((exit) => {
      if (this.#pausing !== pausing || Exit.isFailure(exit)) return
      this.#pausing = undefined
      this.resumed()
    })
  }

  /** A refusal that the journal confirms ends the timer. Any other failure leaves it in the store, and the sweeper fires it again. */
  timerRefused(timer: TimerRecord, error: SendError) {
    if (error._tag === "MachineStopped") return
    const life = { ...this.key, startedAt: this.record.startedAt }
    if (!this.hasTimer(timer)) return this.context.timers.stale(life, timer)
    if (error._tag !== "TransitionRefused" && error._tag !== "InvalidTransition") return report(this.record, error)
    const without = (timers: ReadonlyMap<string, InstanceTimer>) =>
      new Map([...timers].filter(([, one]) => one.entry !== timer.entry || one.name !== timer.name))
    this.#timers = without(this.#timers)
    this.#ahead = { ...this.#ahead, timers: without(this.#ahead.timers) }
    this.context.timers.refused(life, timer, error)
  }

  // Self-sent events

  #takeOver(selfSent: ReadonlyArray<SelfSentEvent>) {
    if (selfSent.length === 0 && this.#inbox === undefined) return
    for (const envelope of this.#inboxOf().takeOver(selfSent)) this.#answers.complete(envelope, stale(this.record, envelope.event._tag))
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
    this.#owed = undefined
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
    const ahead = this.#inbox?.hasUndecidedSelfSent === true ? undefined : this.#ahead
    return instanceCommit(this.context, this.machine, this.#position, accepted, last, ahead, this.#owesSelfSent)
  }

  /** The instance as it is stored. */
  get #position(): StoredPosition {
    return {
      key: this.key,
      sequence: this.record.sequence,
      timers: this.#timers,
      hasOwedTimer: this.#owed !== undefined,
      lastSnapshot: this.#lastSnapshot,
      startedAt: this.record.startedAt,
      revision: this.revision,
      needsOwner: this.#work.needsOwner,
      isOwner: this.#work.isOwned,
      isLost: this.#departure === "lost",
      lockFence: this.#lock?.fence,
      fields: this.#fields,
    }
  }

  stored({ batch, commit }: Flight<Pending>) {
    this.#settle(batch, commit)
  }

  unresolved({ batch: pending }: Flight<Pending>, outcome: NotStored) {
    for (const { envelope } of pending) envelope.trace?.notStored(outcome)
    switch (outcome._tag) {
      case "Unconfirmed":
        // The store may have the commit, or may still receive it.
        for (const { envelope } of pending) envelope.isFirst = false
        return this.#confirm(pending, outcome.error)
      case "PersistenceFailed":
        // A due timer fires again immediately, and its commit may fail again.
        if (pending.some(({ envelope }) => envelope.timer !== undefined)) this.#pause(pauseMillis)
        return this.#resync(pending, outcome, rejectAll(pending, outcome))
      case "Conflict":
        return this.#conflict(pending, outcome.actual)
      case "Duplicate":
        return this.#duplicate(pending, outcome.dedupeId)
      case "Fenced":
        return this.#fenced(pending)
    }
  }

  /** Called by the pipeline when a commit has ended. */
  settled() {
    if (this.#mode === "committing" && this.#pending.length === 0) this.#mode = "idle"
    this.#pump()
    this.context.settled()
  }

  /** The commit in flight is stored: its decisions become visible. */
  #settle(pending: ReadonlyArray<Pending>, commit: Commit | undefined) {
    if (commit !== undefined) this.#commitStored(commit)
    const before = this.#timers
    for (const one of pending) {
      if (one._tag === "Refused") {
        this.#answers.refuseUnlessJournaled(one.envelope, one.error)
        continue
      }
      this.#timers = timersAfter(this.#timers, one)
      if (one.envelope.timer !== undefined) this.context.timers.stored(this.name, one.envelope.timer)
      this.#senders?.stored(one.envelope)
      for (const sent of one.sent) sent.isSpeculative = false
      one.envelope.trace?.stored(one.sequence, one.commands)
      this.#carryOut(one)
    }
    if (before !== this.#timers) this.context.timers.arm(this, this.#timers)
  }

  /** Takes over the snapshot, the owner and the self-sent events of a stored commit. No earlier commit is unconfirmed any more. */
  #commitStored({ setTimers, snapshot, summary, fields }: Commit) {
    this.#unconfirmed = undefined
    if (fields !== undefined) this.#fields = fields
    if (this.#owed !== undefined || setTimers.length > 0) this.#owed = setTimers.find(isOwedTimer)
    if (snapshot !== undefined) {
      this.#lastSnapshot = momentOf(snapshot)
      if (!this.machine.keepJournal) {
        const { sequence } = snapshot
        this.context.prune(this.key, sequence, this.#prunedThrough, () => {
          this.#prunedThrough = sequence
        })
      }
    }
    this.#work.stored(summary)
  }

  #confirm(pending: ReadonlyArray<Pending>, error: PersistenceFailed) {
    this.#resolve(pending, error, this.#unconfirmedOf().confirm(pending.filter(isAccepted), [...pending, ...this.#pending], error))
  }

  /** Another node has committed first. The event is decided again after a pause that grows with each conflict, so that every writer makes progress. */
  #conflict(pending: ReadonlyArray<Pending>, actual: number) {
    count(conflicts, 1, this.record.environment)
    const error = new SequenceConflict({ ...this.key, expected: this.record.sequence, actual })
    const times = Math.max(...pending.map(({ envelope }) => ++envelope.conflicts))
    const backoff = times < 2 ? 0 : Math.min(2 ** times, longestBackoffMillis)
    this.#resync(pending, error, noneRejected, backoff)
  }

  #duplicate(pending: ReadonlyArray<Pending>, dedupeId: string) {
    const repeated = pending.find(({ envelope }) => envelope.dedupeId === dedupeId)
    const cause = new Error("the journal no longer has it")
    const missing = new PersistenceFailed({ ...this.key, operation: "find the first event of an id", cause })
    // Another node has handled the self-sent event. No sender waits for its outcome.
    if (repeated !== undefined && isRaisedId(dedupeId))
      this.#answers.complete(repeated.envelope, stale(this.record, repeated.envelope.event._tag))
    else if (repeated !== undefined) this.#answers.refuseUnlessJournaled(repeated.envelope, missing)
    this.#resync(
      pending.filter((one) => one !== repeated),
      missing,
    )
  }

  /**
   * The lock or the node's lease is lost. After a lost lock, the event fails. After a lost lease, the node registers again, and
   * the event is decided again.
   */
  #fenced(pending: ReadonlyArray<Pending>) {
    const error = this.#lost
    if (this.#departure !== undefined && this.#unconfirmed?.mayArrive !== true) return this.#forget(pending, error)
    if (this.#lock !== undefined) {
      this.#lock = undefined
      // A commit that was not confirmed may have been stored while the lock was still held.
      if (this.#unconfirmed?.mayArrive === true) return this.#resync(pending, error, rejectAll([...pending, ...this.#pending], error))
      return this.#forget(pending, error)
    }
    this.#work.stop("its node has lost its lease")
    this.#resolve(pending, error, this.#unconfirmedOf().fenced([...pending, ...this.#pending], error))
  }

  get #lost(): LockingFailed {
    return new LockingFailed({ ...this.key, problem: "lost" })
  }

  // Carrying out

  /** The order is: decide, commit, new state, exit, enter, spawn. The decision is stored, so its state is visible from here on. */
  #carryOut(pending: PendingEvent) {
    const { decision, envelope, at } = pending
    const { record } = this
    // Leaving a state drops the events that its work has sent. This event may be one of them, but it is stored.
    if (envelope.internal) envelope.seal(decision)
    const closing = decision._tag === "Stay" ? undefined : this.#work.leaveState(decision.event, keptOf(pending))
    this.#arrive(decision, at)
    if (closing === undefined && decision.hooks.length === 0) {
      this.#settleIn(pending)
      if (!envelope.internal) return envelope.complete(decision)
      envelope.trace?.end(Exit.void)
      return envelope.announce()
    }
    if (envelope.internal) envelope.announce()
    const transit = this.#work.runtime.transit(decision, closing, () => undefined)
    this.#await("carrying out", within(envelope.trace, transit), (error) => {
      envelope.trace?.end(error === undefined ? Exit.void : Exit.fail(error))
      if (this.#mode === "ended") return envelope.complete(stopped(record, record.ending))
      if (error !== undefined && envelope.internal) report(record, error)
      this.#settleIn(pending)
      envelope.complete(error ?? decision)
    })
  }

  #arrive(decision: Taken<Tagged, Tagged>, at: number) {
    const { record } = this
    const changed = record.advance(decision, at)
    if (entersState(decision)) {
      this.entered = record.sequence
      this.#groups = entriesAfter(this.#groups, record.node, decision.kept ?? 0, record.sequence)
    }
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
    if (isBarrier && this.#mode === "committing") this.#mode = "idle"
    if (this.record.ending !== undefined) this.#end(this.record.ending)
    else if (decision._tag === "Goto") {
      this.#work.forgetFailures()
      this.#work.start()
    }
  }

  /** Waits for an Effect in a mode in which nothing is decided. After that it is idle, unless `then` changes the mode. */
  #await<A>(mode: Mode, effect: Effect.Effect<A, never, unknown>, then: (value: A | undefined) => void) {
    const before = this.#mode
    let isInline = true
    this.#mode = mode
    this.#work.runtime.awaiting(effect, (value) => {
      if (this.#mode === mode) this.#mode = isInline && before === "deciding" ? before : "idle"
      then(value)
    })
    isInline = false
  }

  resumed() {
    this.#pump()
    this.context.settled()
  }

  // Work

  /** The node that runs its work, by the journal; undefined where its state has no work. */
  get owner(): string | undefined {
    return this.#work.owner
  }

  get mayWork(): boolean {
    return !this.context.isClosed() && this.record.ending === undefined && this.#departure === undefined && this.context.isKept(this)
  }

  /** This node has become the owner of its work. */
  own(owner: string) {
    if (this.record.ending === undefined && this.#work.own(owner) && this.#mode === "idle") this.#work.start()
  }

  /** The engine stops: work sends no more events. Events that were sent before are still decided and stored. */
  stopWork() {
    this.#work.quiet()
  }

  /** This node has lost its lease: its work must stop before anything else happens. */
  ownershipLost() {
    if (this.#work.isRunning) this.#work.stop("its node has lost its lease")
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

  /** Another node has changed the instance: the journal is read before anything else is decided. */
  refresh() {
    // A commit in flight gets a conflict, and the journal is read then.
    if (this.record.ending !== undefined || this.#isAhead || this.#mode !== "idle") return
    this.#resync([], new PersistenceFailed({ ...this.key, operation: "read again", cause: new Error("the store no longer has it") }))
  }

  /** Applies a read of the journal that is newer than memory, unless a commit is in flight. */
  takeIn(reloaded: Reloaded, passed: ReadonlyArray<Tagged> | undefined) {
    const { opened, recovered } = reloaded
    if (this.record.ending !== undefined || this.#isAhead || this.#mode !== "idle") return
    if (opened.record.startedAt !== this.record.startedAt) {
      this.leaveRemoved()
      return
    }
    if (!this.isBehind(opened.record)) return
    if (this.context.isClosed() || !this.context.isKept(this)) {
      this.record.sequence = recovered.sequence
      this.record.lastTransitionAt = recovered.at
      return this.#relocate(recovered, opened.record, passed)
    }
    // The journal may contain an unconfirmed commit now.
    if (this.#unconfirmed?.mayArrive === true) return this.refresh()
    this.#redeliver([], reloaded, noneRejected, passed)
  }

  /** Whether the store has further events, or events were rewritten since it was read. */
  isBehind(stored: Pick<InstanceStanding, "sequence" | "revision">): boolean {
    const revision = revisionOf(stored)
    return revision === this.revision ? stored.sequence > this.record.sequence : revision > this.revision
  }

  /** Reads the journal. Events that were not stored are decided again, except for those that are given up. */
  #resync(pending: ReadonlyArray<Pending>, error: SendError, given: Rejected = noneRejected, backoffMillis = 0) {
    this.#resolve(pending, error, this.#unconfirmedOf().resolve(error, given, backoffMillis))
  }

  #unconfirmedOf(): UnconfirmedCommits {
    this.#unconfirmed ??= new UnconfirmedCommits(this.context, this.machine, this.key, this.record)
    return this.#unconfirmed
  }

  /** Waits for the outcome of a commit, and continues from there. */
  #resolve(pending: ReadonlyArray<Pending>, error: SendError, resolution: Effect.Effect<Resolution>) {
    this.#await("resyncing", resolution, (found: Resolution = { _tag: "Unknown", error }) => {
      if (this.#unconfirmed?.isEmpty === true) this.#unconfirmed = undefined
      switch (found._tag) {
        case "Stored":
          return this.#settleUpTo(pending, found.reloaded)
        case "StoredLate":
          return this.#settleLate(found.flight, pending, found.reloaded, found.given)
        case "NotStored":
          if (found.pauseMillis > 0) this.#pause(found.pauseMillis)
          return this.#redeliver(pending, found.reloaded, found.given)
        case "Unknown":
          return this.#forget(pending, found.error, true)
      }
    })
  }

  /** Moves to the state of the journal and decides events again, in order of arrival. Given-up events are answered last. */
  #redeliver(pending: ReadonlyArray<Pending>, reloaded: Reloaded, given: Rejected, passed?: ReadonlyArray<Tagged>) {
    this.#commits.settle(() => {
      const again = this.#undecided([...pending, ...this.#dropPending()], given)
      this.#mode = "idle"
      this.#adopt(reloaded, passed)
      if (this.record.ending === undefined) {
        this.#inboxOf().requeue(again, (envelope) => envelope.isSpeculative)
        this.#takeOver(reloaded.recovered.selfSent)
      } else for (const envelope of again) this.#answers.refuseUnlessJournaled(envelope, stopped(this.record, this.record.ending))
      for (const [envelope, error] of given) this.#answers.complete(envelope, error)
    })
  }

  /** Drops the decisions on a speculative state, and returns them: they are made again. */
  #dropPending(): ReadonlyArray<Pending> {
    return this.#commits.drop(() => true)
  }

  /** A commit arrived after its events were decided again: its decisions count, and the other events are decided on top of them. */
  #settleLate(flight: ReadonlyArray<PendingEvent>, pending: ReadonlyArray<Pending>, reloaded: Reloaded, given: Rejected) {
    const stored = new Set(flight.map(({ envelope }) => envelope))
    const sent = flight.flatMap((one) => one.sent).filter((envelope) => !stored.has(envelope))
    const again = this.#undecided([...pending, ...this.#dropPending()], given)
    this.#inboxOf().requeue(again, (envelope) => envelope.isSpeculative || stored.has(envelope))
    this.#inboxOf().putFirst(sent)
    this.#mode = "idle"
    this.#ahead = flight.reduce(stateAfter, this.#stored())
    this.#settleUpTo(flight, reloaded)
    for (const [envelope, error] of given) if (!stored.has(envelope)) this.#answers.complete(envelope, error)
  }

  /** The commit in flight is stored after all; other nodes may have committed since. */
  #settleUpTo(pending: ReadonlyArray<Pending>, { opened, recovered }: Reloaded) {
    const last = pending.findLast(isAccepted)
    this.#unconfirmed = undefined
    this.#work.take(opened.record)
    this.#mode = "idle"
    this.#owed = opened.timers.find(isOwedTimer)
    this.#lastSnapshot = momentOf(opened.snapshot) ?? this.#lastSnapshot
    this.#fields = opened.record.fields
    // Events that were decided meanwhile are stored next. Nothing is decided after a barrier among them.
    if ([...pending, ...this.#pending].some((one) => isAccepted(one) && one.isBarrier)) this.#mode = "committing"
    this.#commits.settle(() => this.#settle(pending, undefined))
    if (last !== undefined && (recovered.sequence > last.sequence || revisionOf(opened.record) !== this.revision)) this.refresh()
  }

  #undecided(pending: ReadonlyArray<Pending>, given: Rejected): ReadonlyArray<Envelope> {
    return pending.map(({ envelope }) => envelope).filter((one) => !given.has(one) && !one.isSpeculative && one.result === undefined)
  }

  /** Moves to the state of the journal. */
  #adopt({ opened, recovered }: Reloaded, passed?: ReadonlyArray<Tagged>) {
    const { record } = this
    const moved = recovered.sequence !== record.sequence || revisionOf(opened.record) !== this.revision
    record.sequence = recovered.sequence
    record.lastTransitionAt = recovered.at
    this.#timers = timersByName(opened.timers, recovered.delayed)
    this.#owed = opened.timers.find(isOwedTimer)
    this.#lastSnapshot = momentOf(opened.snapshot) ?? this.#lastSnapshot
    this.#fields = opened.record.fields
    if (moved) {
      this.#unconfirmed?.moved()
      this.#relocate(recovered, opened.record, passed)
    } else this.#work.adopt(opened.record)
    this.#ahead = this.#stored()
    if (moved) this.#inbox?.releasePostponed()
    this.context.timers.arm(this, this.#timers)
    this.#senders?.answerReached()
  }

  /**
   * Moves to a later state of the journal. Listeners get the `passed` states in between. If only the data changed, work continues. If
   * events were rewritten, the work of the state begins again.
   */
  #relocate({ state, past, entered, groups, stopped }: Recovered, stored: InstanceRecord, passed: ReadonlyArray<Tagged> = [state]) {
    const { record } = this
    const around = record.compiled.nodes.get(state._tag)?.groups ?? none
    const isRewritten = revisionOf(stored) !== this.revision
    this.revision = revisionOf(stored)
    const kept = isRewritten ? none : around.filter(({ name }) => groups.get(name) === this.#groups.get(name))
    const closing = isRewritten || entered > this.entered ? this.#work.leaveState({ _tag: "(reload)" }, kept) : undefined
    for (const one of passed) {
      record.currentState = one
      record.notifyState()
    }
    record.place(state, past)
    this.entered = entered
    this.#groups = groups
    this.#work.adopt(stored)
    if (stored.status === "final") this.#end({ _tag: "Final", state })
    else if (stored.status === "stopped") this.#end({ _tag: "Stopped", state, reason: stored.reason ?? stopped ?? "it was stopped" })
    if (closing !== undefined && record.ending === undefined) this.#await("carrying out", closing, () => this.#work.start())
    else if (closing !== undefined) this.context.workEnding(this, record.environment.run(closing))
    else this.#work.start()
  }

  #stored(): SpeculativeState {
    const { currentState: state, node, sequence, past } = this.record
    return { state, node, sequence, timers: this.#timers, previous: past?.at(-1), entered: this.entered, groups: this.#groups }
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
    this.#await("resyncing", Effect.result(acquired), (result) => {
      if (result?._tag !== "Success") {
        const error = result?._tag === "Failure" ? result.failure : stopped(record, record.ending)
        if (isRemoved(error)) return this.#forget([], error)
        for (const envelope of [...(this.#inbox?.takeWaiting() ?? none)].reverse()) this.giveUp(envelope, error)
        return
      }
      this.#lock = result.success.held
      this.#adopt(result.success.reloaded)
      if (record.ending === undefined) this.#takeOver(result.success.reloaded.recovered.selfSent)
    })
  }

  #releaseLock(lock: HeldLock) {
    this.#lock = undefined
    this.record.environment.run(lock.release)
  }

  // Leaving memory

  /** Moves to another node. Completes when its accepted events are stored and it has left memory. Its work may take longer to end. */
  depart(departure: "leaving" | "lost"): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#mode === "ended") return Effect.void
      if (this.#departure !== "lost") this.#departure = departure
      if (this.isAtWork) this.#work.stop("it goes to another node")
      return Effect.callback<void>((resume) => {
        this.record.listen({ next: () => undefined, end: () => resume(Effect.void) })
        this.#pump()
      })
    })
  }

  /** Leaves memory without ending: the journal keeps it. */
  leave(reason: LeaveReason): Effect.Effect<void> {
    return Effect.suspend(() => {
      const ending = { _tag: "Stopped", state: this.record.currentState, reason: leaveText(reason) } as const
      if (this.record.ending === undefined) this.#left = { reason, error: stopped(this.record, ending) }
      return this.#end(ending) ?? Effect.void
    })
  }

  /** The stored state is unknown: the instance leaves memory, and the next caller reads the journal. */
  #forget(pending: ReadonlyArray<Pending>, error: SendError, isUnknown = false) {
    // An instance that has come back to this node while it was leaving continues here.
    const continues =
      this.#departure === undefined
        ? this.#work.isOwned || this.hasUnstoredSelfSent || (isUnknown && this.#mayOweWork(pending))
        : (this.#work.needsOwner || this.hasUnstoredSelfSent) && this.context.isLocal(this.key)
    const decided = [...pending, ...this.#dropPending()].map(({ envelope }) => envelope)
    if (this.#departure !== undefined) {
      // Events that may be stored are not sent again, unless the journal can be checked by their id: their senders get the error.
      if (isUnknown) for (const { envelope } of pending) this.#answers.complete(envelope, error)
      for (const [envelope, unknown] of this.#unconfirmed?.notIdempotent("it went to another node meanwhile") ?? none)
        this.#answers.complete(envelope, unknown)
    }
    const waiting = [...decided, ...(this.#inbox?.takeAll() ?? none)].sort((left, right) => left.arrival - right.arrival)
    const reason: LeaveReason = { _tag: this.#departure !== undefined ? "Moved" : isRemoved(error) ? "Removed" : "StateUnknown" }
    this.#left = { reason, error }
    const closing = this.#end({ _tag: "Stopped", state: this.record.currentState, reason: leaveText(reason) })
    if (closing !== undefined) this.record.environment.run(closing)
    this.#commits.settle(() => undefined)
    count(instancesGivenUp, 1, this.record.environment)
    // A sender may ask for the state immediately: it must no longer find the instance here.
    if (isRemoved(error) || this.#departure !== undefined) this.#sendOn(waiting, error)
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
      if (this.#departure !== undefined) return !internal && !isRemote
      return !internal || timer !== undefined
    }
    for (const envelope of waiting) if (!isForNext(envelope)) envelope.complete(error)
    // An event whose sender has got an error may be stored: it is not sent again.
    const sent = waiting.filter((envelope) => envelope.result === undefined && isForNext(envelope))
    if (sent.length > 0) this.context.sendOn(this.key, sent, error)
  }

  /** The store no longer has the instance: it leaves memory. Returns false where it is busy: its next commit or read finds out. */
  leaveRemoved(): boolean {
    if (this.record.ending !== undefined || this.#isAhead || this.#mode !== "idle") return false
    if (this.#unconfirmed?.mayArrive === true) {
      this.refresh()
      return false
    }
    this.#forget([], removed(this.key, this.record.sequence))
    return true
  }

  /** Ends work and leaves memory. Returns an Effect that waits for work that takes time to end. */
  #end(ending: ActorEnd<Tagged>): Effect.Effect<void> | undefined {
    if (this.#mode === "ended") return undefined
    const { record } = this
    this.#mode = "ended"
    this.#reachEnd(ending)
    const by = record.ending ?? ending
    const closing = this.#work.end(by)
    this.context.gone(this)
    this.#followWhilePostponed()
    // While a commit is in flight, the lock is held until its outcome is known.
    if (this.#lock !== undefined && !this.#isAhead) this.#releaseLock(this.#lock)
    for (const envelope of this.#inbox?.takeAll() ?? none) this.#answers.refuseUnlessJournaled(envelope, stopped(record, by))
    this.#senders?.end()
    return closing
  }

  /** A method of its own: the closure that `inspect` takes would cost each of its callers an allocation, inspected or not. */
  #inspect(what: ReturnType<Parameters<typeof inspect>[1]>) {
    inspect(this.record, () => what)
  }
}

const revisionOf = ({ revision = 0 }: Pick<InstanceStanding, "revision">): number => revision

/** Without the body of the snapshot, which memory does not need. */
const momentOf = (snapshot: SnapshotRecord | undefined): Moment | undefined =>
  snapshot === undefined ? undefined : { sequence: snapshot.sequence, at: snapshot.at }

/** Whether a query is not journaled. With an id of its sender it is journaled: the same id gets the same answer again. */
const isUnjournaled = ({ internal, dedupeId }: Envelope): boolean => !internal && (dedupeId === undefined || isDeliveryId(dedupeId))

const keepsState = ({ declarations }: Compiled, from: Tagged, decision: Decision<Tagged, Tagged>): boolean =>
  declarations.keepsState !== undefined &&
  (decision._tag === "Goto" || decision._tag === "Stay") &&
  declarations.keepsState(from, decision.event, decision.state)
