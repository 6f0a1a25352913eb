/**
 * Storing what happens to an execution. Events gather while a flush is under way and go out together; where the store did
 * not say what became of them, or somebody else has written since, the journal is read and its word taken.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { conflicts } from "../engine/EngineMetrics.ts"
import type { Committing, Doubtful, GroupCommit } from "../runtime/GroupCommit.ts"
import { untilAnswered } from "../runtime/untilAnswered.ts"
import type { Commit, CommitOutcome, InstanceKey } from "../store/Commit.ts"
import { instanceName } from "../store/CommitCheck.ts"
import { Appended, type AppendOutcome, isFromOutside, phaseAfterAll, takeBatch } from "./Appending.ts"
import { commitOf, countJournaled, isThatCommit } from "./ExecutionCommit.ts"
import type { ExecutionEvent } from "./ExecutionEvent.ts"
import type { ExecutionKeeper } from "./ExecutionKeeper.ts"
import { ExecutionState, isAtWork, isEnded, isWake, type Phase } from "./ExecutionState.ts"
import { type ReadExecution, readExecution, Unreadable } from "./Reading.ts"

/** The first commit of an execution. */
interface First {
  readonly origin: string | undefined
  readonly at: number
  readonly waiting: Array<(outcome: AppendOutcome) => void>
}

interface Flight {
  readonly batch: ReadonlyArray<Appended>
  readonly commit: Commit
}

const longestPauseMillis = 1000

export abstract class ExecutionStoring implements Committing {
  readonly keeper: ExecutionKeeper
  readonly key: InstanceKey
  readonly name: string
  /** As stored. */
  state: ExecutionState
  /** Who runs it, by the journal. */
  owner: string | undefined
  /** Who runs it, where that is another process that is alive: it is left to that one. */
  protected foreign: string | undefined
  /** Whether executions that wait for its end may not know of it. */
  protected owes = false
  readonly #committer: GroupCommit
  #first: First | undefined
  #pending: Array<Appended> = []
  #flight: Flight | undefined
  #inLine = false
  #clearing = false
  /** While it takes in what became of a commit, nothing new begins. */
  #isThinking = false
  #oneByOne = false
  #doubts = 0

  constructor(keeper: ExecutionKeeper, key: InstanceKey, read: ReadExecution | undefined) {
    this.keeper = keeper
    this.#committer = keeper.committer
    this.key = key
    this.name = instanceName(key)
    this.state = read?.state ?? new ExecutionState()
    if (read !== undefined) this.#stand(read)
  }

  /** Something it stored, or that was delivered to it, has to be looked at. */
  protected abstract happened(event: ExecutionEvent): void
  /** Its run is over: somebody else runs it, or it has ended elsewhere. */
  protected abstract forsake(): void
  /** Nothing is under way: what next? */
  protected abstract settle(): void
  /** Whether somebody waits for its end who will not be told by this process as soon as it is stored. */
  protected abstract owesParents(): boolean
  abstract hold(problem: string): void

  get isMine(): boolean {
    return this.owner === this.keeper.owner
  }

  get isSettled(): boolean {
    return this.#flight === undefined && this.#pending.length === 0 && !this.#inLine && !this.#isThinking
  }

