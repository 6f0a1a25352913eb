/** The life of a durable instance in memory: hooks, work of its state, restarts, the end. What is stored is not its concern. */
import type { ActorEnd, SendError, Taken } from "@detent/machine"
import {
  type ActorPort,
  actionFailed,
  type HookError,
  hasWork,
  inspect,
  type Node,
  type Result,
  report,
  restartLater,
  runHooks,
  StateScope,
  type Supervisor,
  stale,
  startBackground,
  startStateWork,
  stopped,
  type Tagged,
  WaitingActor,
} from "@detent/machine/internal"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { RegisteredMachine } from "../engine/MachineRegistry.ts"
import { within } from "../engine/Tracing.ts"
import type { InstanceKey, InstanceSummary } from "../store/Commit.ts"
import { instanceName } from "../store/CommitCheck.ts"
import type { InstanceContext } from "./InstanceContext.ts"
import { isUndecided } from "./isTransient.ts"
import type { Recovered } from "./Replay.ts"
import { type AcceptedStep, hasMoved } from "./Step.ts"

export abstract class InstanceLife extends WaitingActor {
  readonly keeper: InstanceContext
  readonly registered: RegisteredMachine
  readonly key: InstanceKey
  /** The one text that all tables of the engine know it by: the same one is found without comparing. */
  readonly name: string
  #residence: StateScope | undefined = undefined
  #background: StateScope | undefined = undefined
  /** A decision was made whose consequences must be over before the next. */
  #blocked = false
  #supervisor: Supervisor | undefined = undefined
  /** The same for work that the store stood in the way of: that is no failure of the work. */
  #outage: Supervisor | undefined = undefined
  /** The sequence at which the current state was entered. */
  entered = 0

  constructor(keeper: InstanceContext, registered: RegisteredMachine, id: string, state: Tagged, startedAt: number) {
    super(id, registered.compiled, keeper.host, registered.environment, state, startedAt)
    this.keeper = keeper
    this.registered = registered
    this.key = { machine: registered.name, id }
    this.name = instanceName(this.key)
  }

  protected abstract pump(): void

  get isBusy(): boolean {
    return this.#blocked || this.isWaiting
  }

  /** It may have work that goes on without anybody asking: what is being stored may bring it. */
  protected get works(): boolean {
    return this.node.works.length > 0 || this.compiled.declarations.backgrounds.length > 0
  }

  /** Work runs or somebody listens: it has to stay in memory. */
  get isNeeded(): boolean {
    const isAtWork = this.#residence !== undefined && hasWork(this.node, this.currentState)
    return isAtWork || this.#background !== undefined || this.isFollowed
  }

  /** What was decided is being carried out. */
  protected get isBlocked(): boolean {
    return this.#blocked
  }

  protected block() {
    this.#blocked = true
  }

  protected unblock() {
    this.#blocked = false
  }

  protected goOn() {
    this.pump()
    this.keeper.settled()
  }

  /** Whether carrying a decision out may take longer than replacing the state. */
  protected takesTime(decision: Taken<Tagged, Tagged>, node: Node): boolean {
    if (decision.hooks.length > 0) return true
    return (
      decision._tag === "Stop" ||
      (decision._tag === "Goto" && (node.final || hasWork(node, decision.state) || this.#residence !== undefined))
    )
  }

  /** Exit, new state, enter, spawn: the decision is stored. */
  protected carryOut(step: AcceptedStep) {
    const { decision, envelope, at } = step
    // Leaving a state drops what its work has sent; this one is stored.
    if (envelope.internal) envelope.seal(decision)
    const closing = decision._tag === "Stay" ? undefined : this.#leaveState(decision.event)
    if (closing === undefined && decision.hooks.length === 0) {
      this.#arrive(decision, at)
      this.#settleIn(step)
      if (!envelope.internal) return envelope.complete(decision)
      envelope.trace?.end(Exit.void)
      return envelope.announce()
    }
    if (envelope.internal) envelope.announce()
    this.later(within(envelope.trace, this.#transit(decision, closing, at)), (error) => {
      envelope.trace?.end(error === undefined ? Exit.void : Exit.fail(error))
      if (this.ending !== undefined) return envelope.complete(stopped(this, this.ending))
      if (error !== undefined && envelope.internal) report(this, error)
      this.#settleIn(step)
      envelope.complete(error ?? decision)
    })
  }

  #transit(
    decision: Taken<Tagged, Tagged>,
    closing: Effect.Effect<void> | undefined,
    at: number,
  ): Effect.Effect<HookError | undefined, never, unknown> {
    const label = decision.event._tag
    const hooks = (phase: "enter" | "exit") =>
      runHooks(
        this.living,
        decision.hooks.filter((hook) => hook.phase === phase),
        label,
      )
    return Effect.gen({ self: this }, function* () {
      if (closing !== undefined) yield* closing
      const exitError = yield* hooks("exit")
      this.#arrive(decision, at)
      const enterError = yield* hooks("enter")
      return exitError ?? enterError
    })
  }

  #arrive(decision: Taken<Tagged, Tagged>, at: number) {
    const changed = this.advance(decision, at)
    if (hasMoved(decision)) this.entered = this.sequence
    inspect(this, () => ({ _tag: "Decided", decision }))
    if (changed) this.tellState()
  }

