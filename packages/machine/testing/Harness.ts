/**
 * A live actor for a test, under a test clock: the test's own clock where it has one, as in `it.effect`, otherwise a new one, so
 * the harness works in any test runner. Effect slots without an implementation are recorded instead of run.
 *
 * ```ts
 * const order = yield* createTestHarness(Order, { orderId: "7", total: 42 }, { guards: { inStock: () => true } })
 * yield* order.send(E.RequestPayment())
 * yield* order.advance("30 minutes")
 * yield* order.expectState("Cancelled")
 * expect(order.path).toEqual(["Pending", "Awaiting", "Cancelled"])
 * ```
 */
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { ActorSystem } from "../src/actor/ActorSystem.ts"
import type { Trace } from "../src/actor/Trace.ts"
import type { Actor } from "../src/contract/Actor.ts"
import type { EventOf, ServicesOf, StateOf } from "../src/contract/MachineType.ts"
import type { SpawnError } from "../src/contract/Self.ts"
import type { Request } from "../src/decision/Decision.ts"
import type { HandlerServices } from "../src/effects/Slot.ts"
import type { SendError } from "../src/error/MachineError.ts"
import { Recording } from "./Recording.ts"
import type { AnyMachine, EffectStubs, GuardStubs, StartOf, StateTag } from "./Subject.ts"

export interface HarnessOptions<M> {
  readonly id?: string
  /** Answers of guard slots, for machines that are not built or instead of their implementations. */
  readonly guards?: GuardStubs<M>
}

export interface HarnessEffects<F> {
  /**
   * Handlers of effect slots. A slot that is not listed here runs its `build` handler. A slot without any handler is only
   * recorded: as a command it succeeds immediately, as work of a state it lasts until the state is left.
   */
  readonly effects: F
}

export interface TestHarness<S, E, Tag extends string> {
  /** Sends an event. Returns once it is handled, is postponed, or waits for the clock. */
  send(event: E): Effect.Effect<void, SendError>
  /** Lets time pass, and runs everything that is due by then. */
  advance(duration: Duration.Input): Effect.Effect<void>
  /** Returns the state if it has this tag. Otherwise dies with the path and the errors so far. */
  expectState<T extends Tag>(tag: T): Effect.Effect<Extract<S, { readonly _tag: T }>>
  readonly state: S
  /** The tags of the states visited, in order. */
  readonly path: ReadonlyArray<Tag>
  /** The commands that were started, in order. */
  readonly requests: ReadonlyArray<Request>
  /** The effects that work of states ran, in order. */
  readonly runs: ReadonlyArray<Request>
  /** Everything that was refused or failed, in order. */
  readonly errors: ReadonlyArray<SendError>
  readonly trace: Trace
  readonly actor: Actor<S, E>
}

type HarnessOf<M> = TestHarness<StateOf<M>, EventOf<M>, StateTag<M>>

/** Starts a machine for a test. It ends with the scope. */
export const createTestHarness: {
  <M extends AnyMachine, const F extends EffectStubs<M>>(
    machine: M,
    start: StartOf<M>,
    options: HarnessOptions<M> & HarnessEffects<F>,
  ): Effect.Effect<HarnessOf<M>, SpawnError, ServicesOf<M> | HandlerServices<F> | Scope.Scope>
  <M extends AnyMachine>(
    machine: M,
    start: StartOf<M>,
    options?: HarnessOptions<M>,
  ): Effect.Effect<HarnessOf<M>, SpawnError, ServicesOf<M> | Scope.Scope>
} = <M extends AnyMachine>(machine: M, start: StartOf<M>, options: HarnessOptions<M> & Partial<HarnessEffects<object>> = {}) =>
  Effect.gen(function* () {
    const id = options.id ?? machine.name
    const clock = yield* testClock
    const recording = new Recording(machine, id, options.guards, options.effects)
    const spawned = Effect.gen(function* () {
      const system = yield* ActorSystem.make
      system.inspectUnsafe((inspection) => recording.inspected(inspection))
      return (yield* system.spawn(id, recording.machine as never, start as never)) as Actor<StateOf<M>, EventOf<M>>
    })
    const actor = yield* Effect.provideService(spawned, Clock.Clock, clock)
    recording.began(actor.snapshotUnsafe())
    yield* settle
    return harness<M>(machine.name, clock, actor, recording)
  }) as never

const testClock: Effect.Effect<TestClock.TestClock, never, Scope.Scope> = Effect.flatMap(Clock.Clock, (clock) =>
  isTestClock(clock) ? Effect.succeed(clock) : TestClock.make(),
)

const isTestClock = (clock: Clock.Clock): clock is TestClock.TestClock => "adjust" in clock

const harness = <M>(
  name: string,
  clock: TestClock.TestClock,
  actor: Actor<StateOf<M>, EventOf<M>>,
  recording: Recording,
): HarnessOf<M> => ({
  send: (event) =>
    Effect.gen(function* () {
      // Detached: a postponed event outlives the send, and its failure is added to `errors`.
      const sending = yield* Effect.forkDetach(
        actor.send(event).pipe(
          Effect.tapError((error) => Effect.sync(() => recording.failed(error))),
          Effect.provideService(Clock.Clock, clock),
        ),
        { startImmediately: true },
      )
      yield* settle
      const exit = sending.pollUnsafe()
      if (exit !== undefined) yield* exit
    }),
  advance: (duration) => Effect.andThen(clock.adjust(duration), settle),
  expectState: (tag) =>
    Effect.suspend(() => {
      const state = actor.snapshotUnsafe().state as { readonly _tag: string }
      if (state._tag === tag) return Effect.succeed(state as never)
      const errors = recording.errors.map((error) => `  ${error.message}`)
      return Effect.die(
        new Error([`${name} is in ${state._tag}, not in ${tag}`, `  path: ${recording.path.join(" → ")}`, ...errors].join("\n")),
      )
    }),
  get state() {
    return actor.snapshotUnsafe().state
  },
  get path() {
    return recording.path as ReadonlyArray<string> as ReadonlyArray<never>
  },
  get requests() {
    return [...recording.requests]
  },
  get runs() {
    return [...recording.runs]
  },
  get errors() {
    return [...recording.errors]
  },
  get trace() {
    return recording.trace
  },
  actor,
})

/** Yields until fibers that can run have run: twice the turns that a chain of hooks, work and commands takes. */
const settle = Effect.replicateEffect(Effect.flatMap(Effect.forkChild(Effect.yieldNow), Fiber.await), 8, { discard: true })