  /** Where it will stand once everything on its way is stored. */
  protected get phaseAhead(): Phase {
    return phaseAfterAll(phaseAfterAll(this.#basePhase, this.#flight?.batch ?? []), this.#pending)
  }

  /** An event on its way, for whoever would send the same. */
  protected findAppended(isSame: (event: ExecutionEvent) => boolean): Appended | undefined {
    return this.#flight?.batch.find(({ event }) => isSame(event)) ?? this.#pending.find(({ event }) => isSame(event))
  }

  /** Stores it for the first time. `stored` also where it was there already. */
  protected create(origin: string | undefined, done: (outcome: AppendOutcome) => void) {
    this.#first = { origin, at: this.#now, waiting: [done] }
    this.#getInLine()
  }

  /** Called at once where it is stored already. */
  whenCreated(done: (outcome: AppendOutcome) => void) {
    if (this.#first === undefined) done("stored")
    else this.#first.waiting.push(done)
  }

  append(event: ExecutionEvent, own: boolean, done?: (outcome: AppendOutcome) => void) {
    this.#pending.push(new Appended(event, this.#now, own, done))
    this.#getInLine()
  }

  /** Those who waited for its end know: it need not be looked at again after a restart. */
  protected clearOwed() {
    this.#clearing = true
    this.#getInLine()
  }

  /** What its run did and has not stored is dropped: the next owner does it again. */
  protected dropOwn() {
    this.#pending = this.#pending.filter((appended) => {
      if (appended.own) appended.done("lost")
      return !appended.own
    })
  }

  /** Reads what others have written, where that may be more than this process knows. */
  refresh() {
    if (!this.isSettled) return
    this.#flight = { batch: [], commit: this.#commitOf([]) }
    this.#ask(0)
  }

  get #now(): number {
    return Math.floor(this.keeper.environment.clock.currentTimeMillisUnsafe())
  }

