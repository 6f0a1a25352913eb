import { Leases, MemoryStore } from "@detent/store"
import { expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import { LeaseHolder } from "../../src/nodes/LeaseHolder.ts"

const request = { name: "x", owner: "me", millis: 300 }

const hold = Effect.gen(function* () {
  const leases = yield* Leases
  const result = yield* LeaseHolder.tryHold(leases, request)
  return result._tag === "Held" ? { held: result.held, leases } : expect.fail("the lease is busy")
})

it.effect("holds the lease by heartbeats until it is released", () =>
  Effect.gen(function* () {
    const { held, leases } = yield* hold
    for (let round = 0; round < 20; round++) {
      yield* TestClock.adjust("50 millis")
      expect(held.isHeld()).toBe(true)
    }
    expect(yield* LeaseHolder.tryHold(leases, { ...request, owner: "you" })).toMatchObject({ _tag: "Busy", holder: { owner: "me" } })
    expect(yield* held.release).toBe(true)
    expect(held.isHeld()).toBe(false)
    expect(Option.isNone(yield* leases.get("x"))).toBe(true)
    expect(yield* held.release).toBe(false)
  }).pipe(Effect.provide(MemoryStore.layer)),
)

it.effect("is lost at the next heartbeat when another owner has acquired it", () =>
  Effect.gen(function* () {
    const { held, leases } = yield* hold
    let lost = 0
    held.onLost(() => lost++)
    yield* leases.release(held.lease)
    const other = yield* leases.acquire("x", "you", 10_000)
    yield* TestClock.adjust("100 millis")
    expect([lost, held.isHeld()]).toEqual([1, false])
    held.onLost(() => lost++)
    yield* held.awaitLost
    expect(lost).toBe(2)
    expect(yield* held.release).toBe(false)
    expect(Option.getOrThrow(yield* leases.get("x"))).toMatchObject({ owner: other._tag === "Acquired" ? "you" : "nobody" })
  }).pipe(Effect.provide(MemoryStore.layer)),
)

it.effect("an acquisition that is interrupted while the store is asked leaves no lease behind", () =>
  Effect.gen(function* () {
    const leases = yield* Leases
    const answer = yield* Deferred.make<void>()
    const slow = {
      ...leases,
      acquire: (...args: Parameters<typeof leases.acquire>) => Effect.tap(leases.acquire(...args), () => Deferred.await(answer)),
    }
    const asking = yield* Effect.forkChild(LeaseHolder.tryHold(slow, request), { startImmediately: true })
    expect(Option.isSome(yield* leases.get("x"))).toBe(true)
    yield* Fiber.interrupt(asking)
    yield* Deferred.succeed(answer, undefined)
    yield* TestClock.adjust("1 millis")
    expect(Option.isNone(yield* leases.get("x"))).toBe(true)
  }).pipe(Effect.provide(MemoryStore.layer)),
)
