/** A node that was frozen past its lease notices that before anything that it runs continues. */
import { Event, Machine, State } from "@detent/machine"
import { Journal, Leases, MemoryStore } from "@detent/store"
import { expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Engine } from "../../src/Engine.ts"
import { nodeLeasePrefix, Placement } from "../../src/nodes/Placement.ts"

/** Blocks the thread, as SIGSTOP does. */
const freeze = (millis: number) => Effect.sync(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis))

it.live("139 a process that slept through its lease stops its work before anything else", () =>
  Effect.gen(function* () {
    const placement = yield* Placement.make({ lease: "300 millis" })
    const log: Array<string> = []
    const work = yield* Effect.forkChild(
      Effect.andThen(
        Effect.sleep(150),
        Effect.sync(() => log.push("the work continues")),
      ),
      { startImmediately: true },
    )
    placement.onLost(() => {
      log.push("lost")
      work.interruptUnsafe()
    })
    const former = placement.node()
    yield* Effect.sleep(1)
    yield* freeze(600)
    yield* Fiber.await(work)
    expect(log).toEqual(["lost"])
    while (placement.fence() === undefined) yield* Effect.sleep(5)
    expect(placement.node()).not.toBe(former)
  }).pipe(Effect.scoped, Effect.provide(MemoryStore.layer)),
)

it.live("a listener that throws does not keep the others from being called", () =>
  Effect.gen(function* () {
    const placement = yield* Placement.make({ lease: "100 millis" })
    let stopped = 0
    placement.onLost(() => {
      throw new Error("no")
    })
    placement.onLost(() => stopped++)
    const unsubscribe = placement.onLost(() => stopped++)
    unsubscribe()
    yield* freeze(150)
    expect(placement.fence()).toBeUndefined()
    expect(stopped).toBe(1)
  }).pipe(Effect.scoped, Effect.provide(MemoryStore.layer)),
)

it.live("engines use the placement in the context, or make their own", () =>
  Effect.gen(function* () {
    const shared = yield* Placement.make({ nodeId: "shared" })
    const found = yield* Effect.provideService(Placement.inContextOrMake({ nodeId: "own" }), Placement, shared)
    expect(found).toBe(shared)
    expect((yield* Placement.inContextOrMake({ nodeId: "own" })).node()).toMatch(/^own\//)
  }).pipe(Effect.scoped, Effect.provide(MemoryStore.layer)),
)

it.live("an engine that resumes nothing takes over an instance that it has opened when the lease of its owner ends", () =>
  Effect.gen(function* () {
    const S = State({ Open: {}, Closed: {} })
    const E = Event({ Close: {} })
    let worked = 0
    const work = Effect.andThen(
      Effect.sync(() => worked++),
      Effect.never,
    )
    const machine = Machine.make({ name: "door", state: S, event: E, initial: S.Open() })
      .on(S.Open, E.Close, S.Closed)
      .spawn(S.Open, () => work)
      .final(S.Closed)
    const store = yield* Layer.build(MemoryStore.layer)
    const engine = (options: Parameters<typeof Engine.layer>[0]) =>
      Effect.map(Layer.build(Layer.fresh(Engine.layer(options)).pipe(Layer.provide(Layer.succeedContext(store)))), Context.get(Engine))
    const key = { machine: "door", id: "front" }
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* (yield* engine({ nodeId: "killed" })).start(machine, "front")
        while (worked === 0) yield* Effect.sleep(5)
      }),
    )
    // The process was killed: its lease lasts for some time.
    const { record } = Option.getOrThrow(yield* Context.get(store, Journal).open(key))
    const { owner = "" } = record
    const leased = yield* Context.get(store, Leases).acquire(`${nodeLeasePrefix}${owner.slice(0, owner.lastIndexOf("/"))}`, owner, 600)
    expect([owner.includes("killed/"), leased._tag]).toEqual([true, "Acquired"])
    const opening = yield* engine({ nodeId: "other", resume: false, lease: "1 second" })
    yield* opening.register(machine)
    yield* Option.getOrThrow(opening.find(key)).state
    expect(worked).toBe(1)
    while (worked === 1) yield* Effect.sleep(20)
  }).pipe(Effect.scoped),
)