  get #basePhase(): Phase {
    return this.state.sequence < 0 && this.#first?.origin !== undefined ? "Running" : this.state.phase
  }

  #getInLine() {
    if (this.#inLine || this.#flight !== undefined) return
    this.#inLine = true
    this.#committer.enqueue(this)
  }

  takeCommit(): Commit | undefined {
    this.#inLine = false
    if (this.#pending.length === 0 && this.#first === undefined && !this.#clearing) return undefined
    const alone = this.#first === undefined ? 1 : 0
    const batch = takeBatch(this.#pending, this.#oneByOne ? alone : this.#pending.length)
    const commit = this.#commitOf(batch)
    this.#flight = { batch, commit }
    return commit
  }

  #commitOf(batch: ReadonlyArray<Appended>): Commit {
    const { keeper, state } = this
    const here = keeper.registered(this.key.machine) === undefined || !keeper.canOwn ? undefined : keeper.owner
    const owes = () => !this.#clearing && (isEnded(state.phase) ? this.owes : this.owesParents())
    return commitOf({
      key: this.key,
      state,
      batch,
      phase: phaseAfterAll(this.#basePhase, batch),
      at: batch.at(-1)?.at ?? this.#first?.at ?? this.#now,
      origin: this.#first?.origin,
      owner: this.foreign ?? here,
      owes,
    })
  }

  committed(outcome: CommitOutcome | Doubtful) {
    const flight = this.#flight as Flight
    switch (outcome._tag) {
      case "Stored":
        return this.#stored(flight)
      case "PersistenceFailed":
        return this.#refused(flight, outcome)
      case "Doubtful":
        return this.#ask(Math.min(25 * 2 ** this.#doubts++, longestPauseMillis))
      default:
        this.keeper.environment.run(Metric.update(conflicts, 1))
        return this.#ask(0)
    }
  }

  #stored({ batch, commit }: Flight) {
    this.#isThinking = true
    this.#flight = undefined
    this.#doubts = 0
    this.#clearing = false
    this.owner = isAtWork(commit.summary.tag as Phase) ? commit.summary.reason : undefined
    this.owes = isEnded(commit.summary.tag as Phase) && commit.summary.resident
    const first = this.#first
    this.#first = undefined
    if (first !== undefined) this.state.begin(first.origin)
    this.#apply(batch)
    created(first, "stored")
    for (const appended of batch) appended.done("stored")
    this.#goOn()
  }

  #apply(batch: ReadonlyArray<Appended>) {
    for (const { event } of batch) this.state.apply(event, this.state.sequence + 1)
    for (const { event } of batch) this.happened(event)
  }

  #goOn() {
    if (isEnded(this.state.phase)) for (const late of this.#pending.splice(0)) late.done(late.own ? "lost" : "stored")
    this.#isThinking = false
    if (this.#pending.length > 0 || this.#first !== undefined) this.#getInLine()
    this.settle()
  }

  /** The store does not take it, by its content: whatever else is on its way is stored without it. */
  #refused({ batch }: Flight, problem: PersistenceFailed) {
    this.#isThinking = true
    this.#flight = undefined
    const [appended] = batch
    if (batch.length + (this.#first === undefined ? 0 : 1) > 1) {
      this.#oneByOne = true
      this.#pending.unshift(...batch)
    } else if (appended === undefined) {
      created(this.#first, problem)
      this.#first = undefined
      for (const other of this.#pending.splice(0)) other.done(problem)
    } else {
      if (appended.own) this.hold(problem.message)
      appended.done(appended.own ? "lost" : problem)
    }
    this.#goOn()
  }

  /** Asks the journal where the execution stands. */
  #ask(pauseMillis: number) {
    const { keeper, key } = this
    const asked = untilAnswered(readExecution(keeper, key, this.state.sequence))
    keeper.environment.run(
      Effect.flatMap(pauseMillis === 0 ? asked : Effect.delay(asked, pauseMillis), (read) => Effect.sync(() => this.#told(read))),
    )
  }

  #told(read: ReadExecution | Unreadable | undefined) {
    const { batch, commit } = this.#flight as Flight
    this.#isThinking = true
    this.#flight = undefined
    if (read instanceof Unreadable) {
      this.owner = undefined
      this.owes = false
      this.forsake()
      created(this.#first, read.failure)
      this.#first = undefined
      for (const appended of [...batch, ...this.#pending.splice(0)]) appended.done(read.failure)
      return this.#goOn()
    }
    if (read === undefined) {
      this.#pending.unshift(...batch)
      return this.#goOn()
    }
    const first = this.#first
    this.#first = undefined
    const isOurs = first === undefined || (this.#doubts > 0 && isThatCommit(commit, read))
    if (first !== undefined && isOurs) this.state.begin(first.origin)
    const arrived = isOurs ? batch.slice(0, countJournaled(commit.events, read.records)) : []
    this.#apply(arrived)
    const foreign = read.events.slice(arrived.length)
    if (!isOurs) this.state = read.state ?? this.state
    else for (const event of foreign) this.state.apply(event, this.state.sequence + 1)
    this.#clearing = false
    this.#stand(read)
    this.#rethink(foreign, batch.slice(arrived.length))
    created(first, "stored")
    for (const appended of arrived) appended.done("stored")
    this.#goOn()
  }

  /** Others have written: what was not stored is put behind that, unless it makes no sense any more. */
  #rethink(foreign: ReadonlyArray<ExecutionEvent>, batch: ReadonlyArray<Appended>) {
    const isStale =
      isEnded(this.state.phase) ||
      foreign.some((event) => !isFromOutside(event, this.keeper.owner)) ||
      (isAtWork(this.state.phase) && !this.isMine)
    if (isStale) this.forsake()
    const isWoken = foreign.some(isWake)
    this.#pending = [...batch, ...this.#pending].filter((appended) => {
      if (appended.own && (isStale || (isWoken && appended.event._tag === "Suspended"))) appended.done("lost")
      else if (this.isKnown(appended.event)) appended.done("stored")
      else return true
      return false
    })
    for (const event of foreign) this.happened(event)
  }

  /** Whether the journal says so already. */
  protected abstract isKnown(event: ExecutionEvent): boolean

  #stand({ record, isOwnerAlive }: ReadExecution) {
    this.owner = isAtWork(record.tag as Phase) ? record.owner : undefined
    this.foreign = isOwnerAlive ? this.owner : undefined
    this.owes = isEnded(record.tag as Phase) && record.resident
  }
}

const created = (first: First | undefined, outcome: AppendOutcome) => {
  for (const done of first?.waiting ?? []) done(outcome)
}
