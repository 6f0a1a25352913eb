/**
 * What runs because an actor is in a state: hooks on the way in and out, the state's work, background work, and its supervision.
 * An actor in memory and a durable instance both run on it, so that both guard the same things.
 *
 * While an awaited Effect runs (a hook, an effectful decision, the end of work), the actor decides nothing: `isAwaiting`.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Schedule from "effect/Schedule"
import type { DelayRequest, Hook, Taken, TimerRequest } from "../decide/Decision.ts"
import { eventLabel, timeoutEvent } from "../decide/Timeout.ts"
import type { Node } from "../define/Compile.ts"
import type { Tagged, WorkDeclaration } from "../define/Declarations.ts"
import { callSlot, commandKey } from "../effects/Command.ts"
import { type Called, callHandler } from "../effects/HandlerCall.ts"
import { ActionFailed, type Phase, ProcessingTimeout } from "../MachineError.ts"
import type { ActorPort } from "./ActorPort.ts"
import { actionFailed, inspect, report, stale } from "./ActorReport.ts"
import type { ActorState } from "./ActorState.ts"
import type { Result } from "./Mailbox.ts"
import { selfOf } from "./SelfOf.ts"
import { StateScope } from "./StateScope.ts"
import { nextDelay, type Supervisor } from "./Supervision.ts"

/** The first failure of hooks, or of waiting for the end of work. */
export type HookError = ActionFailed | ProcessingTimeout

/** What the runtime asks of its actor. */
export interface RuntimeOwner extends ActorPort {
  /** An awaited Effect has ended, and what follows from it is done: the actor may decide again. */
  resumed(): void
  /** Work failed and is not restarted: the actor ends. */
  workFailed(error: ActionFailed): void
  /** How work is restarted that failed for a reason outside of it, such as a store that is away. Undefined where the failure is the work's own. */
  outageOf?(cause: unknown): Schedule.Schedule<unknown> | undefined
}

/** The actor whose hook or decision a fiber runs: an event that the fiber sends to it and waits for would wait for itself. */
class HandlingActor extends Context.Service<HandlingActor, { readonly actor: ActorState; isOver: boolean }>()(
  "@detent/machine/HandlingActor",
) {}

/** Whether a fiber runs a hook or a decision of this actor that has not ended yet. */
export const isHandling = (fiber: Fiber.Fiber<unknown, unknown>, actor: ActorState): boolean => {
  const handling = Context.getOrUndefined(fiber.context as Context.Context<HandlingActor>, HandlingActor)
  return handling !== undefined && handling.actor === actor && !handling.isOver
}

export class StateRuntime {
  readonly #owner: RuntimeOwner
  #awaited: Set<Fiber.Fiber<unknown, unknown>> | undefined = undefined
  #scope: StateScope | undefined = undefined
  #background: StateScope | undefined = undefined
  /** Delayed events of the actor that live in this process. They outlast its states. */
  #delayed: StateScope | undefined = undefined
  #supervisor: Supervisor | undefined = undefined
  /** Restarts of work that failed because of an outage. They do not count as failures of the work. */
  #outage: Supervisor | undefined = undefined

  constructor(owner: RuntimeOwner) {
    this.#owner = owner
  }

  // Awaited Effects

  get isAwaiting(): boolean {
    return this.#awaited !== undefined
  }

