/** Leader election: one leader at a time, and none that may have lost its lease. */
import { expect } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { makeLeader } from "../../src/engine/LeaderElection.ts"
import { TimedCall } from "./Machines.ts"
import type { Kit, Rig } from "./Rig.ts"
import { StoreProbe } from "./StoreProbe.ts"

const node = ({ store }: Rig, nodeId: string, probe = new StoreProbe()) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    yield* Effect.addFinalizer(() => Effect.forkDetach(Scope.close(scope, Exit.void)))
    const leader = yield* makeLeader({ name: "sweeper", nodeId, lease: "300 millis", renewal: "100 millis" }).pipe(
      Scope.provide(scope),
      Effect.provideContext(probe.wrap(store)),
    )
    return { ...leader, probe, close: Scope.close(scope, Exit.void) }
  })

export const leading = ({ describe, test, leaseTest }: Kit) =>
  describe("leader election", () => {
    leaseTest("94 and 95 one node leads and keeps leading; when it dies another takes over after the lease", (rig) =>
      Effect.gen(function* () {
        const one = yield* node(rig, "one")
        yield* rig.eventually(one.isLeader, Boolean)
        const two = yield* node(rig, "two")
        for (let round = 0; round < 10; round++) {
          yield* rig.pass("50 millis")
          expect([yield* one.isLeader, yield* two.isLeader]).toEqual([true, false])
        }
        one.probe.isCut = true
        for (let round = 0; round < 12; round++) {
          yield* rig.pass("50 millis")
          expect((yield* one.isLeader) && (yield* two.isLeader)).toBe(false)
        }
        expect([yield* one.isLeader, yield* two.isLeader]).toEqual([false, true])
      }),
    )

    leaseTest("96 and 98 a node that resigns frees the lease at once and never leads again by itself", (rig) =>
      Effect.gen(function* () {
        const one = yield* node(rig, "one")
        yield* rig.eventually(one.isLeader, Boolean)
        yield* one.resign
        expect(Option.isNone(yield* rig.leases.get("sweeper"))).toBe(true)
        for (let round = 0; round < 8; round++) yield* rig.pass("100 millis")
        expect(yield* one.isLeader).toBe(false)
        expect(Option.isNone(yield* rig.leases.get("sweeper"))).toBe(true)
        const two = yield* node(rig, "two")
        yield* rig.eventually(two.isLeader, Boolean)
        yield* two.close
        expect(Option.isNone(yield* rig.leases.get("sweeper"))).toBe(true)
      }),
    )

    leaseTest("99 a store that hangs past the lease: the leader steps down by its own clock", (rig) =>
      Effect.gen(function* () {
        const one = yield* node(rig, "one")
        yield* rig.eventually(one.isLeader, Boolean)
        one.probe.onLease = () => Effect.never
        for (let round = 0; round < 8; round++) yield* rig.pass("50 millis")
        expect(yield* one.isLeader).toBe(false)
        one.probe.onLease = (request) => request
        for (let round = 0; round < 12; round++) yield* rig.pass("50 millis")
        yield* rig.eventually(one.isLeader, Boolean)
      }),
    )

    test("97 a renewal that cannot keep the lease is refused at construction", ({ open }) =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(open({ sweeper: { leader: { name: "x", lease: "1 second", renewal: "1 second" } } }))
        expect(Exit.isFailure(exit) && Cause.squash(exit.cause)).toMatchObject({ _tag: "DefinitionError" })
      }))

    leaseTest("93 only the leader sweeps; when it stops, the other node does", (rig) =>
      Effect.gen(function* () {
        const leader = { name: "timers", lease: "300 millis", renewal: "100 millis" } as const
        const sweeper = { interval: "50 millis", jitter: 0, backoffOnEmpty: "1 millis", leader } as const
        const one = yield* rig.open({ sweeper })
        yield* one.engine.register(TimedCall)
        yield* rig.eventually(
          Effect.andThen(
            rig.pass("50 millis"),
            Effect.sync(() => one.probe.claims.length),
          ),
          (claims) => claims > 2,
        )
        const two = yield* rig.open({ sweeper })
        yield* two.engine.register(TimedCall)
        for (let round = 0; round < 10; round++) yield* rig.pass("50 millis")
        expect(two.probe.claims).toEqual([])
        yield* one.close
        for (let round = 0; round < 10; round++) yield* rig.pass("50 millis")
        yield* rig.eventually(
          Effect.andThen(
            rig.pass("50 millis"),
            Effect.sync(() => two.probe.claims.length),
          ),
          (claims) => claims > 2,
        )
      }),
    )
  })
