/**
 * An execution in memory. It stays there while it runs on this node or one of its events is being stored.
 *
 * Only the stored state counts: runs, answers to callers and the owner follow from the journal. `phaseAhead` is speculative: the phase once
 * all events in flight and pending are stored.
 */
import type { PersistenceFailed } from "@detent/machine"
import { describe, type Environment } from "@detent/machine/internal"
import type { Commit, InstanceKey } from "@detent/store"
import { instanceName } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { WorkflowInstance } from "effect/workflow/WorkflowEngine"
import type { GroupCommit } from "../runtime/GroupCommit.ts"
import { untilAnswered } from "../runtime/untilAnswered.ts"
import type { ActivityRun } from "./ActivityRun.ts"
import { CommitResolution, type ResolutionOwner, type SentFlight } from "./CommitResolution.ts"
import {
  type AppendOutcome,
  commitOf,
  countJournaled,
  countUntilEnd,
  isThatCommit,
  phaseAfterAll,
  UnstoredEvent,
} from "./ExecutionCommit.ts"
import { clockDeferred, type ExecutionEvent, isForeign } from "./ExecutionEvent.ts"
import { ExecutionState, isAtWork, isEnded, isWake, type Phase } from "./ExecutionState.ts"
import { type Read, type ReadExecution, type ReadingFrom, readExecution, Unreadable } from "./Reading.ts"
import { type RegisteredWorkflow, Run, type RunOutcome, type RunOwner } from "./Run.ts"
import type { Codecs } from "./StoredExit.ts"
import type { Waiting, WaitOutcome } from "./Waiting.ts"

/** The interface of the engine for its executions. */
export interface ExecutionHost extends ReadingFrom {
  /** The group commit for an execution that is being loaded into memory. */
  readonly committer: GroupCommit
  readonly environment: Environment
  readonly codecs: Codecs
  readonly waiting: Waiting
  /** Whether this node may run the execution: the node holds its lease, and placement assigns the execution to it. */
  canOwn(key: InstanceKey): boolean
  registered(machine: string): RegisteredWorkflow | undefined
  /** Stores an event of any execution, in memory or not. */
  deliver(key: InstanceKey, event: ExecutionEvent): Effect.Effect<void>
  /** A deadline is stored. */
  clockSet(due: number): void
  /** The execution has left memory. */
  left(execution: Execution): void
}

/** The creation of the execution, until it is stored. */
interface Creation {
  readonly origin: string | undefined
  readonly at: number
  readonly waiting: Array<(outcome: AppendOutcome) => void>
}

const executionKey = Symbol("execution")

export class Execution implements RunOwner, ResolutionOwner<UnstoredEvent, Read> {
  readonly host: ExecutionHost
  readonly key: InstanceKey
  readonly name: string
  readonly environment: Environment
  readonly read: Effect.Effect<Read>
  /** The stored state. */
  state: ExecutionState
  /** The owner by the journal. */
  owner: string | undefined
  /** Counts the events that would wake a sleeping execution. */
  wakes = 0
  /** Running activities, by name and attempt. */
  readonly activities = new Map<string, ActivityRun>()
  /** The owner, if it is another node that is alive. This node then does not run the execution. */
  #foreignOwner: string | undefined
  readonly #commits: CommitResolution<UnstoredEvent, Read>
  #creation: Creation | undefined
  /** Whether the execution has ended and its parents may not have been notified. */
  #owesParents = false
  /** The parents have been notified, and the next commit records that. */
  #isClearingDebt = false
  #isTellingParents = false
  #run: Run | undefined
  #hasLeft = false

  /** Creates an execution that may not be in the journal yet. Without an origin it is not started. */
  static create(host: ExecutionHost, key: InstanceKey, origin: string | undefined): Execution {
    const execution = new Execution(host, key, undefined)
    execution.#creation = { origin, at: execution.#now, waiting: [] }
    execution.#commits.pipeline.commitSoon()
    return execution
  }

  /**
   * Returns the execution of a step. It is attached to the instance that Effect passes to steps, and to the copies of an instance that
   * `DurableDeferred.into` makes. A body that continues after another node took its execution over finds its former `Execution`, which no
   * longer runs, and not one that was loaded since.
   */
  static of(instance: WorkflowInstance["Service"]): Execution | undefined {
    return (instance as { readonly [executionKey]?: Execution })[executionKey]
  }

