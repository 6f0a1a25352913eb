/** The actor behind the {@link Actor} interface: a state, and the order in which events change it. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type { ActorEnd } from "./Actor.ts"
import { ActorRecord } from "./ActorRecord.ts"
import { actionFailed, inspect, notAQuestion, refusal, report, stale, stopped } from "./ActorReport.ts"
import { execute } from "./CommandRun.ts"
import { decide } from "./Decide.ts"
import type { Beginning, Decision, Request, Taken, TimerRequest } from "./Decision.ts"
import type { Tagged } from "./Declarations.ts"
import { type HookError, limited, runHooks } from "./Hooks.ts"
import { eventProblem } from "./Machine.ts"
import { identified, type Phase, type SendError } from "./MachineError.ts"
import { asDecision, asVoid, Mailbox, Message, outcome, type Result } from "./Mailbox.ts"
import { Residence } from "./Residence.ts"
import { armTimers, startBackground, startStateWork } from "./StateWork.ts"
import { nextDelay, type Supervisor } from "./Supervision.ts"
import { eventLabel } from "./Timeout.ts"

/** So many events are handled before others in the process get their turn. */
const turnLimit = 2048

const none: ReadonlyArray<never> = Object.freeze([])

export class ActorCell extends ActorRecord {
  /** An event is being handled: others wait. */
  #busy = false
  #draining: (() => void) | boolean = false
  #mailbox: Mailbox | undefined = undefined
  #postponed: Array<Message> | undefined = undefined
  #residence: Residence | undefined = undefined
  /** The timers the state was entered with: a restart arms them with what is left of their time. */
  #timers: ReadonlyArray<TimerRequest> = none
  #background: Residence | undefined = undefined
  /** Effects of the actor's own doing that it waits for: hooks, effectful decisions, the pause before a restart. */
  #underway: Set<Fiber.Fiber<unknown, unknown>> | undefined = undefined
  #commands = 0
  #supervisor: Supervisor | undefined = undefined

  /** What follows the first state: hooks that take time, timers, work, requested commands. */
  begin(beginning: Beginning<Tagged, Tagged>) {
    if (this.isInspected) inspect(this, () => ({ _tag: "Started", state: this.currentState, through: beginning.through }))
    for (const state of beginning.through) this.remember(state)
    this.#startBackground()
    this.#busy = true
    const { requests, sends, timers } = beginning
    if (beginning.hooks.length === 0) this.#settleIn(requests, sends, timers)
    else {
      this.#later(runHooks(this, beginning.hooks, "(start)"), (error) => {
        if (error !== undefined) report(this, error)
        this.#settleIn(requests, sends, timers)
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
    if (this.ending !== undefined || (this.#draining !== false && !internal)) return refusal(this, event, stopped(this, this.ending))
    if (this.#busy) return this.#enqueue(event, internal)
    this.#busy = true
    const result = this.#accept(event, internal, undefined)
    this.#pump()
    return result
  }

  #enqueue(event: Tagged, internal: boolean): Message {
    const message = new Message(event, internal)
    this.#mailbox ??= new Mailbox()
    this.#mailbox.push(message)
    return message
  }

  /** Sends an event of the actor's own that nobody waits for: a refusal is reported, not lost. */
  sendInternal(event: Tagged, residence: Residence | undefined, timer: string | undefined) {
    const offered = this.offer(event, true)
    if (!(offered instanceof Message)) return this.#reportRefusal(offered)
    offered.observer = (result) => this.#reportRefusal(result)
    if (offered.result === undefined) residence?.queue(offered, timer)
  }

  #reportRefusal(result: Result) {
    if (result instanceof Error && result._tag !== "MachineStopped" && result._tag !== "TransitionRefused") report(this, result)
  }

  // Handling

  /** Handles what waits, unless something that takes time is under way. Called while busy. */
  #pump() {
    for (let handled = 0; this.#underway === undefined; handled++) {
      const message = this.ending === undefined ? this.#mailbox?.shift() : undefined
      if (message === undefined) {
        this.#busy = false
        return this.#checkDrained()
      }
      if (message.result !== undefined) continue
      if (handled < turnLimit) this.#accept(message.event, message.internal, message)
      else {
        this.#mailbox?.unshift([message])
        this.#later(Effect.yieldNow, () => undefined)
      }
    }
  }

  /** Goes on after an Effect; inline when it ends at once. */
  #later<A>(effect: Effect.Effect<A, never, unknown>, then: (value: A | undefined) => void) {
    const fiber = this.environment.run(effect)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return then(Exit.isSuccess(exit) ? exit.value : undefined)
    this.#underway ??= new Set()
    this.#underway.add(fiber)
    fiber.addObserver((exit) => {
      this.#underway?.delete(fiber)
      if (this.#underway?.size === 0) this.#underway = undefined
      then(Exit.isSuccess(exit) ? exit.value : undefined)
      this.#pump()
    })
  }

  #accept(event: Tagged, internal: boolean, message: Message | undefined): Result | Message {
    const problem = eventProblem(this.compiled, event)
    if (problem !== undefined) return conclude(message, refusal(this, event, identified(problem, this.id)))
    const at = this.environment.clock.currentTimeMillisUnsafe()
    return this.#follow(decide(this.compiled, this.currentState, event, at), internal, message, at)
  }

