/** An execution in memory: it is run here, or something is stored with it. When neither is the case any more, it leaves. */
import * as Effect from "effect/Effect"
import type { InstanceKey } from "../store/Commit.ts"
import { instanceName } from "../store/CommitCheck.ts"
import type { ActivityRun } from "./ActivityRun.ts"
import type { AppendOutcome } from "./Appending.ts"
import type { CompensationLog } from "./Compensations.ts"
import { clockDeferred, type ExecutionEvent } from "./ExecutionEvent.ts"
import type { ExecutionKeeper } from "./ExecutionKeeper.ts"
import { isAtWork, isEnded, isWake } from "./ExecutionState.ts"
import { ExecutionStoring } from "./ExecutionStoring.ts"
import type { ReadExecution } from "./Reading.ts"
import { Run, type RunOutcome } from "./Run.ts"
import type { WaitOutcome } from "./Waiting.ts"

export class Execution extends ExecutionStoring implements CompensationLog {
  /** How often something came that a sleeping execution would have been woken for. */
  wakes = 0
  /** By name and attempt. */
  readonly activities = new Map<string, ActivityRun>()
  #run: Run | undefined
  #isTelling = false
  #hasLeft = false

  static create(keeper: ExecutionKeeper, key: InstanceKey, origin: string | undefined, done: (outcome: AppendOutcome) => void): Execution {
    const execution = new Execution(keeper, key, undefined)
    execution.create(origin, done)
    return execution
  }

  constructor(keeper: ExecutionKeeper, key: InstanceKey, read: ReadExecution | undefined) {
    super(keeper, key, read)
  }

  get run(): Run | undefined {
    return this.#run
  }

  /** Stores what somebody sends it. `done` is told when it is stored, or known already. */
  accept(event: ExecutionEvent, done: (outcome: AppendOutcome) => void) {
    if (isEnded(this.state.phase) || this.isKnown(event)) {
      done("stored")
      return this.settle()
    }
    const same = this.findAppended((other) => isSame(event, other))
    if (same !== undefined) return same.tell(done)
    if (event._tag !== "Resumed") return this.append(event, false, done)
    // One that runs here needs no event to go on: it is only looked at again before it is suspended.
    if (isAtWork(this.phaseAhead) && this.isMine && this.foreign === undefined) {
      this.wakes++
      done("stored")
      return this.settle()
    }
    this.append({ _tag: "Resumed", on: this.keeper.owner }, false, done)
  }

  /**
   * Makes this node the owner of an execution that no living node runs. Where another node was quicker the event is dropped: it
   * would read as if the execution had been taken from that node.
   */
  takeOver() {
    const isOrphan = isAtWork(this.phaseAhead) && this.foreign === undefined && !this.isMine
    if (isOrphan) this.append({ _tag: "Resumed", on: this.keeper.owner }, true)
    this.settle()
  }

  /** Runs an execution again that is held: a new version of its workflow may be able to. */
  retryHeld() {
    if (this.phaseAhead === "Held") this.append({ _tag: "Resumed", on: this.keeper.owner }, true)
    this.settle()
  }

  protected isKnown(event: ExecutionEvent): boolean {
    const { state } = this
    switch (event._tag) {
      case "Deferred":
        return state.deferreds.has(event.name)
      case "ClockFired":
        return state.deferreds.has(clockDeferred(event.name))
      case "Interrupt":
        // What has not been started cannot be interrupted.
        return state.interruptRequested || (state.phase === "Waiting" && state.sequence >= 0)
      case "Awaited":
        return state.parents.has(instanceName(event.by))
      case "Started":
        return state.phase !== "Waiting"
      case "Resumed":
        return state.phase === "Waiting"
      default:
        return false
    }
  }

  protected happened(event: ExecutionEvent) {
    switch (event._tag) {
      case "ClockSet":
        return this.keeper.clockSet(event.due)
      case "Deferred":
        return this.#woken(event.name)
      case "ClockFired":
        return this.#woken(clockDeferred(event.name))
      case "Interrupt":
        this.wakes++
        return this.#stop()
      case "Resumed":
        this.wakes++
        return
      case "Suspended":
        if (this.state.phase === "Suspended") this.#tellPause({ _tag: "Suspended", cause: event.cause })
        return
      case "Held":
        return this.#tellPause({ _tag: "Held", problem: event.problem })
      case "Ended":
        return this.keeper.waiting.tellEnd(this.name, event.exit)
    }
  }

