/** Leases by name: one holder at a time, as of a leader election, and none that may have lost its lease. */
import { expect } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { defaultLock, type HeldLease, holdLease, type LockConfig } from "../../src/nodes/HeldLease.ts"
import type { Kit, Rig } from "./Rig.ts"
import { StoreProbe } from "./StoreProbe.ts"

const config: LockConfig = { duration: "300 millis", heartbeat: "100 millis", retryInterval: "50 millis", acquireTimeout: "Infinity" }

/** A process that takes part in an election: it leads for as long as it holds the lease. */
const candidate = ({ store }: Rig, nodeId: string) =>
  Effect.gen(function* () {
    const probe = new StoreProbe()
    const scope = yield* Scope.make()
    yield* Effect.addFinalizer(() => Effect.forkDetach(Scope.close(scope, Exit.void)))
    let lease: HeldLease | undefined
    const campaign = holdLease("leader", { ...config, nodeId }).pipe(
      Effect.tap((held) => Effect.sync(() => (lease = held))),
      Scope.provide(scope),
      Effect.provideContext(probe.wrap(store)),
    )
    const campaigning = yield* Effect.forkChild(campaign, { startImmediately: true })
    return {
      probe,
      leads: Effect.suspend(() => lease?.isHeld ?? Effect.succeed(false)),
      lost: Effect.suspend(() => (lease === undefined ? Effect.never : Effect.flip(lease.lost))),
      resign: Effect.andThen(Fiber.interrupt(campaigning), Scope.close(scope, Exit.void)),
    }
  })

export const leases = ({ describe, test, leaseTest }: Kit) =>
  describe("leases by name", () => {
    leaseTest("94 and 95 one process leads and keeps leading; when it dies another takes over after the lease", (rig) =>
      Effect.gen(function* () {
        const one = yield* candidate(rig, "one")
        yield* rig.eventually(one.leads, Boolean)
        const two = yield* candidate(rig, "two")
        for (let round = 0; round < 10; round++) {
          yield* rig.pass("50 millis")
          expect([yield* one.leads, yield* two.leads]).toEqual([true, false])
        }
        one.probe.isCut = true
        for (let round = 0; round < 12; round++) {
          yield* rig.pass("50 millis")
          expect((yield* one.leads) && (yield* two.leads)).toBe(false)
        }
        expect([yield* one.leads, yield* two.leads]).toEqual([false, true])
      }),
    )

    leaseTest("93, 96 and 98 one that resigns frees the lease at once and never leads again by itself", (rig) =>
      Effect.gen(function* () {
        const one = yield* candidate(rig, "one")
        yield* rig.eventually(one.leads, Boolean)
        yield* one.resign
        expect(Option.isNone(yield* rig.leases.get("named/leader"))).toBe(true)
        for (let round = 0; round < 8; round++) yield* rig.pass("100 millis")
        expect(yield* one.leads).toBe(false)
        const two = yield* candidate(rig, "two")
        yield* rig.eventually(two.leads, Boolean)
        yield* two.resign
        expect(Option.isNone(yield* rig.leases.get("named/leader"))).toBe(true)
      }),
    )

    leaseTest("99 a store that hangs past the lease: the leader steps down by its own clock, and is notified", (rig) =>
      Effect.gen(function* () {
        const one = yield* candidate(rig, "one")
        yield* rig.eventually(one.leads, Boolean)
        one.probe.onLease = () => Effect.never
        for (let round = 0; round < 8; round++) yield* rig.pass("50 millis")
        expect(yield* one.leads).toBe(false)
        expect(yield* one.lost).toMatchObject({ _tag: "LeaseNotHeld", name: "leader", problem: "lost" })
      }),
    )

    leaseTest("one that does not wait is refused with the holder and its end", (rig) =>
      Effect.gen(function* () {
        const held = yield* Effect.provideContext(holdLease("job", { ...config, nodeId: "one" }), rig.store)
        const refused = yield* Effect.flip(
          Effect.scoped(Effect.provideContext(holdLease("job", { ...config, nodeId: "two", acquireTimeout: 0 }), rig.store)),
        )
        expect(refused).toMatchObject({ _tag: "LeaseNotHeld", name: "job", problem: "busy", holder: "one" })
        expect(refused.message).toMatch(/^one holds the lease job until .*; try again when it is released, or raise acquireTimeout$/)
        // Another name is another lease.
        yield* Effect.scoped(Effect.provideContext(holdLease("other", { ...config, acquireTimeout: 0 }), rig.store))
        expect(yield* held.isHeld).toBe(true)
      }),
    )

    test("97 a heartbeat that cannot keep the lease is refused", ({ store }) =>
      Effect.gen(function* () {
        const lease = holdLease("x", { ...defaultLock, duration: "1 second", heartbeat: "1 second" })
        const exit = yield* Effect.exit(Effect.scoped(Effect.provideContext(lease, store)))
        expect(Exit.isFailure(exit) && Cause.squash(exit.cause)).toMatchObject({ _tag: "DefinitionError" })
      }))
  })
