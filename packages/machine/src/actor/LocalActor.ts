/** The actor behind the {@link Actor} interface: a machine in memory, and the order in which events change its state. */

import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { ActorEnd, Snapshot } from "../contract/Actor.ts"
import { decide } from "../decide/Decide.ts"
import type { Beginning, Decision, Deferred, DelayRequest, Request, Taken, TimerRequest } from "../decision/Decision.ts"
import { eventLabel } from "../decision/Timeout.ts"
import type { Compiled } from "../define/Compile.ts"
import type { Tagged } from "../define/Declarations.ts"
import { commandKey } from "../effects/Command.ts"
import { type ActionFailed, EndlessTransition, identified, type MachineStopped, type SendError, tagOf } from "../error/MachineError.ts"
import { eventProblem } from "../Machine.ts"
import { asSchema } from "../schema/EffectSchema.ts"
import { actionFailed, inspect, notAQuestion, overloaded, refusal, report, reportRefusal, waitsForItself } from "./ActorReport.ts"
import { ActorState, stopped } from "./ActorState.ts"
import { execute } from "./CommandRun.ts"
import type { Environment, Host } from "./Host.ts"
import {
  asDecision,
  asVoid,
  type Chain,
  chainLimit,
  extendChain,
  isMessage,
  Mailbox,
  type Message,
  mailboxLimit,
  outcome,
  type Result,
} from "./Mailbox.ts"
import { queryAtEnd } from "./Query.ts"
import { isHandling, keptGroups, type RuntimeOwner, StateRuntime } from "./StateRuntime.ts"
import type { StateScope } from "./StateScope.ts"

/** Yields to the event loop after this many events. */
const turnLimit = 2048

const none: ReadonlyArray<never> = Object.freeze([])

/** An event that could not be handled immediately. */
class QueuedEvent implements Message {
  readonly event: Tagged
  readonly internal: boolean
  /** Sent by a timer of the actor. Callers cannot send timer events. */
  readonly isTimer: boolean
  /** The self-sent events that led to this one. Undefined for an event that a caller, work or a timer sent. */
  readonly chain: Chain | undefined
  result: Result | undefined
  observer: ((result: Result) => void) | undefined
  tracker: (() => void) | undefined

  constructor(event: Tagged, internal: boolean, isTimer: boolean, chain?: Chain) {
    this.event = event
    this.internal = internal
    this.isTimer = isTimer
    this.chain = chain
  }

  complete(result: Result) {
    if (this.result !== undefined) return
    this.result = result
    this.tracker?.()
    this.observer?.(result)
  }
}

export class LocalActor implements RuntimeOwner {
  readonly record: ActorState
  /** An event is being handled: others wait in the mailbox. */
  #busy = false
  /** Callers that wait for the actor to drain. While there are any, it takes no events from outside. */
  #drainers: Set<() => void> | undefined = undefined
  #mailbox: Mailbox<QueuedEvent> | undefined = undefined
  #postponed: Array<QueuedEvent> | undefined = undefined
  /** Created for the first hook, work, timer or effectful decision: most actors need none. */
  #runtime: StateRuntime | undefined = undefined
  #commands = 0
  /** The fiber that waits for the end of the actor's work. */
  #closing: Fiber.Fiber<void> | undefined = undefined

  constructor(id: string, compiled: Compiled, host: Host, environment: Environment, state: Tagged, at: number) {
    this.record = new ActorState(id, compiled, host, environment, state, at)
  }

  /** Enters the first state: runs its asynchronous hooks, then starts its timers, work and commands. */
  begin(beginning: Beginning<Tagged, Tagged>) {
    const { record } = this
    this.#busy = true
    if (record.isInspected) inspect(record, () => ({ _tag: "Started", state: record.currentState, through: beginning.through }))
    for (const state of beginning.through) record.remember(state)
    if (record.compiled.declarations.backgrounds.length > 0) this.#runtimeOf().startBackground()
    if (beginning.hooks.length === 0) this.#settleIn(beginning, undefined, false)
    else {
      const runtime = this.#runtimeOf()
      runtime.awaiting(runtime.hooks(beginning.hooks, "(start)"), (error) => {
        if (error !== undefined) report(record, error)
        this.#settleIn(beginning, undefined, false)
      })
    }
    this.#pump()
  }