  #follow(decision: Decision<Tagged, Tagged>, internal: boolean, message: Message | undefined, at: number): Result | Message {
    switch (decision._tag) {
      case "Goto":
      case "Stay":
      case "Stop":
        return this.#carryOut(decision, internal, message, at)
      case "Refused":
        return conclude(message, refusal(this, decision.event, identified(decision.error, this.id)))
      case "Postponed": {
        const kept = message ?? new Message(decision.event, internal)
        this.#postponed ??= []
        this.#postponed.push(kept)
        inspect(this, () => ({ _tag: "Postponed", event: decision.event._tag }))
        return kept
      }
      case "Deferred": {
        const kept = message ?? new Message(decision.event, internal)
        this.#later(Effect.result(limited(this, decision.effect, eventLabel(decision.event))), (settled) => {
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
      this.#arrive(decision, at)
      message?.complete(decision)
      this.#settle(decision)
      return decision
    }
    const kept = message ?? new Message(decision.event, internal)
    if (kept.internal) kept.complete(decision)
    this.#later(this.#transit(decision, closing, at), (error) => {
      if (this.ending !== undefined) return kept.complete(stopped(this, this.ending))
      if (error !== undefined && kept.internal) report(this, error)
      else if (error?._tag === "ActionFailed") inspect(this, () => ({ _tag: "ActionFailed", error }))
      kept.complete(error ?? decision)
      this.#settle(decision)
    })
    return kept
  }

  #leave(event: Tagged): Effect.Effect<void> | undefined {
    const closing = this.#residence?.close(() => stale(this, eventLabel(event)))
    this.#residence = undefined
    return closing
  }

  /** The way from one state to the next where it takes time. */
  #transit(
    decision: Taken<Tagged, Tagged>,
    closing: Effect.Effect<void> | undefined,
    at: number,
  ): Effect.Effect<HookError | undefined, never, unknown> {
    const label = eventLabel(decision.event)
    const hooks = (phase: "enter" | "exit") =>
      runHooks(
        this,
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

  /** Replaces the state and tells those who listen. */
  #arrive(decision: Taken<Tagged, Tagged>, at: number) {
    const changed = this.advance(decision, at)
    if (this.isInspected) inspect(this, () => ({ _tag: "Decided", decision }))
    if (changed) this.tellState()
  }

  /** Timers, work and requested commands of where the decision led. */
  #settle(decision: Taken<Tagged, Tagged>) {
    if (decision._tag === "Stay") {
      if (decision.timers.length > 0 && this.#residence !== undefined) armTimers(this, decision.timers, this.#residence, 0)
      this.#execute(decision.requests)
      this.#sendSelf(decision.sends)
    } else if (decision._tag === "Stop") {
      this.#execute(decision.requests)
      this.#end({ _tag: "Stopped", state: this.currentState, reason: decision.reason })
    } else this.#settleIn(decision.requests, decision.sends, decision.timers)
  }

  #settleIn(requests: ReadonlyArray<Request>, sends: ReadonlyArray<Tagged>, timers: ReadonlyArray<TimerRequest>) {
    this.#execute(requests)
    if (this.node.final) {
      this.#end({ _tag: "Final", state: this.currentState })
      return
    }
    if (this.#postponed !== undefined) {
      this.#mailbox ??= new Mailbox()
      this.#mailbox.unshift(this.#postponed)
      this.#postponed = undefined
    }
    this.#sendSelf(sends)
    if (this.node.resident) this.#reside(timers, 0)
  }

  #sendSelf(events: ReadonlyArray<Tagged>) {
    if (events.length === 0) return
    const messages = events.map((event) => new Message(event, true))
    for (const message of messages) message.observer = (result) => this.#reportRefusal(result)
    this.#mailbox ??= new Mailbox()
    this.#mailbox.unshift(messages)
  }

  /** Starts timers and work of the current state, which has lasted for `elapsed` milliseconds already. */
  #reside(timers: ReadonlyArray<TimerRequest>, elapsed: number) {
    const residence = new Residence()
    this.#residence = residence
    this.#timers = timers
    armTimers(this, timers, residence, elapsed)
    startStateWork(this, this.node, residence, (cause) => this.#workFailed(cause, "spawn"))
  }

  #startBackground() {
    const works = this.compiled.declarations.backgrounds
    if (works.length === 0) return
    this.#background = new Residence()
    startBackground(this, works, this.#background, (cause) => this.#workFailed(cause, "background"))
  }

  #execute(requests: ReadonlyArray<Request>) {
    for (const request of requests) {
      this.#commands++
      execute(this, request, () => {
        this.#commands--
        this.#checkDrained()
      })
    }
  }

  // Failing and ending

  /** Work of the actor died: it is restarted as its machine says, or it ends. Events wait meanwhile. */
  #workFailed(cause: Cause.Cause<unknown>, phase: Phase) {
    if (this.ending !== undefined) return
    const error = actionFailed(this, phase, Cause.squash(cause), undefined)
    report(this, error)
    const schedule = this.compiled.declarations.supervision
    if (schedule === undefined) {
      this.#end({ _tag: "Failed", state: this.currentState, error })
      return
    }
    this.#supervisor ??= { schedule, step: undefined }
    const pause = this.#pauseBeforeRestart(this.#supervisor, error, this.#closeAll())
    this.#busy = true
    this.#later(pause, (restarts) => {
      if (this.ending !== undefined) return
      if (restarts !== true) {
        this.#end({ _tag: "Failed", state: this.currentState, error })
        return
      }
      if (this.#background === undefined) this.#startBackground()
      const elapsed = this.environment.clock.currentTimeMillisUnsafe() - this.lastTransitionAt
      if (this.#residence === undefined && this.node.resident) this.#reside(this.#timers, elapsed)
    })
  }

  #pauseBeforeRestart(supervisor: Supervisor, error: ReturnType<typeof actionFailed>, closing: Effect.Effect<void> | undefined) {
    return Effect.gen({ self: this }, function* () {
      if (closing !== undefined) yield* closing
      const delay = yield* nextDelay(supervisor, error)
      if (delay === undefined) return false
      inspect(this, () => ({ _tag: "Restarting", error, delay }))
      yield* Effect.sleep(delay)
      return true
    })
  }

  /** Ends state and background work; returns what is left to wait for. */
  #closeAll(): Effect.Effect<void> | undefined {
    if (this.#residence === undefined && this.#background === undefined) return undefined
    const dropped = () => stopped(this, this.ending)
    const waits = [this.#residence?.close(dropped), this.#background?.close(dropped)].filter((wait) => wait !== undefined)
    this.#residence = undefined
    this.#background = undefined
    return waits.length === 0 ? undefined : Effect.all(waits, { discard: true })
  }

  #end(ending: ActorEnd<Tagged>): Effect.Effect<void> | undefined {
    if (this.ending !== undefined) return undefined
    this.ending = ending
    const closing = this.#closeAll()
    this.host.remove(this)
    for (const fiber of this.#underway ?? none) fiber.interruptUnsafe()
    for (const message of this.#postponed ?? none) message.complete(refusal(this, message.event, stopped(this, ending)))
    for (const message of this.#mailbox?.takeAll() ?? none) message.complete(refusal(this, message.event, stopped(this, ending)))
    this.#postponed = undefined
    if (this.isInspected) inspect(this, () => ({ _tag: "Ended", ending }))
    this.tellEnd(ending)
    return closing
  }

  stop(reason = "it was stopped"): Effect.Effect<void> {
    return Effect.suspend(() => this.#end({ _tag: "Stopped", state: this.currentState, reason }) ?? Effect.void)
  }

  get drain(): Effect.Effect<void> {
    return Effect.andThen(
      Effect.callback<void>((resume) => {
        this.#draining = () => resume(Effect.void)
        this.#checkDrained()
      }),
      this.stop("it was drained"),
    )
  }

  #checkDrained() {
    if (typeof this.#draining !== "function" || this.#busy || this.#commands > 0) return
    this.#draining()
    this.#draining = true
  }
}

const conclude = (message: Message | undefined, result: Result): Result => {
  message?.complete(result)
  return result
}