  #settleIn({ decision, barrier }: AcceptedStep) {
    if (barrier) this.#blocked = false
    if (decision._tag === "Stop") this.end({ _tag: "Stopped", state: this.currentState, reason: decision.reason })
    else if (this.node.final) this.end({ _tag: "Final", state: this.currentState })
    else if (decision._tag === "Goto") {
      this.#supervisor = undefined
      this.#outage = undefined
      this.#reside()
    }
  }

  /** The journal says the instance stands elsewhere, and by which states it came there. Where only its data changed, its work goes on. */
  protected relocate({ state, past, entered, stopped }: Recovered, summary: InstanceSummary, passed: ReadonlyArray<Tagged> = [state]) {
    const left = entered > this.entered
    const closing = left ? this.#leaveState({ _tag: "(reload)" }) : undefined
    if (closing !== undefined) this.environment.run(closing)
    for (const one of passed) {
      this.currentState = one
      this.tellState()
    }
    this.place(state, past)
    this.entered = entered
    if (summary.status === "final") this.end({ _tag: "Final", state })
    else if (summary.status === "stopped") this.end({ _tag: "Stopped", state, reason: summary.reason ?? stopped ?? "it was stopped" })
    else if (!this.keeper.isClosed) this.#reside()
  }

  protected startWork() {
    this.#startBackground()
    this.#reside()
  }

  /** Hooks and requests of entering the first state. */
  beginWith(hooks: Taken<Tagged, Tagged>["hooks"]) {
    this.#startBackground()
    if (hooks.length === 0) return this.#reside()
    this.later(runHooks(this.living, hooks, "(start)"), (error) => {
      if (error !== undefined) report(this, error)
      this.#reside()
    })
  }

  #reside() {
    if (this.#residence !== undefined || !hasWork(this.node, this.currentState)) return
    const residence = new StateScope()
    this.#residence = residence
    startStateWork(this.living, this.node, residence, (cause, again) => this.#workFailed(cause, "spawn", residence, again))
  }

  #startBackground() {
    const works = this.compiled.declarations.backgrounds
    if (works.length === 0 || this.#background !== undefined) return
    const residence = new StateScope()
    this.#background = residence
    startBackground(this.living, works, residence, (cause, again) => this.#workFailed(cause, "background", residence, again))
  }

  #leaveState(event: Tagged): Effect.Effect<void> | undefined {
    const closing = this.#residence?.close(() => stale(this, event._tag))
    this.#residence = undefined
    return closing
  }

  /** Work died: it is started again as the machine says, or the instance leaves memory until somebody asks for it. */
  #workFailed(cause: Cause.Cause<unknown>, phase: "spawn" | "background", residence: StateScope, again: () => void) {
    if (this.ending !== undefined) return
    const error = actionFailed(this, phase, Cause.squash(cause), undefined)
    report(this, error)
    const fail = () => void this.end({ _tag: "Failed", state: this.currentState, error })
    if (isUndecided(error.cause)) {
      this.#outage ??= { schedule: this.keeper.outage, step: undefined }
      return restartLater(this.living, this.#outage, residence, error, again, fail)
    }
    const schedule = this.compiled.declarations.supervision
    if (schedule === undefined) return fail()
    this.#supervisor ??= { schedule, step: undefined }
    restartLater(this.living, this.#supervisor, residence, error, again, fail)
  }

  #closeAll(dropped: () => Result): Effect.Effect<void> | undefined {
    if (this.#residence === undefined && this.#background === undefined) return undefined
    const waits = [this.#residence?.close(dropped), this.#background?.close(dropped)].filter((wait) => wait !== undefined)
    this.#residence = undefined
    this.#background = undefined
    return waits.length === 0 ? undefined : Effect.all(waits, { discard: true })
  }

  /** Leaves memory without ending: the journal keeps it. */
  leave(reason: string): Effect.Effect<void> {
    return Effect.suspend(() => this.end({ _tag: "Stopped", state: this.currentState, reason }) ?? Effect.void)
  }

  protected end(ending: ActorEnd<Tagged>): Effect.Effect<void> | undefined {
    if (this.ending !== undefined) return undefined
    this.ending = ending
    const closing = this.#closeAll(() => stopped(this, ending))
    this.interruptUnderway()
    this.keeper.gone(this)
    inspect(this, () => ({ _tag: "Ended", ending }))
    this.tellEnd(ending)
    return closing
  }

  /** This instance as its work sees it. */
  protected abstract get living(): ActorPort

  /** Why it is not in memory any more, for those who still hold it. */
  endError(): SendError {
    return stopped(this, this.ending)
  }
}
