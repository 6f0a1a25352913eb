/** Locks on instances: by hand, and around all events of an engine. Durations are short: some stores keep real time. */

import type { LockingFailed } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { defaultLock, fastLock, type LockConfig, leaseName, longRunningLock } from "../../src/nodes/HeldLease.ts"
import { E, Job, S } from "./Machines.ts"
import type { Kit, Opened } from "./Rig.ts"
import { outage, StoreProbe } from "./StoreProbe.ts"

const key = { machine: "job", id: "j" }

const config = (nodeId: string, change: Partial<LockConfig> = {}): LockConfig => ({
  duration: "600 millis",
  acquireTimeout: "300 millis",
  retryInterval: "20 millis",
  nodeId,
  ...change,
})

/** Takes the lock once, without waiting. It is released by hand, or when the test ends. */
const take = ({ engine }: Opened, nodeId: string, change: Partial<LockConfig> = {}) =>
  engine.lock(key, config(nodeId, { acquireTimeout: 0, ...change }))

/** A node that no longer extends its leases, like one that is frozen. */
const freeze = ({ probe }: Pick<Opened, "probe">) => {
  probe.onLease = () => Effect.never
}

export const locking = ({ describe, leaseTest }: Kit) => {
  describe("instance locks", () => {
    leaseTest("100 a lock that is held is busy, and the error names its holder and its end", (rig) =>
      Effect.gen(function* () {
        const one = yield* rig.open()
        const two = yield* rig.open()
        const held = yield* take(one, "one")
        const lease = Option.getOrThrow(yield* rig.leases.get(leaseName(key)))
        expect(yield* Effect.flip(Effect.scoped(take(two, "two")))).toMatchObject({
          _tag: "LockingFailed",
          ...key,
          problem: "busy",
          holder: "one",
          until: lease.expiresAt,
        })
        expect(yield* held.release).toBe(true)
        expect(yield* held.isHeld).toBe(false)
        expect(Option.isNone(yield* rig.leases.get(leaseName(key)))).toBe(true)
        yield* Effect.scoped(take(two, "two"))
      }),
    )

    leaseTest("101 a lock that has ended can be acquired, under a newer token; the old holder releases nothing", (rig) =>
      Effect.gen(function* () {
        const one = yield* rig.open()
        const two = yield* rig.open()
        const old = yield* take(one, "one", { duration: "100 millis" })
        freeze(one)
        yield* rig.pass("150 millis")
        const held = yield* take(two, "two")
        expect(held.fence.token).toBeGreaterThan(old.fence.token)
        expect(yield* old.isHeld).toBe(false)
        expect(yield* old.release).toBe(false)
        expect(yield* Effect.map(rig.leases.get(leaseName(key)), Option.getOrUndefined)).toMatchObject({ owner: "two" })
      }),
    )

    leaseTest("102 two fibers of one node exclude each other", (rig) =>
      Effect.gen(function* () {
        const { engine } = yield* rig.open({ lock: config("one", { acquireTimeout: "5 seconds" }) })
        let inside = 0
        let most = 0
        const work = Effect.gen(function* () {
          most = Math.max(most, ++inside)
          yield* Effect.yieldNow
          yield* rig.quiet
          inside--
        })
        const locked = Effect.scoped(Effect.andThen(engine.lock(key), work))
        const working = yield* Effect.forkChild(
          Effect.forEach([1, 2, 3, 4], () => locked, { concurrency: "unbounded" }),
          { startImmediately: true },
        )
        for (let round = 0; round < 30 && working.pollUnsafe() === undefined; round++) yield* rig.pass("20 millis")
        yield* Fiber.join(working)
        expect(most).toBe(1)
      }),
    )

    leaseTest("103 a caller that waits gets the lock when it is free, or a clear time-out", (rig) =>
      Effect.gen(function* () {
        const one = yield* rig.open()
        const two = yield* rig.open({ lock: config("two") })
        const held = yield* take(one, "one")
        const waiting = yield* Effect.forkChild(Effect.flip(Effect.scoped(two.engine.lock(key))), { startImmediately: true })
        yield* rig.pass("400 millis")
        expect(yield* Fiber.join(waiting)).toMatchObject({ _tag: "LockingFailed", problem: "timed out", ...key })
        const patient = yield* Effect.forkChild(Effect.scoped(two.engine.lock(key)), { startImmediately: true })
        yield* rig.pass("40 millis")
        yield* held.release
        yield* rig.pass("40 millis")
        yield* Fiber.join(patient)
      }),
    )

    leaseTest("103 a caller that waits can be interrupted, and leaves no lock behind", (rig) =>
      Effect.gen(function* () {
        const one = yield* rig.open()
        const two = yield* rig.open()
        const held = yield* take(one, "one")
        const patient = Effect.scoped(two.engine.lock(key, config("two", { acquireTimeout: "Infinity" })))
        const waiting = yield* Effect.forkChild(patient, { startImmediately: true })
        yield* rig.pass("40 millis")
        yield* Fiber.interrupt(waiting)
        yield* held.release
        yield* rig.pass("100 millis")
        expect(Option.isNone(yield* rig.leases.get(leaseName(key)))).toBe(true)
      }),
    )

    leaseTest("105 an effect that fails, dies or is interrupted releases the lock", (rig) =>
      Effect.gen(function* () {
        const { engine } = yield* rig.open({ lock: config("one") })
        const locked = <A, E>(effect: Effect.Effect<A, E>) => Effect.scoped(Effect.andThen(engine.lock(key), effect))
        const lease = rig.leases.get(leaseName(key))
        expect(yield* Effect.flip(locked(Effect.fail("no")))).toBe("no")
        expect(Option.isNone(yield* lease)).toBe(true)
        yield* Effect.exit(locked(Effect.die("dead")))
        expect(Option.isNone(yield* lease)).toBe(true)
        const working = yield* Effect.forkChild(locked(Effect.never), { startImmediately: true })
        yield* rig.eventually(lease, Option.isSome)
        yield* Fiber.interrupt(working)
        expect(Option.isNone(yield* lease)).toBe(true)
      }),
    )

    leaseTest("106 a heartbeat keeps the lock for as long as the work lasts", (rig) =>
      Effect.gen(function* () {
        const one = yield* rig.open()
        const two = yield* rig.open()
        const held = yield* take(one, "one", { duration: "300 millis", heartbeat: "50 millis" })
        for (let round = 0; round < 12; round++) yield* rig.pass("50 millis")
        expect(yield* held.isHeld).toBe(true)
        expect(yield* Effect.flip(Effect.scoped(take(two, "two")))).toMatchObject({ holder: "one" })
      }),
    )

    leaseTest("106 a caller finds out that its lock was lost, and releases nothing of the next holder", (rig) =>
      Effect.gen(function* () {
        const one = yield* rig.open()
        const two = yield* rig.open()
        const scope = yield* Scope.make()
        const held = yield* Scope.provide(take(one, "one", { duration: "200 millis", heartbeat: "100 millis" }), scope)
        const working = yield* Effect.forkChild(Effect.result(Effect.raceFirst(Effect.never, held.lost)), { startImmediately: true })
        let away = true
        one.probe.onLease = (request) => (away ? Effect.andThen(rig.quiet, Effect.fail(outage("extend"))) : request)
        for (let round = 0; round < 6; round++) yield* rig.pass("50 millis")
        yield* take(two, "two")
        away = false
        for (let round = 0; round < 4; round++) yield* rig.pass("50 millis")
        expect(yield* Fiber.join(working)).toMatchObject({ _tag: "Failure", failure: { _tag: "LockingFailed", problem: "lost", ...key } })
        yield* Scope.close(scope, Exit.void)
        expect(yield* Effect.map(rig.leases.get(leaseName(key)), Option.getOrUndefined)).toMatchObject({ owner: "two" })
      }),
    )

    leaseTest("presets say how long they hold and wait", () =>
      Effect.sync(() => {
        expect([defaultLock, fastLock, longRunningLock].map(({ duration, acquireTimeout }) => [duration, acquireTimeout])).toEqual([
          ["30 seconds", "10 seconds"],
          ["10 seconds", "5 seconds"],
          ["5 minutes", "30 seconds"],
        ])
      }),
    )
  })

  describe("an engine with locks", () => {
    leaseTest("107 one lock serves many sends, and is released after them", (rig) =>
      Effect.gen(function* () {
        const probe = new StoreProbe()
        let acquired = 0
        probe.onLease = (request) =>
          Effect.tap(request, (result) =>
            Effect.sync(() => {
              if ((result as { readonly _tag?: string })._tag === "Acquired") acquired++
            }),
          )
        const { engine } = yield* rig.open({ lock: config("one"), probe })
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        yield* Effect.forEach(Array.from({ length: 50 }), () => job.send(E.Add({ by: 1 })), { concurrency: "unbounded" })
        expect(yield* job.state).toEqual(S.Busy({ n: 50 }))
        expect(acquired).toBeLessThan(5)
        yield* rig.eventually(rig.leases.get(leaseName(key)), Option.isNone)
        expect((yield* rig.events(key)).length).toBe(50)
      }),
    )

    leaseTest("100, 103 and 107 a send to an instance that is locked elsewhere fails after the time-out; later sends work", (rig) =>
      Effect.gen(function* () {
        const { engine } = yield* rig.open({ lock: config("one") })
        const outside = yield* rig.open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        const held = yield* take(outside, "outside", { duration: "1 hour" })
        const sending = yield* Effect.forkChild(
          Effect.forEach([1, 2], (by) => Effect.flip(job.send(E.Add({ by }))), { concurrency: "unbounded" }),
          { startImmediately: true },
        )
        for (let round = 0; round < 8; round++) yield* rig.pass("50 millis")
        for (const error of yield* Fiber.join(sending)) expect(error).toMatchObject({ _tag: "LockingFailed", problem: "timed out" })
        expect(yield* rig.events(key)).toEqual([])
        yield* held.release
        yield* job.send(E.Add({ by: 5 }))
        expect(yield* job.state).toEqual(S.Busy({ n: 5 }))
      }),
    )

    leaseTest("108 after waiting, the event is decided on the state that the other node stored, without a conflict", (rig) =>
      Effect.gen(function* () {
        const one = yield* rig.open({ lock: config("one", { acquireTimeout: "5 seconds" }) })
        const two = yield* rig.open({ lock: config("two", { acquireTimeout: "5 seconds" }) })
        yield* one.engine.start(Job, "j", S.Busy({ n: 0 }))
        const handles = yield* Effect.forEach([one, two], ({ engine }) => engine.ensure(Job, "j"))
        const sending = yield* Effect.forkChild(
          Effect.forEach(
            Array.from({ length: 20 }, (_, index) => index),
            (index) => (handles[index % 2] as (typeof handles)[number]).send(E.Add({ by: 1 })),
            { concurrency: "unbounded" },
          ),
          { startImmediately: true },
        )
        for (let round = 0; round < 60 && sending.pollUnsafe() === undefined; round++) yield* rig.pass("20 millis")
        yield* Fiber.join(sending)
        expect(yield* rig.events(key)).toHaveLength(20)
        // Each event was stored by its first commit: none met a sequence that another node had stored.
        const commits = [one, two].flatMap(({ probe }) => probe.batches.flat().filter(({ events }) => events.length > 0))
        expect(commits.flatMap(({ events }) => events)).toHaveLength(20)
        const third = yield* rig.open()
        expect(yield* (yield* third.engine.ensure(Job, "j")).state).toEqual(S.Busy({ n: 20 }))
      }),
    )

    leaseTest("109 and 104 a node that was frozen is refused at its commit, before any side effect", (rig) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const Noted = Job.enter(S.Paused, () => Effect.sync(() => void log.push("zombie acted")))
        const probe = new StoreProbe()
        const one = yield* rig.open({ lock: config("one", { duration: "150 millis" }), probe })
        const two = yield* rig.open({ lock: config("two", { acquireTimeout: "5 seconds" }) })
        const zombie = yield* one.engine.start(Noted, "j", S.Busy({ n: 0 }))
        const gate = yield* Deferred.make<void>()
        probe.onCommit = (_, commit) => Effect.andThen(Deferred.await(gate), commit)
        const pausing = yield* Effect.forkChild(Effect.flip(zombie.send(E.Pause())), { startImmediately: true })
        yield* rig.eventually(
          Effect.sync(() => probe.batches.length),
          (count) => count === 2,
        )
        freeze(one)
        yield* rig.pass("200 millis")
        const other = yield* two.engine.ensure(Job, "j")
        yield* other.send(E.Add({ by: 0 }))
        probe.onCommit = (_, commit) => commit
        probe.onLease = (request) => request
        yield* Deferred.succeed(gate, undefined)
        expect(yield* Fiber.join(pausing)).toMatchObject({ _tag: "LockingFailed", problem: "lost" } satisfies Partial<LockingFailed>)
        expect(log).toEqual([])
        expect((yield* rig.events(key)).map(({ tag }) => tag)).toEqual(["Add"])
        yield* rig.pass("50 millis")
        yield* zombie.send(E.Add({ by: 1 }))
        expect(yield* zombie.state).toEqual(S.Busy({ n: 1 }))
      }),
    )

    leaseTest("105 an instance that ends, is refused or throws holds no lock afterwards", (rig) =>
      Effect.gen(function* () {
        const { engine } = yield* rig.open({ lock: config("one") })
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        yield* Effect.flip(job.send(E.Start()))
        yield* rig.eventually(rig.leases.get(leaseName(key)), Option.isNone)
        yield* Effect.flip(job.send(E.Boom()))
        yield* rig.eventually(rig.leases.get(leaseName(key)), Option.isNone)
        yield* job.send(E.Quit())
        yield* rig.eventually(rig.leases.get(leaseName(key)), Option.isNone)
      }),
    )
  })
}
