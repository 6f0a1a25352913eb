/** Placement by leases: which node is alive, how a dead one is fenced, and what a node does that lost its lease. */

import type { Commit, Fence } from "@detent/store"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type LeasePlacementOptions, Placement, type PlacementService } from "../../src/nodes/Placement.ts"
import type { Kit, Rig } from "./Rig.ts"
import { outage, StoreProbe } from "./StoreProbe.ts"

const short = { lease: "300 millis" } as const

const nodeOn = ({ store }: Rig, options: LeasePlacementOptions) =>
  Effect.gen(function* () {
    const probe = new StoreProbe()
    const scope = yield* Scope.make()
    yield* Effect.addFinalizer(() => Effect.forkDetach(Scope.close(scope, Exit.void)))
    const placement = yield* Placement.make(options).pipe(Scope.provide(scope), Effect.provideContext(probe.wrap(store)))
    const log: Array<string> = []
    placement.onLost(() => log.push(`lost ${placement.node()}`))
    placement.onRegained(() => log.push(`regained ${placement.node()}`))
    return { placement, probe, log, close: Scope.close(scope, Exit.void) }
  })

const fenceOf = (placement: PlacementService): Fence => placement.fence() ?? expect.fail("the node holds no lease")

/** A new instance, committed under a fence. */
const commitUnder = ({ journal }: Rig, id: string, fence: Fence) => {
  const commit: Commit = {
    machine: "placed",
    id,
    expected: -1,
    sequence: 0,
    at: 0,
    summary: { tag: "Working", status: "running", reason: undefined, version: 1, needsOwner: true, owner: undefined, owes: false },
    origin: "{}",
    events: [],
    snapshot: undefined,
    clearTimers: [],
    setTimers: [],
    commands: [],
    fence,
  }
  return Effect.map(journal.commit([commit]), ([outcome]) => outcome?._tag)
}

const passFor = (rig: Rig, rounds: number) => Effect.forEach(Array.from({ length: rounds }), () => rig.pass("50 millis"), { discard: true })