  constructor(host: ExecutionHost, key: InstanceKey, read: ReadExecution | undefined) {
    this.host = host
    this.key = key
    this.name = instanceName(key)
    this.environment = host.environment
    this.read = Effect.suspend(() => untilAnswered(readExecution(host, key, this.state.sequence)))
    this.state = read?.state ?? new ExecutionState()
    this.#commits = new CommitResolution(host.committer, this)
    if (read !== undefined) this.#applyRecord(read)
  }

  /** Attaches this execution to an instance that its steps run with. */
  note(instance: WorkflowInstance["Service"]) {
    Object.assign(instance, { [executionKey]: this })
  }

  get run(): Run | undefined {
    return this.#run
  }

  get codecs(): Codecs {
    return this.host.codecs
  }

  get isMine(): boolean {
    return this.owner === this.host.owner
  }

  /** Whether its start is stored, or in flight. */
  get isStarted(): boolean {
    return this.#phaseAhead !== "Waiting"
  }

  // Events sent to the execution

  /** Stores an event. Calls `done` when it is stored, or if the journal already has it. */
  accept(event: ExecutionEvent, done: (outcome: AppendOutcome) => void) {
    if (isEnded(this.state.phase) || this.#isKnown(event)) {
      done("stored")
      return this.settled()
    }
    const same = this.#find((other) => isSame(event, other))
    if (same !== undefined) return same.alsoOnDone(done)
    // A run on this node needs no event to continue: the counted wake makes the body run again instead of being suspended.
    if (event._tag === "Resumed" && isAtWork(this.#phaseAhead) && this.isMine && this.#foreignOwner === undefined) {
      this.wakes++
      done("stored")
      return this.settled()
    }
    this.#append(event, false, done)
  }

  /**
   * Makes this node the owner of an execution that no living node runs. If another node was first, the event is dropped: the journal would
   * say that this node took the execution from that node.
   */
  takeOver() {
    const isOrphan = isAtWork(this.#phaseAhead) && this.#foreignOwner === undefined && !this.isMine
    if (isOrphan && this.#find(({ _tag }) => _tag === "Resumed") === undefined) this.#append({ _tag: "Resumed", on: this.host.owner }, true)
    this.settled()
  }

  /** Runs a held execution again: a new version of its workflow may be able to continue it. */
  retryHeld() {
    if (this.#phaseAhead === "Held") this.#append({ _tag: "Resumed", on: this.host.owner }, true)
    this.settled()
  }

  /** Calls back when the execution is stored; immediately if it already is. */
  whenCreated(done: (outcome: AppendOutcome) => void) {
    if (this.#creation === undefined) done("stored")
    else this.#creation.waiting.push(done)
  }

  /** Reads events that another node has written. */
  refresh() {
    this.#commits.refresh()
  }

  #append(event: ExecutionEvent, isOwn: boolean, done?: (outcome: AppendOutcome) => void) {
    this.#commits.pipeline.append(new UnstoredEvent(event, this.#now, isOwn, done))
  }

  #find(isWanted: (event: ExecutionEvent) => boolean): UnstoredEvent | undefined {
    const { inFlight, pending } = this.#commits.pipeline
    return inFlight.find(({ event }) => isWanted(event)) ?? pending.find(({ event }) => isWanted(event))
  }

  /** Whether an interrupt is stored, or is stored before the next event of this node. */
  get #isInterruptAhead(): boolean {
    return this.state.interruptRequested || this.#find(({ _tag }) => _tag === "Interrupt") !== undefined
  }

  get #now(): number {
    return Math.floor(this.environment.clock.currentTimeMillisUnsafe())
  }

  get #phaseAhead(): Phase {
    const { inFlight, pending } = this.#commits.pipeline
    return phaseAfterAll(phaseAfterAll(this.#basePhase, inFlight), pending)
  }

  get #basePhase(): Phase {
    return this.state.sequence < 0 && this.#creation?.origin !== undefined ? "Running" : this.state.phase
  }

  /** Whether the event would add nothing to the journal. */
  #isKnown(event: ExecutionEvent): boolean {
    const { state } = this
    switch (event._tag) {
      case "Deferred":
        return state.deferreds.has(event.name)
      case "ClockFired":
        return state.deferreds.has(clockDeferred(event.name))
      case "Interrupt":
        // An execution that has not been started cannot be interrupted.
        return state.interruptRequested || (state.phase === "Waiting" && state.sequence >= 0)
      case "Awaited":
        return state.parents.has(instanceName(event.by))
      case "Started":
        return state.phase !== "Waiting"
      case "Resumed":
        // While a start is being stored, the journal may have the execution already: it may be suspended, and then this event wakes it.
        return state.phase === "Waiting" && state.sequence >= 0
      default:
        return false
    }
  }