  /** Continues after an Effect; inline when it ends at once. An Effect that failed or was interrupted has no value. */
  awaiting<A>(effect: Effect.Effect<A, never, unknown>, then: (value: A | undefined) => void) {
    const fiber = this.#owner.record.environment.run(effect)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return then(Exit.isSuccess(exit) ? exit.value : undefined)
    this.#awaited ??= new Set()
    this.#awaited.add(fiber)
    fiber.addObserver((exit) => {
      this.#awaited?.delete(fiber)
      if (this.#awaited?.size === 0) this.#awaited = undefined
      then(Exit.isSuccess(exit) ? exit.value : undefined)
      this.#owner.resumed()
    })
  }

  interruptAwaited() {
    if (this.#awaited === undefined) return
    for (const fiber of this.#awaited) fiber.interruptUnsafe()
  }

  // Hooks

  /** Runs hooks one after the other. All of them run; the first failure is the result. */
  hooks(hooks: ReadonlyArray<Hook>, event: string): Effect.Effect<HookError | undefined, never, unknown> {
    if (hooks.length === 0) return Effect.succeed(undefined)
    return Effect.map(
      Effect.forEach(hooks, (hook) => this.#hook(hook, event)),
      (errors) => errors.find((error) => error !== undefined),
    )
  }

  #hook({ phase, state, effect }: Hook, event: string): Effect.Effect<HookError | undefined, never, unknown> {
    const { machine, id } = this.#owner.record
    return Effect.matchCause(this.limited(effect, event), {
      onSuccess: () => undefined,
      onFailure: (cause) => {
        const error = Cause.squash(cause)
        if (error instanceof ProcessingTimeout) return error
        return new ActionFailed({ machine, id, phase, state, event, committed: true, cause: error })
      },
    })
  }

  /**
   * Limits an Effect of a hook or a decision to the machine's `processingTimeout`. An Effect that cannot be interrupted, or takes
   * long to end, continues by itself after that, and its result is dropped.
   */
  limited<A, E>(effect: Effect.Effect<A, E, unknown>, event: string): Effect.Effect<A, E | ProcessingTimeout, unknown> {
    const { record } = this.#owner
    const handling = { actor: record, isOver: false }
    const marked = Effect.ensuring(
      Effect.provideService(effect, HandlingActor, handling),
      Effect.sync(() => {
        handling.isOver = true
      }),
    )
    const duration = record.compiled.processingTimeout
    if (duration === undefined) return marked
    const { machine, id } = record
    const tooLong = () =>
      Effect.fail(new ProcessingTimeout({ machine, id, state: record.currentState._tag, event, duration: Duration.format(duration) }))
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.forkDetach(marked, { startImmediately: true }), (fiber) =>
        Effect.onExit(restore(Effect.timeoutOrElse(Fiber.join(fiber), { duration, orElse: tooLong })), () =>
          Effect.sync(() => fiber.interruptUnsafe()),
        ),
      ),
    )
  }

  /**
   * What follows a decision where it takes time: the end of the left state's work, exit hooks, enter hooks. `afterExit` is called
   * between them. All of it runs; the first failure is the result.
   */
  transit(
    decision: Taken<Tagged, Tagged>,
    closing: Effect.Effect<void> | undefined,
    afterExit: () => void,
  ): Effect.Effect<HookError | undefined, never, unknown> {
    const label = eventLabel(decision.event)
    const firstEnter = decision.hooks.findIndex((hook) => hook.phase === "enter")
    const leaving = firstEnter < 0 ? decision.hooks : decision.hooks.slice(0, firstEnter)
    const entering = firstEnter < 0 ? none : decision.hooks.slice(firstEnter)
    return Effect.gen({ self: this }, function* () {
      const closeError = closing === undefined ? undefined : yield* this.#limitedWait(closing, label)
      const exitError = yield* this.hooks(leaving, label)
      afterExit()
      const enterError = entering.length === 0 || this.#isOver ? undefined : yield* this.hooks(entering, label)
      return closeError ?? exitError ?? enterError
    })
  }

  /** The actor was ended from outside while its transition was under way. */
  get #isOver(): boolean {
    const { ending } = this.#owner.record
    return ending !== undefined && ending._tag !== "Final"
  }