  #tellPause(outcome: WaitOutcome) {
    this.keeper.waiting.tellPause(this.name, outcome, (parent) => this.state.parents.has(parent))
  }

  #woken(deferred: string) {
    this.wakes++
    if (this.#run?.instance.awaitedDeferreds.has(deferred)) this.#run.preempt()
  }

  /** An activity under way is let finish, for what it did may have to be compensated. Nothing is lost with a sleep. */
  #stop() {
    const underWay = [...this.activities.values()]
    if (!underWay.every(({ isSleep }) => isSleep)) return
    this.#run?.preempt()
    for (const sleep of underWay) sleep.interrupt()
  }

  protected forsake() {
    this.#run?.abandon()
    for (const activity of this.activities.values()) activity.interrupt()
    this.activities.clear()
  }

  protected settle() {
    if (!this.isSettled || this.#run !== undefined || this.#isTelling || this.#hasLeft) return
    if (this.owes) return this.#tellParents()
    const registered = this.keeper.registered(this.key.machine)
    if (isAtWork(this.state.phase) && this.isMine && registered !== undefined && this.keeper.canOwn) {
      const run = new Run(this, registered)
      this.#run = run
      return run.start((outcome) => this.#over(run, outcome))
    }
    this.#hasLeft = true
    this.forsake()
    this.keeper.left(this)
  }

  #over(run: Run, outcome: RunOutcome) {
    this.#run = undefined
    switch (outcome._tag) {
      case "Ended":
        this.append({ _tag: "Ended", ending: outcome.ending, exit: outcome.exit }, true)
        break
      case "Suspended":
        // What has come since, or is on its way to the journal, is looked at before it goes to sleep.
        if (this.wakes !== run.wakes || this.findAppended(isWake) !== undefined) break
        this.#noteParents()
        this.append({ _tag: "Suspended", cause: outcome.cause }, true)
        break
      case "Failed":
        this.hold(outcome.problem)
        break
      case "Abandoned":
        break
    }
    this.settle()
  }

  /** Executions that will go to sleep over this one, so that they can be woken. */
  #noteParents() {
    for (const by of this.keeper.waiting.parentsOf(this.name)) {
      const event: ExecutionEvent = { _tag: "Awaited", by }
      if (!this.isKnown(event)) this.append(event, true)
    }
  }

  hold(problem: string) {
    this.#noteParents()
    this.append({ _tag: "Held", problem }, true)
    this.forsake()
    this.keeper.environment.run(Effect.logError(`${this.key.machine} ${this.key.id} is held: ${problem}`))
  }

  /** Ends its run at once, whatever it is doing. */
  interruptNow() {
    this.#run?.interrupt()
    for (const activity of this.activities.values()) activity.interrupt()
  }

  // What a run asks for

  /** Stores what its run did; the run goes on only if that is stored. */
  store(event: ExecutionEvent): Effect.Effect<void> {
    return Effect.callback((resume) => {
      this.append(event, true, (outcome) => resume(outcome === "stored" ? Effect.void : Effect.interrupt))
    })
  }

  isCompensated(key: string): boolean {
    return this.state.compensated.has(key)
  }

  compensated(step: string, index: number): Effect.Effect<void> {
    return this.store({ _tag: "Compensated", step, index })
  }

  // Whoever waits for its end

  protected owesParents(): boolean {
    const told = new Set(this.keeper.waiting.parentsOf(this.name).map(instanceName))
    return [...this.state.parents.keys()].some((name) => !told.has(name))
  }

  #tellParents() {
    this.#isTelling = true
    const { keeper, state } = this
    const telling = Effect.forEach(state.parents.values(), (parent) => keeper.deliver(parent, { _tag: "Resumed", on: keeper.owner }), {
      discard: true,
    })
    keeper.environment.run(telling).addObserver(() => {
      this.#isTelling = false
      this.clearOwed()
    })
  }

  /** This node has lost its lease, and with it all that it runs. */
  ownershipLost() {
    this.forsake()
    this.dropOwn()
    this.settle()
  }

  /** Ends what it does here; the journal keeps it. */
  leave() {
    this.forsake()
    this.settle()
  }

  /** Sets a clock, unless it was set before. Nobody waits for that: a run that goes to sleep is stored with it. */
  setClock(name: string, due: number) {
    if (this.state.clocks.has(name) || this.state.deferreds.has(clockDeferred(name))) return
    if (this.findAppended((event) => event._tag === "ClockSet" && event.name === name) !== undefined) return
    this.append({ _tag: "ClockSet", name, due }, true)
  }

  /** Whether what it begins with is stored, or on its way. */
  get isStarted(): boolean {
    return this.phaseAhead !== "Waiting"
  }
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