  // Requests of its run

  /** Stores a step of its run. The run is interrupted if the step is not stored. */
  store(event: ExecutionEvent): Effect.Effect<void> {
    return Effect.callback((resume) => {
      this.#append(event, true, (outcome) => resume(outcome === "stored" ? Effect.void : Effect.interrupt))
    })
  }

  /** Stores the end of an activity of its run. */
  storeActivity(event: Extract<ExecutionEvent, { _tag: "Activity" }>, done: (outcome: AppendOutcome) => void) {
    this.#append(event, true, done)
  }

  isCompensated(key: string): boolean {
    return this.state.compensated.has(key)
  }

  compensated(step: string, index: number): Effect.Effect<void> {
    return this.store({ _tag: "Compensated", step, index })
  }

  /** Sets a clock, unless it was set before. The caller does not wait: the suspension of a run is stored after its clocks. */
  setClock(name: string, due: number) {
    if (this.state.clocks.has(name) || this.state.deferreds.has(clockDeferred(name))) return
    if (this.#find((event) => event._tag === "ClockSet" && event.name === name) !== undefined) return
    this.#append({ _tag: "ClockSet", name, due }, true)
  }

  /** Holds the execution: it does not continue until the problem is solved. */
  hold(problem: string) {
    this.#noteParents()
    this.#append({ _tag: "Held", problem }, true)
    this.#stopRun()
    this.environment.run(Effect.logError(`${this.key.machine} ${this.key.id} is held: ${problem}`))
  }

  /** Ends its run immediately. */
  interruptNow() {
    this.#run?.interrupt()
    for (const activity of this.activities.values()) activity.interrupt()
  }

  // Commits

  hasMore(): boolean {
    return this.#creation !== undefined || this.#isClearingDebt
  }

  countTogether(pending: ReadonlyArray<UnstoredEvent>): number {
    return countUntilEnd(pending)
  }

  commitOf(batch: ReadonlyArray<UnstoredEvent>): Commit {
    const { host, state } = this
    const here = host.registered(this.key.machine) !== undefined && host.canOwn(this.key) ? host.owner : undefined
    return commitOf({
      key: this.key,
      state,
      batch,
      phase: phaseAfterAll(this.#basePhase, batch),
      at: batch.at(-1)?.at ?? this.#creation?.at ?? this.#now,
      origin: this.#creation?.origin,
      owner: this.#foreignOwner ?? here,
      owesParents: () => !this.#isClearingDebt && (isEnded(state.phase) ? this.#owesParents : this.#hasUnknowingParents()),
    })
  }

  stored({ batch, commit: { summary } }: SentFlight<UnstoredEvent>) {
    const phase = summary.tag as Phase
    this.#isClearingDebt = false
    this.owner = isAtWork(phase) ? (summary.owner ?? this.owner) : undefined
    this.#owesParents = summary.owes
    const creation = this.#takeCreation()
    if (creation !== undefined) this.state.begin(creation.origin)
    this.#apply(batch)
    answerCreation(creation, "stored")
    for (const pending of batch) pending.done("stored")
    this.#dropAfterEnd()
  }

  refused(refused: UnstoredEvent | undefined, problem: PersistenceFailed) {
    if (refused === undefined) {
      this.#isClearingDebt = false
      this.#owesParents = false
      return this.#giveUp([], problem)
    }
    if (refused.isOwn) this.hold(problem.message)
    refused.done(refused.isOwn ? "lost" : problem)
  }

  resolve(
    read: Read,
    { batch, commit }: SentFlight<UnstoredEvent>,
    isUnconfirmed: boolean,
    appendedSince: ReadonlyArray<UnstoredEvent>,
  ): ReadonlyArray<UnstoredEvent> {
    if (read === undefined) return [...batch, ...appendedSince]
    if (read instanceof Unreadable) {
      this.owner = undefined
      this.#owesParents = false
      this.#stopRun()
      this.#giveUp([...batch, ...appendedSince], read.failure)
      return []
    }
    const creation = this.#takeCreation()
    const isOurs = creation === undefined || (isUnconfirmed && isThatCommit(commit, read))
    if (creation !== undefined && isOurs) this.state.begin(creation.origin)
    const arrived = isOurs ? batch.slice(0, countJournaled(commit.events, read.records)) : []
    this.#apply(arrived)
    const foreign = read.events.slice(arrived.length)
    if (!isOurs) this.state = read.state ?? this.state
    else for (const event of foreign) this.state.apply(event, this.state.sequence + 1)
    this.#isClearingDebt = false
    this.#applyRecord(read)
    const remaining = this.#withoutStale(foreign, [...batch.slice(arrived.length), ...appendedSince])
    for (const event of foreign) this.#happened(event)
    answerCreation(creation, "stored")
    for (const pending of arrived) pending.done("stored")
    if (!isEnded(this.state.phase)) return remaining
    for (const late of remaining) late.done(late.isOwn ? "lost" : "stored")
    return []
  }

  /** Returns the events that are still valid after the writes of other nodes, and answers the others. */
  #withoutStale(foreign: ReadonlyArray<ExecutionEvent>, pending: ReadonlyArray<UnstoredEvent>): ReadonlyArray<UnstoredEvent> {
    const isTakenAway =
      isEnded(this.state.phase) ||
      foreign.some((event) => isForeign(event, this.host.owner)) ||
      (isAtWork(this.state.phase) && !this.isMine)
    if (isTakenAway) this.#stopRun()
    const isOutdated = ({ event }: UnstoredEvent) =>
      (event._tag === "Suspended" && foreign.some(isWake)) ||
      (event._tag === "Ended" && event.ending === "Completed" && foreign.some(({ _tag }) => _tag === "Interrupt"))
    return pending.filter((one) => {
      if (one.isOwn && (isTakenAway || isOutdated(one))) one.done("lost")
      else if (this.#isKnown(one.event)) one.done("stored")
      else return true
      return false
    })
  }

  /** Nothing is stored after the end: late events have no effect. */
  #dropAfterEnd() {
    if (!isEnded(this.state.phase)) return
    for (const late of this.#commits.pipeline.drop(() => true)) late.done(late.isOwn ? "lost" : "stored")
  }

  #giveUp(events: ReadonlyArray<UnstoredEvent>, problem: PersistenceFailed) {
    answerCreation(this.#takeCreation(), problem)
    for (const pending of [...events, ...this.#commits.pipeline.drop(() => true)]) pending.done(problem)
  }

  #takeCreation(): Creation | undefined {
    const creation = this.#creation
    this.#creation = undefined
    return creation
  }

  #applyRecord({ record, isOwnerAlive }: ReadExecution) {
    this.owner = record.owner
    this.#foreignOwner = isOwnerAlive ? this.owner : undefined
    this.#owesParents = record.owes
  }

  #apply(batch: ReadonlyArray<UnstoredEvent>) {
    for (const { event } of batch) this.state.apply(event, this.state.sequence + 1)
    for (const { event } of batch) this.#happened(event)
  }

  /** Reacts to an event that is stored. */
  #happened(event: ExecutionEvent) {
    switch (event._tag) {
      case "ClockSet":
        return this.host.clockSet(event.due)
      case "Deferred":
        return this.#wake(event.name)
      case "ClockFired":
        return this.#wake(clockDeferred(event.name))
      case "Interrupt":
        this.wakes++
        return this.#stopSleeps()
      case "Resumed":
        this.wakes++
        return
      case "Suspended":
        if (this.state.phase === "Suspended") this.#tellPause({ _tag: "Suspended", cause: event.cause })
        return
      case "Held":
        return this.#tellPause({ _tag: "Held", problem: event.problem })
      case "Ended":
        return this.host.waiting.tellEnd(this.name, event.exit)
    }
  }