  #limitedWait(wait: Effect.Effect<void>, event: string): Effect.Effect<HookError | undefined, never, unknown> {
    return Effect.matchEffect(this.limited(wait, event), {
      onSuccess: () => Effect.succeed(undefined),
      onFailure: (error) => Effect.succeed(error),
    })
  }

  // Work

  /** Whether work of the state, or background work, is under way. */
  get isAtWork(): boolean {
    return (
      this.#background !== undefined || (this.#scope !== undefined && hasWork(this.#owner.record.node, this.#owner.record.currentState))
    )
  }

  get hasScope(): boolean {
    return this.#scope !== undefined
  }

  /** Starts the work of the current state. */
  startWork() {
    this.#startIn(this.#openScope())
  }

  #openScope(): StateScope {
    this.#scope ??= new StateScope()
    return this.#scope
  }

  #startIn(scope: StateScope) {
    const { record } = this.#owner
    for (const declared of record.node.works) {
      if (!isWanted(declared, record.currentState)) continue
      const called = callOf(record.machine, `the work of ${record.node.tag}`)
      const start = () => {
        const context = {
          id: record.id,
          state: record.currentState,
          self: selfOf(this.#owner, scope),
          effects: runCalls(this.#owner, scope),
        }
        scope.start(record.environment.run, callHandler(called, context, declared.work), (exit) => {
          const event = eventOf(exit, declared, record.currentState)
          if (Exit.isFailure(event)) this.#failed(event.cause, "spawn", scope, start)
          else if (event.value !== undefined) this.#owner.sendInternal(event.value, scope, undefined)
        })
      }
      start()
    }
  }

  /** Starts or restarts timers of the current state that live in this process. */
  armTimers(timers: ReadonlyArray<TimerRequest>) {
    if (timers.length === 0) return
    const scope = this.#openScope()
    const { record } = this.#owner
    for (const { name, millis } of timers) {
      scope.arm(
        record.environment.run,
        name,
        millis,
        () => stale(record, `(${name})`),
        () => this.#owner.sendInternal(timeoutEvent(name), scope, name),
      )
    }
  }

  /** Sets and cancels delayed events that live in this process. */
  armDelayed(delays: ReadonlyArray<DelayRequest<Tagged>>) {
    const { record } = this.#owner
    this.#delayed ??= new StateScope()
    const scope = this.#delayed
    for (const { name, millis, event } of delays) {
      scope.arm(
        record.environment.run,
        name,
        millis,
        () => stale(record, event?._tag ?? name),
        () => event !== undefined && this.#owner.sendInternal(event, scope, name),
      )
    }
  }

  /** Starts the work that lasts as long as the actor. */
  startBackground() {
    const { record } = this.#owner
    const works = record.compiled.declarations.backgrounds
    if (works.length === 0 || this.#background !== undefined) return
    const scope = new StateScope()
    this.#background = scope
    const called = callOf(record.machine, "background work")
    for (const work of works) {
      const context = { id: record.id, self: selfOf(this.#owner, scope), effects: runCalls(this.#owner, scope) }
      const start = () =>
        scope.start(record.environment.run, callHandler(called, context, work), (exit) => {
          if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) this.#failed(exit.cause, "background", scope, start)
        })
      start()
    }
  }

  /** Ends all work and timers. What they have sent before is still decided. */
  stop() {
    this.#scope?.stop()
    this.#background?.stop()
    this.#delayed?.stop()
  }

  /** Ends the work and timers of the state that is left. Returns an Effect that waits for what takes time to end. */
  leave(event: Tagged): Effect.Effect<void> | undefined {
    const closing = this.#scope?.close(() => stale(this.#owner.record, eventLabel(event)))
    this.#scope = undefined
    return closing
  }

  /** A state was entered: failures of earlier work do not count any more. */
  forgetFailures() {
    this.#supervisor = undefined
    this.#outage = undefined
  }

  /** Ends all work and timers. Returns an Effect that waits for what takes time to end. */
  close(dropped: () => Result): Effect.Effect<void> | undefined {
    const scopes = [this.#scope, this.#background, this.#delayed]
    const waits = scopes.map((scope) => scope?.close(dropped)).filter((wait) => wait !== undefined)
    this.#scope = undefined
    this.#background = undefined
    this.#delayed = undefined
    return waits.length === 0 ? undefined : Effect.all(waits, { discard: true, concurrency: "unbounded" })
  }

  /** Restarts failed work as the machine's supervision says, or ends the actor. */
  #failed(cause: Cause.Cause<unknown>, phase: Phase, scope: StateScope, again: () => void) {
    const { record } = this.#owner
    if (record.ending !== undefined) return
    const error = actionFailed(record, phase, Cause.squash(cause), undefined)
    report(record, error)
    const outage = this.#owner.outageOf?.(error.cause)
    if (outage !== undefined) {
      this.#outage ??= { schedule: outage, step: undefined }
      return this.#restartLater(this.#outage, scope, error, again)
    }
    const schedule = record.compiled.declarations.supervision
    if (schedule === undefined) return this.#owner.workFailed(error)
    this.#supervisor ??= { schedule, step: undefined }
    this.#restartLater(this.#supervisor, scope, error, again)
  }

  /** Events are handled meanwhile; leaving the state cancels the restart. */
  #restartLater(supervisor: Supervisor, scope: StateScope, error: ActionFailed, again: () => void) {
    const { record } = this.#owner
    const pause = Effect.gen(function* () {
      const delay = yield* nextDelay(supervisor, error)
      if (delay === undefined) return false
      inspect(record, () => ({ _tag: "Restarting", error, delay }))
      yield* Effect.sleep(delay)
      return true
    })
    scope.start(record.environment.run, pause, (exit) => {
      if (Exit.isSuccess(exit) && exit.value) again()
      else this.#owner.workFailed(error)
    })
  }
}

const none: ReadonlyArray<never> = Object.freeze([])

/** Whether any work of a state runs with what the state holds. */
export const hasWork = ({ works }: Node, state: Tagged): boolean => works.length > 0 && works.some((declared) => isWanted(declared, state))

const isWanted = ({ when }: WorkDeclaration, state: Tagged): boolean => when === undefined || when(state)

/** The event that the end of work means, if any. */
const eventOf = (
  exit: Exit.Exit<unknown, unknown>,
  { outcomes }: WorkDeclaration,
  state: Tagged,
): Exit.Exit<Tagged | undefined, unknown> => {
  if (outcomes === undefined) {
    return Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? Exit.failCause(exit.cause) : Exit.succeed(undefined)
  }
  try {
    if (Exit.isSuccess(exit)) return Exit.succeed(outcomes.onSuccess(exit.value, { state }))
    const error = Cause.findErrorOption(exit.cause)
    return error._tag === "Some" ? Exit.succeed(outcomes.onFailure(error.value, { state })) : Exit.failCause(exit.cause)
  } catch (defect) {
    return Exit.die(defect)
  }
}

/** Work declares no failures: a Promise that is rejected fails, as an Effect would, and `task` makes an event of it. */
const callOf = (machine: string, what: string): Called => ({ machine, what, isFailure: () => true })

/** Effect slots inside `spawn`, `task` and `background`: calling one runs it there. */
const runCalls = (actor: ActorPort, scope: StateScope): object => {
  const { record } = actor
  const { declarations } = record.compiled
  const self = selfOf(actor, scope)
  const { sequence } = record
  let calls = 0
  return Object.fromEntries(
    Object.keys(declarations.effectSlots).map((slot) => [
      slot,
      (parameters: object = {}) =>
        Effect.suspend(() => {
          const key = `${commandKey(record.machine, `${record.id}@${record.startedAt}`, sequence, calls++)}/${slot}`
          return callSlot(declarations, slot, parameters, { id: record.id, state: record.currentState, self, key })
        }),
    ]),
  )
}
