/**
 * Runs a machine on a list of events without an actor, effects or waiting. Requests are collected; timeouts fire on a
 * clock that only the test moves.
 *
 * ```ts
 * const { path, requests } = simulate(Order, { orderId: "7", total: 42 }, [E.RequestPayment(), advance("30 minutes")])
 * // path: ["Pending", "Awaiting", "Cancelled"]
 * ```
 *
 * `spawn`, `task` and `background` do not run: the test sends the events that they would send.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Trace } from "../src/actor/Trace.ts"
import type { EventOf, ServicesOf, StateOf } from "../src/contract/MachineType.ts"
import type { Request, Taken } from "../src/decision/Decision.ts"
import { eventLabel, type TimeoutEvent } from "../src/decision/Timeout.ts"
import type { Tagged } from "../src/define/Declarations.ts"
import type { SendError } from "../src/error/MachineError.ts"
import { compiledOf } from "../src/Machine.ts"
import { SimulationFailed } from "./SimulationFailed.ts"
import { SimulationRun, type Steps } from "./SimulationRun.ts"
import { type AnyMachine, type GuardStubs, guardHandlers, type StartOf, type StateTag, withHandlers } from "./Subject.ts"

/** Time passes. Made with {@link advance}. */
export interface Advance {
  readonly _tag: "@advance"
  readonly millis: number
}

/** Among the events of a simulation: time passes. Timeouts that are due by then fire. */
export const advance = (duration: Duration.Input): Advance => ({
  _tag: "@advance",
  millis: Duration.toMillis(Duration.fromInputUnsafe(duration)),
})

export interface SimulateOptions<M> {
  /** When it starts, in milliseconds since 1970. */
  readonly at?: number
  /** How much time passes before each event. */
  readonly between?: Duration.Input
  /** Answers of guard slots, for machines that are not built or instead of their implementations. */
  readonly guards?: GuardStubs<M>
  /** The id of the instance in the trace. */
  readonly id?: string
  /** How many events, timeouts included, may be handled before the simulation fails as endless. */
  readonly limit?: number
}

/** An event that changed nothing, and why. */
export interface Refusal<S, E> {
  readonly event: E
  readonly state: S
  readonly error: SendError
  readonly at: number
}

export interface Simulation<S, E, Tag extends string = string> {
  /** The states visited, in order, each with the data it had when it was left. Automatic transitions included. */
  readonly states: ReadonlyArray<S>
  /** The tags of `states`. */
  readonly path: ReadonlyArray<Tag>
  /** The last state. */
  readonly state: S
  readonly decisions: ReadonlyArray<Taken<S, E | TimeoutEvent>>
  /** The effects that were requested, in order. */
  readonly requests: ReadonlyArray<Request>
  readonly refusals: ReadonlyArray<Refusal<S, E | TimeoutEvent>>
  /** Events that still wait for a change of state. */
  readonly postponed: ReadonlyArray<E>
  readonly status: "running" | "final" | "stopped"
  /** The reason, where it was stopped. */
  readonly stopped: string | undefined
  /** The time at the end. */
  readonly at: number
  readonly trace: Trace
}

export type SimulationOf<M> = Simulation<StateOf<M>, EventOf<M>, StateTag<M>>

/**
 * Runs a machine on events, from an input or a state. Refusals are part of the result. It throws
 * `SimulationFailed` where it cannot continue: at a decision that is an Effect (see {@link simulateEffect}), at a
 * guard slot without an answer, at a start that fails, and after more events than `limit`.
 */
export const simulate = <M extends AnyMachine>(
  machine: M,
  start: StartOf<M>,
  events: ReadonlyArray<EventOf<M> | Advance>,
  options: SimulateOptions<M> = {},
): SimulationOf<M> => {
  const run = makeRun(machine, start, options)
  // The generator runs up to the first decision that is an Effect.
  const { done, value: deferred } = stepsOf(run, events, options).next()
  if (done === true) return resultOf(run)
  throw new SimulationFailed({
    machine: machine.name,
    state: deferred.from._tag,
    event: eventLabel(deferred.event),
    problem: "its decision is an Effect",
    nextStep: "use simulateEffect",
  })
}

/** Like {@link simulate}, for machines with decisions that are Effects: only these Effects run. */
export const simulateEffect = <M extends AnyMachine>(
  machine: M,
  start: StartOf<M>,
  events: ReadonlyArray<EventOf<M> | Advance>,
  options: SimulateOptions<M> = {},
): Effect.Effect<SimulationOf<M>, SimulationFailed, ServicesOf<M>> =>
  Effect.gen(function* () {
    const run = makeRun(machine, start, options)
    const steps = stepsOf(run, events, options)
    for (let next = steps.next(); next.done !== true; ) {
      next = steps.next(yield* next.value.effect)
    }
    return resultOf<M>(run)
  }).pipe(Effect.catchDefect((defect) => (defect instanceof SimulationFailed ? Effect.fail(defect) : Effect.die(defect)))) as Effect.Effect<
    SimulationOf<M>,
    SimulationFailed,
    ServicesOf<M>
  >

const makeRun = <M extends AnyMachine>(machine: M, start: StartOf<M>, { guards, at = 0, id, limit = 10_000 }: SimulateOptions<M>) => {
  const handlers = guardHandlers(machine, guards)
  // The tables of a machine are compiled once; a copy with other guard answers is compiled each time.
  const compiled = Object.keys(handlers).length === 0 ? compiledOf(machine) : withHandlers(machine, handlers).compiled
  return new SimulationRun(machine, compiled, start, at, id ?? "simulation", limit)
}

function* stepsOf(run: SimulationRun, events: ReadonlyArray<unknown>, { between = 0 }: { readonly between?: Duration.Input }): Steps {
  yield* run.handle(undefined)
  for (const event of events as ReadonlyArray<Tagged | Advance>) {
    if (isAdvance(event)) yield* run.advance(event.millis)
    else {
      yield* run.advance(Duration.toMillis(Duration.fromInputUnsafe(between)))
      yield* run.handle(event)
    }
  }
}

const isAdvance = (event: Tagged | Advance): event is Advance => event?._tag === "@advance"

const resultOf = <M>(run: SimulationRun): SimulationOf<M> => {
  const { visited, state, decisions, requests, refusals, postponed, ended, now, trace } = run
  const result: Simulation<Tagged, Tagged> = {
    states: visited,
    path: visited.map((one) => one._tag),
    state,
    decisions,
    requests,
    refusals,
    postponed,
    status: ended?.status ?? "running",
    stopped: ended?.status === "stopped" ? ended.reason : undefined,
    at: now,
    trace,
  }
  return result as unknown as SimulationOf<M>
}
