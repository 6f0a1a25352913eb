/**
 * Runs the hooks, work, background work and supervision of an actor's current state. Actors in memory and durable instances both run
 * on it, so that both keep the same rules.
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
import type { DelayRequest, Hook, Taken, TimerRequest } from "../decision/Decision.ts"
import { eventLabel, timeoutEvent } from "../decision/Timeout.ts"
import { type Compiled, type GroupNode, isTimerOf, type Node } from "../define/Compile.ts"
import type { Tagged, WorkDeclaration } from "../define/Declarations.ts"
import { callSlot, commandKey } from "../effects/Command.ts"
import { type Called, callHandler } from "../effects/HandlerCall.ts"
import { ActionFailed, type Phase, ProcessingTimeout } from "../error/MachineError.ts"
import type { ActorPort } from "./ActorPort.ts"
import { actionFailed, inspect, report, stale } from "./ActorReport.ts"
import type { ActorState } from "./ActorState.ts"
import type { Result } from "./Mailbox.ts"
import { selfOf } from "./SelfOf.ts"
import { StateScope } from "./StateScope.ts"
import { nextDelay, type Supervisor } from "./Supervision.ts"

/** The first failure of hooks, or of waiting for the end of work. */
export type HookError = ActionFailed | ProcessingTimeout

/** The callbacks of the runtime to its actor. */
export interface RuntimeOwner extends ActorPort {
  /** An awaited Effect and its continuation have ended: the actor may decide again. */
  resumed(): void
  /** Work failed and is not restarted: the actor ends. */
  workFailed(error: ActionFailed): void
  /** How work is restarted after an outside failure, such as an outage of the store. Undefined where the failure is the work's own. */
  outageOf?(cause: unknown): Schedule.Schedule<unknown> | undefined
  /** How failed work of a machine without supervision is restarted. Undefined: it is not restarted. */
  readonly workRetry?: Schedule.Schedule<unknown>
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
  /** The scopes of the groups that the actor is in. Made with the first group that has work or timers. */
  #groups: Map<GroupNode, StateScope> | undefined = undefined
  #background: StateScope | undefined = undefined
  /** Delayed events of the actor that live in this process. They outlast its states. */
  #delayed: StateScope | undefined = undefined

  constructor(owner: RuntimeOwner) {
    this.#owner = owner
  }

  // Awaited Effects

  get isAwaiting(): boolean {
    return this.#awaited !== undefined
  }

  /** Continues after an Effect; inline when it ends synchronously. An Effect that failed or was interrupted has no value. */
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
   * The asynchronous part after a decision: the end of the left state's work, exit hooks, enter hooks. `afterExit` is called between
   * them. All of it runs; the first failure is the result.
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

  /** The actor was ended from outside during its transition. */
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

  /** Whether work of the state or its groups, or background work, is running. */
  get isAtWork(): boolean {
    if (this.#background !== undefined) return true
    const { node, currentState } = this.#owner.record
    if (this.#scope !== undefined && anyWanted(node.works, currentState)) return true
    return this.#groups !== undefined && [...this.#groups].some(([{ works }, scope]) => works.length > 0 && scope.isStarted)
  }

  get hasScope(): boolean {
    return this.#scope !== undefined || (this.#groups !== undefined && this.#groups.size > 0)
  }

  /** Starts the work of the current state and of the groups around it, from outside in. Work that was started before continues. */
  startWork() {
    const { node } = this.#owner.record
    for (const group of node.groups) if (group.works.length > 0) this.#startIn(this.#groupScope(group), group.works, group.name)
    if (node.works.length > 0) this.#startIn(this.#openScope(), node.works, node.tag)
  }

  #openScope(): StateScope {
    this.#scope ??= new StateScope()
    return this.#scope
  }

  #groupScope(group: GroupNode): StateScope {
    this.#groups ??= new Map()
    const known = this.#groups.get(group)
    if (known !== undefined) return known
    const scope = new StateScope()
    this.#groups.set(group, scope)
    return scope
  }

