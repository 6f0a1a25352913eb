/** The actor behind the {@link Actor} interface: a state, and the order in which events change it. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { decide } from "../decide/Decide.ts"
import type { Beginning, Decision, Request, Taken, TimerRequest } from "../decide/Decision.ts"
import { eventLabel } from "../decide/Timeout.ts"
import type { Tagged } from "../define/Declarations.ts"
import { eventProblem } from "../define/Machine.ts"
import { commandKey } from "../effects/Command.ts"
import { execute } from "../effects/CommandRun.ts"
import { identified, type Phase, type SendError } from "../MachineError.ts"
import type { ActorEnd } from "./Actor.ts"
import { actionFailed, inspect, notAQuestion, refusal, report, stale, stopped } from "./ActorReport.ts"
import { type HookError, limited, limitedWait, runHooks } from "./Hooks.ts"
import { asDecision, asVoid, Mailbox, Message, outcome, type Result } from "./Mailbox.ts"
import { StateScope } from "./StateScope.ts"
import { armTimers, restartLater, startBackground, startStateWork } from "./StateWork.ts"
import type { Supervisor } from "./Supervision.ts"
import { WaitingActor } from "./WaitingActor.ts"

/** So many events are handled before others in the process get their turn. */
const turnLimit = 2048

const none: ReadonlyArray<never> = Object.freeze([])

export class LocalActor extends WaitingActor {
  /** An event is being handled: others wait. */
  #busy = false
  /** Those who wait for the actor to drain; while there are any, it takes no events from outside. */
  #drainers: Set<() => void> | undefined = undefined
  #mailbox: Mailbox | undefined = undefined
  #postponed: Array<Message> | undefined = undefined
  #residence: StateScope | undefined = undefined
  #background: StateScope | undefined = undefined
  #commands = 0
  #supervisor: Supervisor | undefined = undefined
  /** The end of work that took time to end. */
  #closing: Fiber.Fiber<void> | undefined = undefined

  /** What follows the first state: hooks that take time, timers, work, requested commands. */
  begin(beginning: Beginning<Tagged, Tagged>) {
    this.#busy = true
    if (this.isInspected) inspect(this, () => ({ _tag: "Started", state: this.currentState, through: beginning.through }))
    for (const state of beginning.through) this.remember(state)
    this.#startBackground()
    if (beginning.hooks.length === 0) this.#settleIn(beginning, false)
    else {
      this.later(runHooks(this, beginning.hooks, "(start)"), (error) => {
        if (error !== undefined) report(this, error)
        this.#settleIn(beginning, false)
      })
    }
    this.#pump()
  }

  // Sending

  send(event: Tagged): Effect.Effect<void, SendError> {
    return Effect.suspend(() => outcome(this.offer(event, false), asVoid))
  }

  sendUnsafe(event: Tagged): Exit.Exit<void, SendError> | undefined {
    const offered = this.offer(event, false)
    const result = offered instanceof Message ? offered.result : offered
    return result === undefined ? undefined : asVoid(result)
  }

  call(event: Tagged): Effect.Effect<Taken<Tagged, Tagged>, SendError> {
    return Effect.suspend(() => outcome(this.offer(event, false), asDecision))
  }

  ask(event: Tagged): Effect.Effect<unknown, SendError> {
    const schema = this.compiled.declarations.event.$variants.get(event?._tag)?.reply
    if (schema === undefined && this.compiled.events.has(event?._tag)) return Effect.fail(refusal(this, event, notAQuestion(this, event)))
    return Effect.flatMap(this.call(event), ({ answer }) => {
      if (schema !== undefined && Schema.is(schema)(answer)) return Effect.succeed(answer)
      return Effect.fail(actionFailed(this, "decide", new Error(`the answer to ${event._tag} does not fit its schema`), event))
    })
  }

  /** Hands the actor an event: it is handled now, or kept as a message. */
  offer(event: Tagged, internal: boolean): Result | Message {
    return this.#offer(event, internal, false)
  }

