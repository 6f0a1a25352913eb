/** What a test of the engine stands on: one store, any number of engines over it, and time. */

import type { EventRecord, InstanceKey, TimerRecord } from "@detent/store"
import { type InstanceRecord, Journal, type JournalService, Leases, type LeasesService, Timers, type TimersService } from "@detent/store"
import type { StoreLayer } from "@detent/store/testing"
import { describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import type { EngineOptions } from "../../src/Engine.ts"
import { Engine, type EngineService } from "../../src/Engine.ts"
import { liveSleep, PendingRequests } from "./PendingRequests.ts"
import { type Store, StoreProbe } from "./StoreProbe.ts"

export interface EngineKitOptions {
  /** `store` where leases end by the clock of a database: their tests then run in real time. */
  readonly leaseClock?: "engine" | "store"
  /** How long the store may take to notify of what it has stored. Default: no time. */
  readonly settle?: Duration.Input
  /** How many random runs a property is tried on. */
  readonly runs?: number
}

export interface OpenOptions extends EngineOptions {
  /** Prepared before the engine asks anything. */
  readonly probe?: StoreProbe
}

export interface Opened {
  readonly engine: EngineService
  readonly probe: StoreProbe
  /** Stops the engine as a process does that is asked to. */
  readonly close: Effect.Effect<void>
  /** Kills it: nothing it does from now on reaches the store. */
  readonly crash: Effect.Effect<void>
}

export interface Rig {
  readonly journal: JournalService
  readonly timers: TimersService
  readonly leases: LeasesService
  readonly store: Store
  readonly open: (options?: OpenOptions) => Effect.Effect<Opened>
  readonly record: (key: InstanceKey) => Effect.Effect<InstanceRecord, unknown>
  /** What the store has journaled of an instance. */
  readonly events: (key: InstanceKey) => Effect.Effect<ReadonlyArray<EventRecord>, unknown>
  /** The deadlines the store has of an instance. */
  readonly deadlines: (key: InstanceKey) => Effect.Effect<ReadonlyArray<TimerRecord>, unknown>
  /** Lets time pass, and what it set off happen. */
  readonly pass: (duration: Duration.Input) => Effect.Effect<void>
  /** Lets everything happen that needs no time. */
  readonly quiet: Effect.Effect<void>
  /** Lets time pass, a little at a time, until something holds: for what takes both time and a store that may be slow. */
  readonly passUntil: <A, E, R>(step: Duration.Input, read: Effect.Effect<A, E, R>, holds: (value: A) => boolean) => Effect.Effect<A, E, R>
  /** Waits for a fiber while time passes. */
  readonly passFor: <A, E>(fiber: Fiber.Fiber<A, E>) => Effect.Effect<A, E>
  /** Waits until something holds, however long the store takes; fails a test that waits for ever. */
  readonly eventually: <A, E, R>(read: Effect.Effect<A, E, R>, holds: (value: A) => boolean) => Effect.Effect<A, E, R>
}

type Body = (rig: Rig) => Effect.Effect<unknown, unknown, Scope.Scope>

export interface Kit {
  readonly name: string
  readonly runs: number
  readonly describe: (topic: string, tests: () => void) => void
  /** A test under a test clock. */
  readonly test: (title: string, body: Body) => void
  /** A test of leases: under a test clock where they follow it, in real time otherwise. Keep its durations short. */
  readonly leaseTest: (title: string, body: Body) => void
}

const timeout = 60_000

/** Tests in real time mostly wait, each on a store of its own: several run side by side. */
const sideBySide = { timeout, concurrent: true }

export const makeKit = <R>(name: string, layer: StoreLayer<R>, options: EngineKitOptions): Kit => {
  const settle = Duration.toMillis(Duration.fromInputUnsafe(options.settle ?? 0))
  const live = options.leaseClock === "store"
  return {
    name,
    runs: options.runs ?? 12,
    describe: (topic, tests) => describe(`${name} engine: ${topic}`, tests),
    // Under a test clock, leases that follow the database's clock must not end.
    test: (title, body) =>
      it.effect(title, () => Effect.flatMap(makeRig(layer, settle, "at once", live ? { lease: "1000 hours" } : {}), body), timeout),
    leaseTest: (title, body) => {
      const test = () => Effect.flatMap(makeRig(layer, settle, live ? "by itself" : "in steps", {}), body)
      return live ? it.live(title, test, sideBySide) : it.effect(title, test, timeout)
    },
  }
}

/**
 * How time passes: at once; in steps, so that a store that answers in real time extends the leases that living nodes hold; or by
 * itself, in real time.
 */
type Passing = "at once" | "in steps" | "by itself"

/** Shorter than the time in which any lease of the tests is extended, except where hours pass. */
const stepMillis = (millis: number) => Math.max(25, millis / 40)

const makeRig = <R>(
  layer: StoreLayer<R>,
  settle: number,
  passing: Passing,
  defaults: EngineOptions,
): Effect.Effect<Rig, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const pending = new PendingRequests()
    const store = pending.wrap(yield* Effect.orDie(Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope)))
    const journal = Context.get(store, Journal)
    const engines: Array<Opened> = []
    // Whatever a test left open is cut off and ends when it can: a test does not wait for it.
    yield* Effect.addFinalizer(() =>
      Effect.forEach(engines, ({ crash, close }) => Effect.andThen(crash, Effect.forkDetach(close)), { discard: true }),
    )
    const opened = (key: InstanceKey) => Effect.map(journal.open(key), Option.getOrThrow)
    const quiet = settle === 0 ? pending.settled : Effect.andThen(liveSleep(settle), pending.settled)
    const advance = (duration: Duration.Input) => Effect.andThen(pending.settled, TestClock.adjust(duration))
    const step = (duration: Duration.Input) =>
      Effect.gen(function* () {
        const millis = Duration.toMillis(Duration.fromInputUnsafe(duration))
        for (let passed = 0; passed < millis; passed += stepMillis(millis)) yield* advance(Math.min(stepMillis(millis), millis - passed))
      })
    const spend = { "at once": advance, "in steps": step, "by itself": Effect.sleep }[passing]
    const pass = (duration: Duration.Input) => Effect.andThen(spend(duration), quiet)
    const passUntil: Rig["passUntil"] = (step, read, holds) =>
      eventually(
        Effect.tap(read, (value) => (holds(value) ? Effect.void : pass(step))),
        holds,
      )
    return {
      journal,
      timers: Context.get(store, Timers),
      leases: Context.get(store, Leases),
      store,
      open: (options = {}) => Effect.tap(openEngine(store, { ...defaults, ...options }), (one) => Effect.sync(() => engines.push(one))),
      record: (key) => Effect.map(opened(key), ({ record }) => record),
      events: (key) => journal.events(key, 0, 100_000),
      deadlines: (key) => Effect.map(opened(key), ({ timers }) => timers),
      pass,
      passUntil,
      passFor: (fiber) =>
        Effect.andThen(
          passUntil(
            "1 second",
            Effect.sync(() => fiber.pollUnsafe()),
            (exit) => exit !== undefined,
          ),
          Fiber.join(fiber),
        ),
      quiet,
      eventually: (read, holds) => eventually(read, holds),
    }
  })

const openEngine = (store: Store, { probe = new StoreProbe(), ...options }: OpenOptions): Effect.Effect<Opened> =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const base = Layer.succeedContext(probe.wrap(store))
    const context = yield* Layer.buildWithMemoMap(Engine.layer(options).pipe(Layer.provideMerge(base)), Layer.makeMemoMapUnsafe(), scope)
    return {
      engine: Context.get(context, Engine),
      probe,
      close: Scope.close(scope, Exit.void),
      crash: Effect.sync(() => {
        probe.isCut = true
      }),
    }
  })

const eventually = <A, E, R>(read: Effect.Effect<A, E, R>, holds: (value: A) => boolean): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    for (let attempt = 0; ; attempt++) {
      const value = yield* read
      if (holds(value)) return value
      if (attempt === 1000) return yield* Effect.die(new Error(`it never came about; last seen: ${JSON.stringify(value)}`))
      yield* liveSleep(attempt < 20 ? 1 : 5)
    }
  })