  #startIn(scope: StateScope, works: ReadonlyArray<WorkDeclaration>, of: string) {
    if (scope.isStarted) return
    scope.isStarted = true
    const { record } = this.#owner
    for (const declared of works) {
      if (!isWanted(declared, record.currentState)) continue
      const called = callOf(record.machine, `the work of ${of}`)
      const start = () => {
        const context = {
          id: record.id,
          state: record.currentState,
          self: selfOf(this.#owner, scope),
          effects: runCalls(this.#owner, scope),
          ...placeOf(record),
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

  /** Starts or restarts timers of the current state and its groups that live in this process. */
  armTimers(timers: ReadonlyArray<TimerRequest>) {
    if (timers.length === 0) return
    const { record } = this.#owner
    for (const { name, millis } of timers) {
      const group = record.node.groups.find((one) => isTimerOf(one, name))
      const scope = group === undefined ? this.#openScope() : this.#groupScope(group)
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
      const context = { id: record.id, self: selfOf(this.#owner, scope), effects: runCalls(this.#owner, scope), ...placeOf(record) }
      const start = () =>
        scope.start(record.environment.run, callHandler(called, context, work), (exit) => {
          if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) this.#failed(exit.cause, "background", scope, start)
        })
      start()
    }
  }

  /** Ends all work and timers. Events they have sent before are still decided. */
  stop() {
    this.#scope?.stop()
    for (const scope of this.#groups?.values() ?? none) scope.stop()
    this.#background?.stop()
    this.#delayed?.stop()
  }

  /**
   * Ends the work and timers of the state that is left, and of the groups around it that are not kept. Returns an Effect that waits
   * for their end.
   */
  leave(event: Tagged, kept: ReadonlyArray<GroupNode>): Effect.Effect<void> | undefined {
    const dropped = () => stale(this.#owner.record, eventLabel(event))
    const closing = this.#scope?.close(dropped)
    this.#scope = undefined
    if (this.#groups === undefined) return closing
    return awaitAll([closing, ...this.#closeGroups(dropped, kept)])
  }

  /** Closes the scopes of groups from inside out. */
  #closeGroups(dropped: () => Result, kept: ReadonlyArray<GroupNode>): ReadonlyArray<Effect.Effect<void> | undefined> {
    return [...(this.#groups ?? none)].reverse().flatMap(([group, scope]) => {
      if (kept.includes(group)) return []
      this.#groups?.delete(group)
      return [scope.close(dropped)]
    })
  }

  /** A state was entered: failures of earlier background work no longer count. */
  forgetFailures() {
    if (this.#background === undefined) return
    this.#background.supervisor = undefined
    this.#background.outage = undefined
  }

  /** Ends all work and timers. Returns an Effect that waits for their end. */
  close(dropped: () => Result): Effect.Effect<void> | undefined {
    const waits = [
      this.#scope?.close(dropped),
      ...this.#closeGroups(dropped, none),
      this.#background?.close(dropped),
      this.#delayed?.close(dropped),
    ]
    this.#scope = undefined
    this.#background = undefined
    this.#delayed = undefined
    return awaitAll(waits)
  }

  /** Restarts failed work by the machine's supervision, or by that of the owner. Without either, the actor ends. */
  #failed(cause: Cause.Cause<unknown>, phase: Phase, scope: StateScope, again: () => void) {
    const { record } = this.#owner
    if (record.ending !== undefined) return
    const error = actionFailed(record, phase, Cause.squash(cause), undefined)
    report(record, error)
    const outage = this.#owner.outageOf?.(error.cause)
    if (outage !== undefined) {
      scope.outage ??= { schedule: outage, step: undefined }
      return this.#restartLater(scope.outage, scope, error, again)
    }
    const schedule = record.compiled.declarations.supervision ?? this.#owner.workRetry
    if (schedule === undefined) return this.#owner.workFailed(error)
    scope.supervisor ??= { schedule, step: undefined }
    this.#restartLater(scope.supervisor, scope, error, again)
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

const awaitAll = (waits: ReadonlyArray<Effect.Effect<void> | undefined>): Effect.Effect<void> | undefined => {
  const lasting = waits.filter((wait) => wait !== undefined)
  return lasting.length === 0 ? undefined : Effect.all(lasting, { discard: true, concurrency: "unbounded" })
}

/** Whether the data of a state calls for any work of the state or of the groups around it. */
export const hasWork = ({ works, groups }: Node, state: Tagged): boolean =>
  anyWanted(works, state) || (groups.length > 0 && hasWorkIn(groups, state))

/** The same for some groups. */
export const hasWorkIn = (groups: ReadonlyArray<GroupNode>, state: Tagged): boolean => groups.some(({ works }) => anyWanted(works, state))

const anyWanted = (works: ReadonlyArray<WorkDeclaration>, state: Tagged): boolean =>
  works.length > 0 && works.some((declared) => isWanted(declared, state))

/** The groups that a decision did not leave. */
export const keptGroups = ({ nodes }: Compiled, { state, kept = 0 }: Taken<Tagged, Tagged>): ReadonlyArray<GroupNode> =>
  kept === 0 ? none : (nodes.get(state._tag)?.groups.slice(0, kept) ?? none)

const isWanted = ({ when }: WorkDeclaration, state: Tagged): boolean => when === undefined || when(state)

/** The event that follows from the end of work, if any. */
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
    if (error._tag === "Some") return Exit.succeed(outcomes.onFailure(error.value, { state }))
    if (outcomes.onDefect === undefined || !Cause.hasDies(exit.cause)) return Exit.failCause(exit.cause)
    return Exit.succeed(outcomes.onDefect(Cause.squash(exit.cause), { state }))
  } catch (defect) {
    return Exit.die(defect)
  }
}

/** Work declares no error types: a rejected Promise is a failure, as of an Effect, and `task` turns it into an event. */
const callOf = (machine: string, what: string): Called => ({ machine, what, isFailure: () => true })

/** The idempotency key of work, and the sequence number that it begins at. */
const placeOf = ({ machine, id, startedAt, sequence }: ActorState) => ({
  key: `${commandKey(machine, `${id}@${startedAt}`, sequence, 0)}/work`,
  sequence,
})

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
          return callSlot(declarations, slot, parameters, { id: record.id, state: record.currentState, self, key, sequence, attempt: 1 })
        }),
    ]),
  )
}