export const placing = ({ describe, leaseTest }: Kit) =>
  describe("placement by leases", () => {
    leaseTest("a node is alive while it extends its lease, and no longer once it has stopped", (rig) =>
      Effect.gen(function* () {
        const one = yield* nodeOn(rig, { ...short, nodeId: "one" })
        const two = yield* nodeOn(rig, { ...short, nodeId: "two" })
        const name = one.placement.node()
        expect(name).toMatch(/^one\/.+/)
        for (let round = 0; round < 12; round++) {
          yield* rig.pass("50 millis")
          expect(yield* two.placement.isAlive(name)).toBe(true)
        }
        expect(one.placement.node()).toBe(name)
        expect(one.log).toEqual([])
        expect(yield* commitUnder(rig, "by one", fenceOf(one.placement))).toBe("Stored")
        yield* one.close
        expect(one.placement.fence()).toBeUndefined()
        yield* rig.pass("550 millis")
        expect(yield* two.placement.isAlive(name)).toBe(false)
        expect(yield* two.placement.isAlive("stranger/1")).toBe(false)
      }),
    )

    leaseTest("a living node is not fenced; a dead one is, and the store refuses what it commits afterwards", (rig) =>
      Effect.gen(function* () {
        const one = yield* nodeOn(rig, { ...short, nodeId: "one" })
        const two = yield* nodeOn(rig, { ...short, nodeId: "two" })
        const name = one.placement.node()
        const fence = fenceOf(one.placement)
        expect(yield* two.placement.fenceDead(name)).toBe(false)
        expect(yield* commitUnder(rig, "alive", fence)).toBe("Stored")
        one.probe.isCut = true
        yield* passFor(rig, 8)
        // Its lease is over, and no node has taken anything over: the fence still holds.
        expect(yield* commitUnder(rig, "late", fence)).toBe("Stored")
        expect(yield* two.placement.fenceDead(name)).toBe(true)
        expect(yield* commitUnder(rig, "too late", fence)).toBe("Fenced")
        expect(yield* two.placement.fenceDead(name)).toBe(true)
      }),
    )

    leaseTest("99 and 139 a store that hangs past the lease: the node stops by its own clock, then returns as a new life", (rig) =>
      Effect.gen(function* () {
        const one = yield* nodeOn(rig, { ...short, nodeId: "one" })
        const name = one.placement.node()
        const fence = fenceOf(one.placement)
        let isHanging = true
        one.probe.onLease = (request) => (isHanging ? Effect.never : request)
        yield* passFor(rig, 8)
        expect(one.placement.fence()).toBeUndefined()
        expect(one.log[0]).toBe(`lost ${name}`)
        isHanging = false
        yield* rig.passUntil(
          "50 millis",
          Effect.sync(() => one.log.length),
          (length) => length === 2,
        )
        const regained = one.placement.node()
        expect(one.log).toEqual([`lost ${name}`, `regained ${regained}`])
        expect(regained).toMatch(/^one\/.+/)
        expect(regained).not.toBe(name)
        expect(fenceOf(one.placement).token).toBeGreaterThan(fence.token)
        expect(yield* commitUnder(rig, "former life", fence)).toBe("Fenced")
        expect(yield* commitUnder(rig, "new life", fenceOf(one.placement))).toBe("Stored")
        const two = yield* nodeOn(rig, { ...short, nodeId: "two" })
        expect(yield* two.placement.isAlive(name)).toBe(false)
        expect(yield* two.placement.isAlive(regained)).toBe(true)
        expect(yield* two.placement.fenceDead(name)).toBe(true)
        expect(yield* commitUnder(rig, "still alive", fenceOf(one.placement))).toBe("Stored")
      }),
    )

    leaseTest("a lease that the store grants too late is not taken for one of another process", (rig) =>
      Effect.gen(function* () {
        const one = yield* nodeOn(rig, { ...short, nodeId: "one" })
        let isHanging = true
        let isLate = true
        one.probe.onLease = (request) => {
          if (isHanging) return Effect.never
          if (!isLate) return request
          isLate = false
          return Effect.delay(request, "220 millis")
        }
        yield* passFor(rig, 7)
        isHanging = false
        yield* rig.passUntil(
          "20 millis",
          Effect.sync(() => one.log.length),
          (length) => length === 4,
        )
        expect(one.log.map((line) => line.split(" ")[0])).toEqual(["lost", "regained", "lost", "regained"])
        expect(one.placement.fence()).toBeDefined()
      }),
    )

    leaseTest("a store that fails for less than the lease costs the node nothing", (rig) =>
      Effect.gen(function* () {
        const one = yield* nodeOn(rig, { lease: "600 millis", nodeId: "one" })
        const name = one.placement.node()
        let failures = 0
        one.probe.onLease = (request) => (failures++ < 2 ? Effect.fail(outage("extend")) : request)
        yield* passFor(rig, 20)
        expect(failures).toBeGreaterThan(2)
        expect(one.placement.node()).toBe(name)
        expect(one.log).toEqual([])
      }),
    )

    leaseTest("a process that starts under the name of another takes it over at once; the former one is fenced and stays out", (rig) =>
      Effect.gen(function* () {
        const former = yield* nodeOn(rig, { ...short, nodeId: "one" })
        const name = former.placement.node()
        const fence = fenceOf(former.placement)
        const later = yield* nodeOn(rig, { ...short, nodeId: "one" })
        expect(later.placement.node()).not.toBe(name)
        expect(yield* commitUnder(rig, "former", fence)).toBe("Fenced")
        expect(yield* commitUnder(rig, "later", fenceOf(later.placement))).toBe("Stored")
        expect(yield* later.placement.isAlive(name)).toBe(false)
        yield* passFor(rig, 20)
        expect(former.log).toEqual([`lost ${name}`])
        expect(former.placement.fence()).toBeUndefined()
        expect(later.log).toEqual([])
      }),
    )

    leaseTest("an answer about a node is believed for 250 milliseconds", (rig) =>
      Effect.gen(function* () {
        const one = yield* nodeOn(rig, { ...short, nodeId: "one" })
        const two = yield* nodeOn(rig, { lease: "1 hour", nodeId: "two" })
        let asked = 0
        two.probe.onLease = (request) => {
          asked++
          return request
        }
        yield* Effect.forEach([1, 2, 3], () => two.placement.isAlive(one.placement.node()))
        expect(asked).toBe(1)
        yield* rig.pass("300 millis")
        yield* two.placement.isAlive(one.placement.node())
        expect(asked).toBe(2)
      }),
    )

    leaseTest("when the lease of a silent node ends is known ahead, and that it has ended right after", (rig) =>
      Effect.gen(function* () {
        const one = yield* nodeOn(rig, { lease: "600 millis", nodeId: "one" })
        const two = yield* nodeOn(rig, { lease: "1 hour", nodeId: "two" })
        expect(two.placement.nextEnd?.()).toBeUndefined()
        one.probe.onLease = () => Effect.fail(outage("extend"))
        expect(yield* two.placement.isAlive(one.placement.node())).toBe(true)
        const end = two.placement.nextEnd?.() ?? expect.fail("the end is not known")
        expect(end).toBeGreaterThan(0)
        expect(end).toBeLessThanOrEqual(600)
        yield* rig.pass(`${Math.ceil(end) + 30} millis`)
        expect(two.placement.nextEnd?.()).toBeUndefined()
        expect(yield* two.placement.isAlive(one.placement.node())).toBe(false)
      }),
    )
  })