  #tellPause(outcome: WaitOutcome) {
    this.host.waiting.tellPause(this.name, outcome, (parent) => this.state.parents.has(parent))
  }

  #wake(deferred: string) {
    this.wakes++
    if (this.#run?.instance.awaitedDeferreds.has(deferred)) this.#run.preempt()
  }

  /** After an interrupt: a running activity may finish, because its effect may have to be compensated. A sleep ends immediately. */
  #stopSleeps() {
    const underWay = [...this.activities.values()]
    if (!underWay.every(({ isSleep }) => isSleep)) return
    this.#run?.preempt()
    for (const sleep of underWay) sleep.interrupt()
  }

  // Its run

  /** Decides the next action when no commit is in flight: notify its parents, run, or leave memory. */
  settled() {
    if (!this.#commits.pipeline.isIdle || this.#run !== undefined || this.#isTellingParents || this.#hasLeft) return
    if (this.#owesParents) return this.#tellParents()
    const registered = this.host.registered(this.key.machine)
    if (isAtWork(this.state.phase) && this.isMine && registered !== undefined && this.host.canOwn(this.key)) {
      const run = new Run(this, registered)
      this.note(run.instance)
      this.#run = run
      return run.start((outcome) => this.#runOver(run, outcome))
    }
    this.#hasLeft = true
    this.#stopRun()
    this.host.left(this)
  }

  #runOver(run: Run, outcome: RunOutcome) {
    this.#run = undefined
    switch (outcome._tag) {
      case "Ended":
        // An interrupt that was accepted before this end is acknowledged before it, too: the body runs again, and is compensated.
        if (outcome.ending === "Completed" && this.#isInterruptAhead) break
        this.#append({ _tag: "Ended", ending: outcome.ending, exit: outcome.exit }, true)
        break
      case "Suspended":
        // The run may wait for an event that was stored since it began, or that is in flight: it runs again.
        if (this.wakes !== run.wakes || this.#find(isWake) !== undefined) break
        this.#noteParents()
        this.#append({ _tag: "Suspended", cause: outcome.cause }, true)
        break
      case "Failed":
        this.hold(outcome.problem)
        break
      case "Abandoned":
        break
    }
    this.settled()
  }

  /** Stops the run on this node: another node runs the execution, or it has ended elsewhere. */
  #stopRun() {
    this.#run?.abandon()
    for (const activity of this.activities.values()) activity.interrupt()
    this.activities.clear()
  }

  /** This node has lost its lease. Steps of its run that are not stored are dropped: the next owner does them again. */
  ownershipLost() {
    this.#stopRun()
    for (const pending of this.#commits.pipeline.drop(({ isOwn }) => isOwn)) pending.done("lost")
    this.settled()
  }

  /** Stops the run on this node. The journal keeps the execution. */
  leave() {
    this.#stopRun()
    this.settled()
  }

  // Executions that wait for its end

  /** Stores which executions will sleep until this one continues, so that its end wakes them. */
  #noteParents() {
    for (const by of this.host.waiting.parentsOf(this.name)) {
      const event: ExecutionEvent = { _tag: "Awaited", by }
      if (!this.#isKnown(event)) this.#append(event, true)
    }
  }

  /** Whether a parent waits for the end that this node does not notify as soon as the end is stored. */
  #hasUnknowingParents(): boolean {
    const notified = new Set(this.host.waiting.parentsOf(this.name).map(instanceName))
    return [...this.state.parents.keys()].some((name) => !notified.has(name))
  }

  #tellParents() {
    this.#isTellingParents = true
    const { state } = this
    const telling = Effect.forEach(state.parents.values(), (parent) => this.#tellParent(parent), { discard: true })
    this.environment.run(telling).addObserver((exit) => {
      // The engine has closed meanwhile: the record keeps the pending notification for the next node.
      if (Exit.isFailure(exit)) return
      this.#isTellingParents = false
      this.#isClearingDebt = true
      this.#commits.pipeline.commitSoon()
    })
  }

  /** A parent that cannot be read is held: once it can run again, it asks for this result. */
  #tellParent(parent: InstanceKey): Effect.Effect<void> {
    const { host, key } = this
    return Effect.catchDefect(host.deliver(parent, { _tag: "Resumed", on: host.owner }), (cause) =>
      Effect.logError(`${parent.machine} ${parent.id} is not notified of the end of ${key.machine} ${key.id}: ${describe(cause)}`),
    )
  }
}

const answerCreation = (creation: Creation | undefined, outcome: AppendOutcome) => {
  for (const done of creation?.waiting ?? []) done(outcome)
}

const isSame = (event: ExecutionEvent, other: ExecutionEvent): boolean => {
  if (event._tag !== other._tag) return false
  switch (event._tag) {
    case "Deferred":
    case "ClockFired":
      return event.name === (other as typeof event).name
    case "Awaited":
      return instanceName(event.by) === instanceName((other as typeof event).by)
    case "Interrupt":
    case "Started":
    case "Resumed":
      return true
    default:
      return false
  }
}