  #runtimeOf(): StateRuntime {
    this.#runtime ??= new StateRuntime(this)
    return this.#runtime
  }

  // The public interface

  get id(): string {
    return this.record.id
  }

  get machine(): string {
    return this.record.machine
  }

  get state(): Effect.Effect<Tagged> {
    return Effect.sync(() => this.record.currentState)
  }

  get snapshot(): Effect.Effect<Snapshot<Tagged>> {
    return Effect.sync(() => this.record.snapshot())
  }

  snapshotUnsafe(): Snapshot<Tagged> {
    return this.record.snapshot()
  }

  get history(): Effect.Effect<ReadonlyArray<Tagged>> {
    return Effect.sync(() => this.record.snapshot().history)
  }

  get changes(): Stream.Stream<Tagged> {
    return this.record.changes
  }

  subscribe(listener: (state: Tagged) => void): () => void {
    return this.record.listen({ next: listener, end: () => undefined })
  }

  waitFor(predicate: (state: Tagged) => boolean): Effect.Effect<Tagged, MachineStopped> {
    return this.record.waitFor(predicate)
  }

  get awaitFinal(): Effect.Effect<Tagged, MachineStopped> {
    return this.record.awaitFinal
  }

  get watch(): Effect.Effect<ActorEnd<Tagged>> {
    return this.record.watch
  }

  // Sending

  send(event: Tagged): Effect.Effect<void, SendError> {
    return this.#sending(event, asVoid)
  }

  sendUnsafe(event: Tagged): Exit.Exit<void, SendError> | undefined {
    const offered = this.offer(event, false)
    const result = offered instanceof QueuedEvent ? offered.result : (offered as Result)
    return result === undefined ? undefined : asVoid(result)
  }

  call(event: Tagged): Effect.Effect<Taken<Tagged, Tagged>, SendError> {
    return this.#sending(event, asDecision)
  }

  #sending<A>(event: Tagged, read: (result: Result) => Exit.Exit<A, SendError>): Effect.Effect<A, SendError> {
    return Effect.withFiber((fiber) => {
      if (this.#busy && isHandling(fiber, this.record)) return Effect.fail(waitsForItself(this.record, event))
      return outcome(this.offer(event, false), read)
    })
  }

  ask(event: Tagged): Effect.Effect<unknown, SendError> {
    const { record } = this
    const tag = tagOf(event) ?? ""
    const schema = record.compiled.declarations.event.$variants.get(tag)?.reply
    if (schema === undefined && record.compiled.events.has(tag)) {
      return Effect.fail(refusal(record, event, notAQuestion(record, event)))
    }
    return Effect.flatMap(this.call(event), ({ answer }) => {
      if (schema !== undefined && Schema.is(asSchema(schema))(answer)) return Effect.succeed(answer)
      return Effect.fail(actionFailed(record, "decide", new Error(`the answer to ${event._tag} does not fit its schema`), event))
    })
  }

  /** Delivers an event: it is handled now, or kept as a message. */
  offer(event: Tagged, internal: boolean): Result | Message {
    const read = this.record.compiled.declarations.readEvent
    return this.#offer(read === undefined ? event : read(event), internal, false)
  }

  #offer(event: Tagged, internal: boolean, isTimer: boolean): Result | Message {
    const { record } = this
    if (record.ending !== undefined || (this.#drainers !== undefined && !internal)) {
      return queryAtEnd(record, event) ?? refusal(record, event, stopped(record, record.ending))
    }
    if (this.#busy) return this.#enqueue(event, internal, isTimer)
    this.#busy = true
    const result = this.#accept(event, internal, isTimer, undefined)
    this.#pump()
    return result
  }

  #enqueue(event: Tagged, internal: boolean, isTimer: boolean): Result | Message {
    this.#mailbox ??= new Mailbox()
    if (this.#mailbox.size >= mailboxLimit && !internal) return refusal(this.record, event, overloaded(this.record, this.#mailbox.size))
    const message = new QueuedEvent(event, internal, isTimer)
    this.#mailbox.push(message)
    return message
  }

  sendInternal(event: Tagged, scope: StateScope | undefined, timer: string | undefined) {
    const offered = this.#offer(event, true, timer !== undefined)
    if (!isMessage(offered)) return reportRefusal(this.record, offered)
    if (offered.result !== undefined) return reportRefusal(this.record, offered.result)
    offered.observer = (refused) => reportRefusal(this.record, refused)
    scope?.queue(offered, timer)
  }

  // Handling

  resumed() {
    this.#pump()
  }

  get #isAwaiting(): boolean {
    return this.#runtime?.isAwaiting === true
  }

  /** Handles waiting events until an awaited Effect is running. Called while busy. */
  #pump() {
    for (let handled = 0; !this.#isAwaiting; handled++) {
      const message = this.record.ending === undefined ? this.#mailbox?.shift() : undefined
      if (message === undefined) {
        this.#busy = false
        return this.#checkDrained()
      }
      if (message.result !== undefined) continue
      if (handled < turnLimit) this.#accept(message.event, message.internal, message.isTimer, message)
      else {
        this.#mailbox?.unshift([message])
        this.#runtimeOf().awaiting(Effect.yieldNow, () => undefined)
      }
    }
  }

  #accept(event: Tagged, internal: boolean, isTimer: boolean, message: QueuedEvent | undefined): Result | Message {
    const { record } = this
    try {
      const problem = isTimer ? undefined : eventProblem(record.compiled, event)
      if (problem !== undefined) return conclude(message, refusal(record, event, identified(problem, record.id)))
      const at = record.environment.clock.currentTimeMillisUnsafe()
      return this.#follow(decide(record.compiled, record.currentState, event, at), internal, message, at)
    } catch (cause) {
      // A check or a getter of the event itself threw: nothing was decided.
      return conclude(message, refusal(record, event, actionFailed(record, "decide", cause, undefined, false)))
    }
  }

  #follow(decision: Decision<Tagged, Tagged>, internal: boolean, message: QueuedEvent | undefined, at: number): Result | Message {
    const { record } = this
    // A decision may have ended its own actor.
    if (record.ending !== undefined) return conclude(message, refusal(record, decision.event, stopped(record, record.ending)))
    switch (decision._tag) {
      case "Goto":
      case "Stay":
      case "Stop":
        return this.#carryOut(decision, internal, message, at)
      case "Refused":
        return conclude(message, refusal(record, decision.event, identified(decision.error, record.id)))
      case "Postponed":
        return this.#postpone(message ?? new QueuedEvent(decision.event, internal, false))
      case "Deferred":
        return this.#awaitDecision(decision, message ?? new QueuedEvent(decision.event, internal, false), at)
    }
  }

  #postpone(kept: QueuedEvent): Result | Message {
    const { record } = this
    this.#postponed ??= []
    if (this.#postponed.length >= mailboxLimit) {
      return conclude(kept, refusal(record, kept.event, overloaded(record, this.#postponed.length)))
    }
    this.#postponed.push(kept)
    inspect(record, () => ({ _tag: "Postponed", event: kept.event._tag }))
    return kept
  }

  #awaitDecision({ effect, event }: Deferred<Tagged, Tagged>, kept: QueuedEvent, at: number): Message {
    const { record } = this
    const runtime = this.#runtimeOf()
    runtime.awaiting(Effect.result(runtime.limited(effect, eventLabel(event))), (settled) => {
      if (record.ending !== undefined || settled === undefined) return kept.complete(stopped(record, record.ending))
      if (settled._tag === "Success") this.#follow(settled.success, kept.internal, kept, at)
      else conclude(kept, refusal(record, event, settled.failure))
    })
    return kept
  }

  /** The steps after a decision: exit, new state, enter, timers, spawn. An actor in memory has no commit. */
  #carryOut(decision: Taken<Tagged, Tagged>, internal: boolean, message: QueuedEvent | undefined, at: number): Result | Message {
    const { record } = this
    const chain = decision.sends.length === 0 ? undefined : extendChain(message?.chain, eventLabel(decision.event))
    const isEndless = chain !== undefined && (chain.length > chainLimit || this.#raised + decision.sends.length > mailboxLimit)
    if (isEndless) {
      return conclude(message, refusal(record, decision.event, endlessChain(record, decision, chain)))
    }
    // Leaving a state drops the queued events of its work, but not the event being handled.
    message?.tracker?.()
    const closing = decision._tag === "Stay" ? undefined : this.#runtime?.leave(decision.event, keptGroups(record.compiled, decision))
    if (closing === undefined && decision.hooks.length === 0) {
      const changed = record.advance(decision, at)
      if (record.isInspected) inspect(record, () => ({ _tag: "Decided", decision }))
      // A listener may call the actor, so it is notified when the transition is complete.
      this.#settle(decision, chain, changed)
      message?.complete(decision)
      return decision
    }
    return this.#transit(decision, closing, chain, message ?? new QueuedEvent(decision.event, internal, false), at)
  }

  /** The same steps where hooks, or the end of the left state's work, are asynchronous. */
  #transit(
    decision: Taken<Tagged, Tagged>,
    closing: Effect.Effect<void> | undefined,
    chain: Chain | undefined,
    kept: QueuedEvent,
    at: number,
  ): Message {
    const { record } = this
    if (kept.internal) kept.complete(decision)
    const arrive = () => {
      const changed = record.advance(decision, at)
      if (record.isInspected) inspect(record, () => ({ _tag: "Decided", decision }))
      if (changed) record.notifyState()
    }
    const runtime = this.#runtimeOf()
    runtime.awaiting(runtime.transit(decision, closing, arrive), (error) => {
      if (record.ending !== undefined) return kept.complete(stopped(record, record.ending))
      if (error !== undefined && kept.internal) report(record, error)
      else if (error?._tag === "ActionFailed") inspect(record, () => ({ _tag: "ActionFailed", error }))
      this.#settle(decision, chain, false)
      kept.complete(error ?? decision)
    })
    return kept
  }

  /** Timers, work and requested commands of the state that the decision led to. */
  #settle(decision: Taken<Tagged, Tagged>, chain: Chain | undefined, notifies: boolean) {
    if (decision._tag === "Goto") {
      this.#runtime?.forgetFailures()
      return this.#settleIn(decision, chain, notifies)
    }
    if (decision.requests.length > 0) this.#execute(decision.requests)
    if (decision._tag === "Stop") {
      this.#end({ _tag: "Stopped", state: this.record.currentState, reason: decision.reason }, notifies)
      return
    }
    if (decision.timers.length > 0 && this.#runtime?.hasScope === true) this.#runtime.armTimers(decision.timers)
    if (decision.delays.length > 0) this.#runtimeOf().armDelayed(decision.delays)
    if (decision.sends.length > 0) this.#sendSelf(decision.sends, chain)
    if (notifies) this.record.notifyState()
  }

  #settleIn(
    decision: {
      readonly requests: ReadonlyArray<Request>
      readonly sends: ReadonlyArray<Tagged>
      readonly timers: ReadonlyArray<TimerRequest>
      readonly delays: ReadonlyArray<DelayRequest<Tagged>>
    },
    chain: Chain | undefined,
    notifies: boolean,
  ) {
    const { record } = this
    if (record.ending !== undefined) return
    if (decision.requests.length > 0) this.#execute(decision.requests)
    if (record.node.final) {
      this.#end({ _tag: "Final", state: record.currentState }, notifies)
      return
    }
    if (this.#postponed !== undefined) {
      this.#mailbox ??= new Mailbox()
      this.#mailbox.unshift(this.#postponed)
      this.#postponed = undefined
    }
    if (decision.sends.length > 0) this.#sendSelf(decision.sends, chain)
    if (decision.delays.length > 0) this.#runtimeOf().armDelayed(decision.delays)
    if (record.node.resident) {
      const runtime = this.#runtimeOf()
      runtime.armTimers(decision.timers)
      runtime.startWork()
    }
    if (notifies) record.notifyState()
  }

  #sendSelf(events: ReadonlyArray<Tagged>, chain: Chain = extendChain(undefined, "(start)")) {
    const messages = events.map((event) => new QueuedEvent(event, true, false, chain))
    for (const message of messages) message.observer = (result) => reportRefusal(this.record, result)
    this.#mailbox ??= new Mailbox()
    this.#mailbox.raise(messages)
  }

  /** The number of self-sent events that wait. */
  get #raised(): number {
    return this.#mailbox?.selfSent ?? 0
  }

  #execute(requests: ReadonlyArray<Request>) {
    const { machine, id, startedAt, sequence } = this.record
    for (const [index, request] of requests.entries()) {
      this.#commands++
      // A later actor may have the same id and sequence numbers: the start time keeps the keys apart.
      execute(this, request, commandKey(machine, `${id}@${startedAt}`, sequence, index), () => {
        this.#commands--
        this.#checkDrained()
      })
    }
  }

  // Ending

  workFailed(error: ActionFailed) {
    this.#end({ _tag: "Failed", state: this.record.currentState, error }, false)
  }

  #end(ending: ActorEnd<Tagged>, notifies: boolean) {
    const { record } = this
    if (record.ending !== undefined) return
    record.ending = ending
    this.#closeWork()
    record.host.remove(this)
    this.#runtime?.interruptAwaited()
    for (const message of this.#postponed ?? none) message.complete(refusal(record, message.event, stopped(record, ending)))
    for (const message of this.#mailbox?.takeAll() ?? none) message.complete(refusal(record, message.event, stopped(record, ending)))
    this.#postponed = undefined
    if (notifies) record.notifyState()
    if (record.isInspected) inspect(record, () => ({ _tag: "Ended", ending }))
    record.notifyEnd(ending)
    this.#checkDrained()
  }

  /** Ends state and background work. `stop`, and the system when it closes, wait for work that takes time to end. */
  #closeWork() {
    const closing = this.#runtime?.close(() => stopped(this.record, this.record.ending))
    if (closing === undefined) return
    this.#closing = this.record.environment.run(closing)
    this.record.host.awaits(this.#closing)
  }

  stop(reason = "it was stopped"): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#end({ _tag: "Stopped", state: this.record.currentState, reason }, false)
      return this.#closing === undefined ? Effect.void : Effect.asVoid(Fiber.await(this.#closing))
    })
  }

  get drain(): Effect.Effect<void> {
    const drained = Effect.callback<void>((resume) => {
      const drainer = () => resume(Effect.void)
      this.#drainers ??= new Set()
      this.#drainers.add(drainer)
      this.#checkDrained()
      // When the caller is interrupted, the actor takes events again, unless other callers still drain it.
      return Effect.sync(() => {
        this.#drainers?.delete(drainer)
        if (this.#drainers?.size === 0) this.#drainers = undefined
      })
    })
    return Effect.andThen(drained, this.stop("it was drained"))
  }

  #checkDrained() {
    if (this.#drainers === undefined || (this.record.isRunning && (this.#busy || this.#commands > 0))) return
    for (const drainer of [...this.#drainers]) drainer()
  }
}

/** For a machine that endlessly sends events to itself. The event whose decision sends the next is refused. */
const endlessChain = (record: ActorState, { event }: Taken<Tagged, Tagged>, { path }: Chain): EndlessTransition =>
  new EndlessTransition({
    machine: record.machine,
    id: record.id,
    state: record.currentState._tag,
    event: eventLabel(event),
    path,
    chain: "raised events",
  })

const conclude = (message: QueuedEvent | undefined, result: Result): Result => {
  message?.complete(result)
  return result
}