  #offer(event: Tagged, internal: boolean, isTimer: boolean): Result | Message {
    if (this.ending !== undefined || (this.#drainers !== undefined && !internal)) return refusal(this, event, stopped(this, this.ending))
    if (this.#busy) return this.#enqueue(event, internal, isTimer)
    this.#busy = true
    const result = this.#accept(event, internal, isTimer, undefined)
    this.#pump()
    return result
  }

  #enqueue(event: Tagged, internal: boolean, isTimer: boolean): Message {
    const message = new Message(event, internal, isTimer)
    this.#mailbox ??= new Mailbox()
    this.#mailbox.push(message)
    return message
  }

  /** Sends an event of the actor's own that nobody waits for: a refusal is reported, not lost. */
  sendInternal(event: Tagged, residence: StateScope | undefined, timer: string | undefined) {
    const offered = this.#offer(event, true, timer !== undefined)
    if (!(offered instanceof Message)) return this.#reportRefusal(offered)
    if (offered.result !== undefined) return this.#reportRefusal(offered.result)
    offered.observer = (result) => this.#reportRefusal(result)
    residence?.queue(offered, timer)
  }

  #reportRefusal(result: Result) {
    if (result instanceof Error && result._tag !== "MachineStopped" && result._tag !== "TransitionRefused") report(this, result)
  }

  // Handling

  protected goOn() {
    this.#pump()
  }

