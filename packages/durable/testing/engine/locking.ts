/** Locks on instances: alone, and around everything an engine does. Durations are short: some stores keep real time. */
import type { LockingFailed } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { defaultLock, fastLock, InstanceLock, type LockConfig, leaseName, longRunningLock } from "../../src/engine/InstanceLock.ts"
import { E, Job, S } from "./Machines.ts"
import type { Kit, Rig } from "./Rig.ts"
import { outage, StoreProbe } from "./StoreProbe.ts"

const key = { machine: "job", id: "j" }

const config = (nodeId: string, change: Partial<LockConfig> = {}): LockConfig => ({
  duration: "600 millis",
  acquireTimeout: "300 millis",
  retryInterval: "20 millis",
  onLost: "interrupt",
  nodeId,
  ...change,
})

/** A lock without a heartbeat: it ends like the lock of a frozen node. */
const frozen = { heartbeat: "1 hour" } as const

const locksOf = ({ store }: Rig, lock: LockConfig, probe = new StoreProbe()) =>
  Effect.map(Layer.build(Layer.fresh(InstanceLock.layer(lock)).pipe(Layer.provide(Layer.succeedContext(probe.wrap(store))))), (context) =>
    Context.get(context, InstanceLock),
  )

export const locking = ({ describe, leaseTest }: Kit) => {
  describe("instance locks", () => {
    leaseTest("100 a lock that is held is busy, and the error names its holder and its end", (rig) =>
      Effect.gen(function* () {
        const one = yield* locksOf(rig, config("one"))
        const two = yield* locksOf(rig, config("two"))
        const held = yield* one.tryAcquire(key)
        const lease = Option.getOrThrow(yield* one.get(key))
        expect(yield* Effect.flip(two.tryAcquire(key))).toMatchObject({
          _tag: "LockingFailed",
          ...key,
          problem: "busy",
          holder: "one",
          until: lease.expiresAt,
        })
        expect(yield* held.release).toBe(true)
        expect(Option.isNone(yield* two.get(key))).toBe(true)
        yield* (yield* two.tryAcquire(key)).release
      }),
    )

    leaseTest("101 a lock that has ended can be acquired, under a newer token; the old holder releases nothing", (rig) =>
      Effect.gen(function* () {
        const one = yield* locksOf(rig, config("one", { duration: "100 millis", ...frozen }))
        const two = yield* locksOf(rig, config("two"))
        const old = yield* one.tryAcquire(key)
        yield* rig.pass("150 millis")
        const held = yield* two.tryAcquire(key)
        expect(held.fence.token).toBeGreaterThan(old.fence.token)
        expect(yield* old.release).toBe(false)
        expect(yield* Effect.map(two.get(key), Option.getOrUndefined)).toMatchObject({ owner: "two" })
        yield* held.release
      }),
    )

    leaseTest("102 two fibers of one node exclude each other", (rig) =>
      Effect.gen(function* () {
        const locks = yield* locksOf(rig, config("one", { acquireTimeout: "5 seconds" }))
        let inside = 0
        let most = 0
        const work = Effect.gen(function* () {
          most = Math.max(most, ++inside)
          yield* Effect.yieldNow
          yield* rig.quiet
          inside--
        })
        const working = yield* Effect.forkChild(
          Effect.forEach([1, 2, 3, 4], () => locks.withLock(key, work), { concurrency: "unbounded" }),
          { startImmediately: true },
        )
        for (let round = 0; round < 30 && working.pollUnsafe() === undefined; round++) yield* rig.pass("20 millis")
        yield* Fiber.join(working)
        expect(most).toBe(1)
      }),
    )

    leaseTest("103 a caller that waits gets the lock when it is free, or a clear time-out", (rig) =>
      Effect.gen(function* () {
        const one = yield* locksOf(rig, config("one"))
        const two = yield* locksOf(rig, config("two"))
        const held = yield* one.acquire(key)
        const waiting = yield* Effect.forkChild(Effect.flip(two.acquire(key)), { startImmediately: true })
        yield* rig.pass("400 millis")
        expect(yield* Fiber.join(waiting)).toMatchObject({ _tag: "LockingFailed", problem: "timed out", ...key })
        const again = yield* Effect.forkChild(Effect.flip(two.withLock(key, Effect.void)), { startImmediately: true })
        yield* rig.pass("400 millis")
        expect(yield* Fiber.join(again)).toMatchObject({ problem: "timed out" })
        const patient = yield* Effect.forkChild(two.acquire(key), { startImmediately: true })
        yield* rig.pass("40 millis")
        yield* held.release
        yield* rig.pass("40 millis")
        yield* (yield* Fiber.join(patient)).release
      }),
    )

    leaseTest("103 a caller that waits can be interrupted, and leaves no lock behind", (rig) =>
      Effect.gen(function* () {
        const one = yield* locksOf(rig, config("one"))
        const two = yield* locksOf(rig, config("two", { acquireTimeout: "1 hour" }))
        const held = yield* one.acquire(key)
        const waiting = yield* Effect.forkChild(two.withLock(key, Effect.void), { startImmediately: true })
        yield* rig.pass("40 millis")
        yield* Fiber.interrupt(waiting)
        yield* held.release
        yield* rig.pass("100 millis")
        expect(Option.isNone(yield* one.get(key))).toBe(true)
      }),
    )

    leaseTest("105 an effect that fails, dies or is interrupted releases the lock", (rig) =>
      Effect.gen(function* () {
        const locks = yield* locksOf(rig, config("one"))
        expect(yield* Effect.flip(locks.withLock(key, Effect.fail("no")))).toBe("no")
        expect(Option.isNone(yield* locks.get(key))).toBe(true)
        yield* Effect.exit(locks.withLock(key, Effect.die("dead")))
        expect(Option.isNone(yield* locks.get(key))).toBe(true)
        const working = yield* Effect.forkChild(locks.withLock(key, Effect.never), { startImmediately: true })
        yield* rig.eventually(locks.get(key), Option.isSome)
        yield* Fiber.interrupt(working)
        expect(Option.isNone(yield* locks.get(key))).toBe(true)
      }),
    )

    leaseTest("106 a heartbeat keeps the lock for as long as the work lasts", (rig) =>
      Effect.gen(function* () {
        const one = yield* locksOf(rig, config("one", { duration: "300 millis", heartbeat: "50 millis" }))
        const two = yield* locksOf(rig, config("two"))
        const gate = yield* Deferred.make<void>()
        const working = yield* Effect.forkChild(one.withLock(key, Deferred.await(gate)), { startImmediately: true })
        for (let round = 0; round < 12; round++) yield* rig.pass("50 millis")
        expect(yield* Effect.flip(two.tryAcquire(key))).toMatchObject({ holder: "one" })
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(working)
        yield* (yield* two.tryAcquire(key)).release
      }),
    )

    leaseTest("106 work under a lock that was lost is interrupted with a typed error, or continues, as configured", (rig) =>
      Effect.gen(function* () {
        for (const onLost of ["interrupt", "continue"] as const) {
          const probe = new StoreProbe()
          const one = yield* locksOf(rig, config("one", { duration: "200 millis", heartbeat: "100 millis", onLost }), probe)
          const two = yield* locksOf(rig, config("two"))
          const gate = yield* Deferred.make<void>()
          const working = yield* Effect.forkChild(Effect.result(one.withLock(key, Effect.as(Deferred.await(gate), "done"))), {
            startImmediately: true,
          })
          yield* rig.eventually(two.get(key), Option.isSome)
          let away = true
          probe.onLease = (request) => (away ? Effect.andThen(rig.quiet, Effect.fail(outage("extend"))) : request)
          for (let round = 0; round < 6; round++) yield* rig.pass("50 millis")
          const taken = yield* two.tryAcquire(key)
          away = false
          for (let round = 0; round < 4; round++) yield* rig.pass("50 millis")
          yield* Deferred.succeed(gate, undefined)
          const result = yield* Fiber.join(working)
          if (onLost === "continue") expect(result).toMatchObject({ _tag: "Success", success: "done" })
          else expect(result).toMatchObject({ _tag: "Failure", failure: { _tag: "LockingFailed", problem: "lost" } })
          expect(yield* Effect.map(two.get(key), Option.getOrUndefined)).toMatchObject({ owner: "two" })
          yield* taken.release
        }
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
        const outside = yield* locksOf(rig, config("outside", { duration: "1 hour" }))
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        const held = yield* outside.tryAcquire(key)
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
        const one = yield* rig.open({ lock: config("one", { acquireTimeout: "5 seconds" }), onConflict: "fail" })
        const two = yield* rig.open({ lock: config("two", { acquireTimeout: "5 seconds" }), onConflict: "fail" })
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
        const third = yield* rig.open()
        expect(yield* (yield* third.engine.ensure(Job, "j")).state).toEqual(S.Busy({ n: 20 }))
      }),
    )

    leaseTest("109 and 104 a node that was frozen is refused at its commit, before any side effect", (rig) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const Noted = Job.enter(S.Paused, () => Effect.sync(() => void log.push("zombie acted")))
        const probe = new StoreProbe()
        const one = yield* rig.open({ lock: config("one", { duration: "150 millis", ...frozen }), probe })
        const two = yield* rig.open({ lock: config("two", { acquireTimeout: "5 seconds" }) })
        const zombie = yield* one.engine.start(Noted, "j", S.Busy({ n: 0 }))
        const gate = yield* Deferred.make<void>()
        probe.onCommit = (_, commit) => Effect.andThen(Deferred.await(gate), commit)
        const pausing = yield* Effect.forkChild(Effect.flip(zombie.send(E.Pause())), { startImmediately: true })
        yield* rig.eventually(
          Effect.sync(() => probe.batches.length),
          (count) => count === 2,
        )
        yield* rig.pass("200 millis")
        const other = yield* two.engine.ensure(Job, "j")
        yield* other.send(E.Add({ by: 0 }))
        probe.onCommit = (_, commit) => commit
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
