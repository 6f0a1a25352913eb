/** A node that was frozen past its lease notices that before anything that it runs continues. */
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Placement } from "../../src/engine/Placement.ts"
import * as MemoryStore from "../../src/MemoryStore.ts"

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