  /** Handles what waits, unless something that takes time is under way. Called while busy. */
  #pump() {
    for (let handled = 0; !this.isWaiting; handled++) {
      const message = this.ending === undefined ? this.#mailbox?.shift() : undefined
      if (message === undefined) {
        this.#busy = false
        return this.#checkDrained()
      }
      if (message.result !== undefined) continue
      if (handled < turnLimit) this.#accept(message.event, message.internal, message.isTimer, message)
      else {
        this.#mailbox?.unshift([message])
        this.later(Effect.yieldNow, () => undefined)
      }
    }
  }

  #accept(event: Tagged, internal: boolean, isTimer: boolean, message: Message | undefined): Result | Message {
    try {
      const problem = isTimer ? undefined : eventProblem(this.compiled, event)
      if (problem !== undefined) return conclude(message, refusal(this, event, identified(problem, this.id)))
      const at = this.environment.clock.currentTimeMillisUnsafe()
      return this.#follow(decide(this.compiled, this.currentState, event, at), internal, message, at)
    } catch (cause) {
      // A check or a getter of the event itself threw: nothing was decided.
      return conclude(message, refusal(this, event, actionFailed(this, "decide", cause, undefined, false)))
    }
  }

  #follow(decision: Decision<Tagged, Tagged>, internal: boolean, message: Message | undefined, at: number): Result | Message {
    // A decision may have ended the very actor it was made for.
    if (this.ending !== undefined) return conclude(message, refusal(this, decision.event, stopped(this, this.ending)))
    switch (decision._tag) {
      case "Goto":
      case "Stay":
      case "Stop":
        return this.#carryOut(decision, internal, message, at)
      case "Refused":
        return conclude(message, refusal(this, decision.event, identified(decision.error, this.id)))
      case "Postponed": {
        const kept = message ?? new Message(decision.event, internal, false)
        this.#postponed ??= []
        this.#postponed.push(kept)
        inspect(this, () => ({ _tag: "Postponed", event: decision.event._tag }))
        return kept
      }
      case "Deferred": {
        const kept = message ?? new Message(decision.event, internal, false)
        this.later(Effect.result(limited(this, decision.effect, eventLabel(decision.event))), (settled) => {
          if (this.ending !== undefined || settled === undefined) return kept.complete(stopped(this, this.ending))
          if (settled._tag === "Success") this.#follow(settled.success, internal, kept, at)
          else conclude(kept, refusal(this, decision.event, settled.failure))
        })
        return kept
      }
    }
  }

  /** Decide, commit, exit, new state, enter, timers, spawn. The decision is made, and in memory there is no commit. */
  #carryOut(decision: Taken<Tagged, Tagged>, internal: boolean, message: Message | undefined, at: number): Result | Message {
    const closing = decision._tag === "Stay" || this.#residence === undefined ? undefined : this.#leave(decision.event)
    if (closing === undefined && decision.hooks.length === 0) {
      const changed = this.advance(decision, at)
      if (this.isInspected) inspect(this, () => ({ _tag: "Decided", decision }))
      // Whoever is told may do anything at once, so they are told when all is in place.
      this.#settle(decision, changed)
      message?.complete(decision)
      return decision
    }
    const kept = message ?? new Message(decision.event, internal, false)
    if (kept.internal) kept.complete(decision)
    this.later(this.#transit(decision, closing, at), (error) => {
      if (this.ending !== undefined) return kept.complete(stopped(this, this.ending))
      if (error !== undefined && kept.internal) report(this, error)
      else if (error?._tag === "ActionFailed") inspect(this, () => ({ _tag: "ActionFailed", error }))
      this.#settle(decision, false)
      kept.complete(error ?? decision)
    })
    return kept
  }

  #leave(event: Tagged): Effect.Effect<void> | undefined {
    const closing = this.#residence?.close(() => stale(this, eventLabel(event)))
    this.#residence = undefined
    return closing
  }

  /** The way from one state to the next where it takes time. The new state can be seen once the old one is left. */
  #transit(
    decision: Taken<Tagged, Tagged>,
    closing: Effect.Effect<void> | undefined,
    at: number,
  ): Effect.Effect<HookError | undefined, never, unknown> {
    const label = eventLabel(decision.event)
    const firstEnter = decision.hooks.findIndex((hook) => hook.phase === "enter")
    const leaving = firstEnter < 0 ? decision.hooks : decision.hooks.slice(0, firstEnter)
    const entering = firstEnter < 0 ? none : decision.hooks.slice(firstEnter)
    return Effect.gen({ self: this }, function* () {
      const closeError = closing === undefined ? undefined : yield* limitedWait(this, closing, label)
      const exitError = yield* runHooks(this, leaving, label)
      const changed = this.advance(decision, at)
      if (this.isInspected) inspect(this, () => ({ _tag: "Decided", decision }))
      if (changed) this.tellState()
      const enterError = this.ending === undefined ? yield* runHooks(this, entering, label) : undefined
      return closeError ?? exitError ?? enterError
    })
  }

  /** Timers, work and requested commands of where the decision led. */
  #settle(decision: Taken<Tagged, Tagged>, tells: boolean) {
    if (decision._tag === "Goto") {
      this.#supervisor = undefined
      return this.#settleIn(decision, tells)
    }
    this.#execute(decision.requests)
    if (decision._tag === "Stop") {
      this.#end({ _tag: "Stopped", state: this.currentState, reason: decision.reason }, tells)
      return
    }
    if (decision.timers.length > 0 && this.#residence !== undefined) armTimers(this, decision.timers, this.#residence)
    this.#sendSelf(decision.sends)
    if (tells) this.tellState()
  }

  #settleIn(
    decision: {
      readonly requests: ReadonlyArray<Request>
      readonly sends: ReadonlyArray<Tagged>
      readonly timers: ReadonlyArray<TimerRequest>
    },
    tells: boolean,
  ) {
    if (this.ending !== undefined) return
    this.#execute(decision.requests)
    if (this.node.final) {
      this.#end({ _tag: "Final", state: this.currentState }, tells)
      return
    }
    if (this.#postponed !== undefined) {
      this.#mailbox ??= new Mailbox()
      this.#mailbox.unshift(this.#postponed)
      this.#postponed = undefined
    }
    this.#sendSelf(decision.sends)
    if (this.node.resident) this.#reside(decision.timers)
    if (tells) this.tellState()
  }

  #sendSelf(events: ReadonlyArray<Tagged>) {
    if (events.length === 0) return
    const messages = events.map((event) => new Message(event, true, false))
    for (const message of messages) message.observer = (result) => this.#reportRefusal(result)
    this.#mailbox ??= new Mailbox()
    this.#mailbox.unshift(messages)
  }

  /** Starts timers and work of the current state. */
  #reside(timers: ReadonlyArray<TimerRequest>) {
    const residence = new StateScope()
    this.#residence = residence
    armTimers(this, timers, residence)
    startStateWork(this, this.node, residence, (cause, again) => this.#workFailed(cause, "spawn", residence, again))
  }

  #startBackground() {
    const works = this.compiled.declarations.backgrounds
    if (works.length === 0) return
    const residence = new StateScope()
    this.#background = residence
    startBackground(this, works, residence, (cause, again) => this.#workFailed(cause, "background", residence, again))
  }

  #execute(requests: ReadonlyArray<Request>) {
    for (const [index, request] of requests.entries()) {
      this.#commands++
      // The same id may live again later, with the same numbers.
      execute(this, request, commandKey(this.machine, `${this.id}@${this.startedAt}`, this.sequence, index), () => {
        this.#commands--
        this.#checkDrained()
      })
    }
  }

  // Failing and ending

  /** Work of the actor died: it is started again as the machine says, or the actor ends. */
  #workFailed(cause: Cause.Cause<unknown>, phase: Phase, residence: StateScope, again: () => void) {
    if (this.ending !== undefined) return
    const error = actionFailed(this, phase, Cause.squash(cause), undefined, true)
    report(this, error)
    const fail = () => void this.#end({ _tag: "Failed", state: this.currentState, error }, false)
    const schedule = this.compiled.declarations.supervision
    if (schedule === undefined) return fail()
    this.#supervisor ??= { schedule, step: undefined }
    restartLater(this, this.#supervisor, residence, error, again, fail)
  }

  #end(ending: ActorEnd<Tagged>, tells: boolean) {
    if (this.ending !== undefined) return
    this.ending = ending
    this.#closeAll()
    this.host.remove(this)
    this.interruptUnderway()
    for (const message of this.#postponed ?? none) message.complete(refusal(this, message.event, stopped(this, ending)))
    for (const message of this.#mailbox?.takeAll() ?? none) message.complete(refusal(this, message.event, stopped(this, ending)))
    this.#postponed = undefined
    if (tells) this.tellState()
    if (this.isInspected) inspect(this, () => ({ _tag: "Ended", ending }))
    this.tellEnd(ending)
    this.#checkDrained()
  }

  /** Ends state and background work. What takes time to end is waited for by `stop`, and by the system when it closes. */
  #closeAll() {
    if (this.#residence === undefined && this.#background === undefined) return
    const dropped = () => stopped(this, this.ending)
    const waits = [this.#residence?.close(dropped), this.#background?.close(dropped)].filter((wait) => wait !== undefined)
    this.#residence = undefined
    this.#background = undefined
    if (waits.length === 0) return
    this.#closing = this.environment.run(Effect.all(waits, { discard: true, concurrency: "unbounded" }))
    this.host.awaits(this.#closing)
  }

  stop(reason = "it was stopped"): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#end({ _tag: "Stopped", state: this.currentState, reason }, false)
      return this.#closing === undefined ? Effect.void : Effect.asVoid(Fiber.await(this.#closing))
    })
  }

  get drain(): Effect.Effect<void> {
    const drained = Effect.callback<void>((resume) => {
      const drainer = () => resume(Effect.void)
      this.#drainers ??= new Set()
      this.#drainers.add(drainer)
      this.#checkDrained()
      // Whoever gives up waiting leaves the actor as it was, unless others still wait.
      return Effect.sync(() => {
        this.#drainers?.delete(drainer)
        if (this.#drainers?.size === 0) this.#drainers = undefined
      })
    })
    return Effect.andThen(drained, this.stop("it was drained"))
  }

  #checkDrained() {
    if (this.#drainers === undefined || (this.isRunning && (this.#busy || this.#commands > 0))) return
    for (const drainer of [...this.#drainers]) drainer()
  }
}

const conclude = (message: Message | undefined, result: Result): Result => {
  message?.complete(result)
  return result
}
