/** The safety net under timers. */
import { Event, Machine, RetryPolicy, State } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { timersStale } from "../../src/runtime/Telemetry.ts"
import { T, TimedCall, V } from "./Machines.ts"
import type { Kit, Opened, Rig } from "./Rig.ts"
import { outage, StoreProbe } from "./StoreProbe.ts"

const key = (id: string) => ({ machine: "call", id })

/** Instances whose deadlines are in the store while no process has them in memory. */
const orphans = ({ open }: Rig, ids: ReadonlyArray<string>, between: Effect.Effect<void> = Effect.void) =>
  Effect.gen(function* () {
    const gone = yield* open()
    yield* Effect.forEach(ids, (id) => Effect.andThen(gone.engine.start(TimedCall, id), between))
    yield* gone.crash
  })

const fired = (opened: Opened): ReadonlyArray<string> =>
  opened.probe.batches.flat().flatMap(({ id, events }) => events.map(({ tag }) => `${id} ${tag}`))

/** An engine that sweeps only when told. */
const idle = { sweeper: { interval: "1000 hours" as const } }

export const sweeping = ({ describe, test }: Kit) =>
  describe("the sweeper", () => {
    test("86 fires what is due and nothing else, oldest first, at most a batch", (rig) =>
      Effect.gen(function* () {
        yield* orphans(rig, ["a", "b", "c", "d"], rig.pass("10 seconds"))
        const probe = new StoreProbe()
        probe.onClaim = () => Effect.fail(outage("claim"))
        const opened = yield* rig.open({ sweeper: { ...idle.sweeper, batchSize: 2 }, probe })
        yield* opened.engine.register(TimedCall)
        yield* rig.quiet
        yield* rig.pass("45 seconds")
        probe.onClaim = (claim) => claim
        expect(yield* opened.engine.sweep).toEqual({ fired: 2, stale: 0, failed: 0, dead: 0 })
        expect(fired(opened)).toEqual(["a (timeout)", "b (timeout)"])
        expect(probe.claimed.at(-1)?.map(({ id }) => id)).toEqual(["a", "b"])
        expect(yield* opened.engine.sweep).toMatchObject({ fired: 1 })
        expect(yield* opened.engine.sweep).toMatchObject({ fired: 0 })
        expect((yield* rig.record(key("d"))).tag).toBe("Waiting")
      }))

    test("86 fires nothing by hand after its engine was closed", (rig) =>
      Effect.gen(function* () {
        yield* orphans(rig, ["a"])
        yield* rig.pass("1 hour")
        const probe = new StoreProbe()
        probe.onClaim = () => Effect.fail(outage("claim"))
        const { engine, close } = yield* rig.open({ ...idle, probe })
        yield* engine.register(TimedCall)
        yield* rig.quiet
        yield* close
        probe.onClaim = (claim) => claim
        expect(yield* engine.sweep).toMatchObject({ fired: 0 })
        expect(probe.claimed).toEqual([])
        expect((yield* rig.record(key("a"))).tag).toBe("Waiting")
      }))

    test("86 and 91 sweeps by itself: what is overdue at once, what comes due on time, in full batches without a pause", (rig) =>
      Effect.gen(function* () {
        yield* orphans(rig, ["a", "b", "c", "d", "e"])
        yield* rig.pass("1 hour")
        const opened = yield* rig.open({ sweeper: { batchSize: 2 } })
        yield* opened.engine.register(TimedCall)
        yield* rig.pass("1 millis")
        yield* rig.eventually(
          Effect.sync(() => fired(opened).length),
          (count) => count === 5,
        )
        expect(opened.probe.claimed.map((batch) => batch.length).filter((size) => size > 0)).toEqual([2, 2, 1])
      }))

    test("91 an empty store is asked less and less often", ({ open, pass }) =>
      Effect.gen(function* () {
        const opened = yield* open({ sweeper: { interval: "5 seconds" } })
        yield* opened.engine.register(TimedCall)
        yield* pass("1 millis")
        const before = opened.probe.claims.length
        for (let second = 0; second < 60; second++) yield* pass("1 second")
        // Once in 15 to 16 seconds.
        expect(opened.probe.claims.length - before).toBeGreaterThanOrEqual(3)
        expect(opened.probe.claims.length - before).toBeLessThanOrEqual(4)
      }))

    test("87 two engines sweep, each timer fires once", (rig) =>
      Effect.gen(function* () {
        const ids = Array.from({ length: 30 }, (_, index) => `c-${index}`)
        yield* orphans(rig, ids)
        yield* rig.pass("1 hour")
        const engines = yield* Effect.forEach([1, 2, 3], () => rig.open({ sweeper: { batchSize: 7 } }))
        yield* Effect.forEach(engines, ({ engine }) => engine.register(TimedCall), { concurrency: "unbounded" })
        yield* rig.pass("1 millis")
        yield* rig.eventually(
          Effect.sync(() => engines.flatMap(fired).length),
          (count) => count >= 30,
        )
        yield* rig.pass("1 minute")
        expect(engines.flatMap(fired)).toHaveLength(30)
        for (const id of ids) expect(yield* rig.events(key(id))).toHaveLength(1)
      }))

    test("87 and 59 an instance in the memory of two engines meets its deadline once", ({ open, pass, events, eventually }) =>
      Effect.gen(function* () {
        const one = yield* open()
        const two = yield* open()
        const call = yield* one.engine.start(TimedCall, "c")
        const other = yield* two.engine.ensure(TimedCall, "c")
        yield* other.state
        yield* pass("1 minute")
        yield* eventually(events(key("c")), (stored) => stored.length === 1)
        yield* pass("1 minute")
        expect(yield* events(key("c"))).toHaveLength(1)
        expect((yield* call.state)._tag).toBe("Late")
        expect((yield* other.state)._tag).toBe("Late")
      }))

    test("88 a stale timer is dropped and counted, and changes nothing", (rig) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* rig.open(idle)
        const call = yield* engine.start(TimedCall, "c")
        yield* rig.quiet
        yield* call.send(V.Answer())
        const before = yield* Metric.value(timersStale)
        probe.onClaim = <A>(): Effect.Effect<A> => Effect.succeed([{ ...key("c"), name: "timeout", entry: 0, due: 0, attempts: 1 }] as A)
        expect(yield* engine.sweep).toEqual({ fired: 0, stale: 1, failed: 0, dead: 0 })
        expect((yield* Metric.value(timersStale)).count - before.count).toBe(1)
        expect((yield* call.state)._tag).toBe("Answered")
        expect(yield* rig.events(key("c"))).toHaveLength(1)
      }))

    test("88 a deadline another node set is not stale because this one remembers an older state", ({
      open,
      pass,
      eventually,
      events,
      deadlines,
    }) =>
      Effect.gen(function* () {
        const At = State({ Calm: {}, Timed: {}, Over: {} })
        const Go = Event({ Begin: {} })
        const Bomb = Machine.make({ name: "call", state: At, event: Go, initial: At.Calm() })
          .on(At.Calm, Go.Begin, At.Timed)
          .timeout(At.Timed, "1 minute", At.Over)
        const one = yield* open()
        const two = yield* open(idle)
        const bomb = yield* one.engine.start(Bomb, "c")
        const remembered = yield* two.engine.ensure(Bomb, "c")
        expect((yield* remembered.state)._tag).toBe("Calm")
        yield* bomb.send(Go.Begin())
        yield* one.crash
        yield* pass("2 minutes")
        // A store that notifies other nodes of changes may have notified this one, whose own timer has fired then.
        expect(yield* two.engine.sweep).toMatchObject({ stale: 0 })
        yield* eventually(remembered.state, ({ _tag }) => _tag === "Over")
        expect(yield* deadlines(key("c"))).toEqual([])
        expect(yield* events(key("c"))).toHaveLength(2)
      }))

    test("89 a timer that fails to fire is released; after its attempts it is a dead letter, and can be revived", (rig) =>
      Effect.gen(function* () {
        yield* orphans(rig, ["c"])
        yield* rig.pass("1 hour")
        const opened = yield* rig.open({
          sweeper: { retry: RetryPolicy.fixed({ delay: 0, maxAttempts: 3 }), interval: "1 second" },
          storeTimeout: "10 millis",
        })
        opened.probe.onCommit = (commits) => Effect.succeed(commits.map(() => outage()))
        yield* opened.engine.register(TimedCall)
        for (let second = 0; second < 10; second++) yield* rig.pass("1 second")
        expect(opened.probe.claimed.filter((batch) => batch.length > 0)).toHaveLength(3)
        const [dead] = yield* rig.timers.dead(10)
        expect(dead).toMatchObject({ ...key("c"), name: "timeout", attempts: 3 })
        expect(dead?.problem).toMatch(/the store is away/)
        opened.probe.onCommit = (_, commit) => commit
        yield* rig.timers.revive(dead as NonNullable<typeof dead>)
        yield* rig.pass("20 seconds")
        yield* rig.eventually(rig.record(key("c")), ({ tag }) => tag === "Late")
      }))

    test("89 a timeout whose decision throws is tried again and ends as a dead letter; the instance lives on", (rig) =>
      Effect.gen(function* () {
        let attempts = 0
        const Throwing = TimedCall.timeout(
          T.Waiting,
          "10 seconds",
          T.VeryLate,
          () => {
            attempts++
            throw new Error("no")
          },
          { name: "bad" },
        )
        const { engine } = yield* rig.open({ sweeper: { retry: RetryPolicy.fixed({ delay: 0, maxAttempts: 3 }), interval: "1 second" } })
        const call = yield* engine.start(Throwing, "c")
        for (let second = 0; second < 30; second++) yield* rig.pass("1 second")
        expect(yield* rig.timers.dead(10)).toMatchObject([{ name: "bad", attempts: 3 }])
        expect(attempts).toBe(4)
        yield* rig.pass("30 seconds")
        yield* rig.eventually(call.state, ({ _tag }) => _tag === "Late")
      }))

    test("90 a store that fails is counted and asked again later; the loop lives", (rig) =>
      Effect.gen(function* () {
        yield* orphans(rig, ["c"])
        yield* rig.pass("1 hour")
        const probe = new StoreProbe()
        probe.onClaim = () => Effect.fail(outage("claim"))
        const opened = yield* rig.open({ sweeper: { interval: "1 second" }, probe })
        yield* opened.engine.register(TimedCall)
        for (let second = 0; second < 20; second++) yield* rig.pass("1 second")
        expect(probe.claims.length).toBeGreaterThan(5)
        expect(probe.claims.length).toBeLessThan(15)
        probe.onClaim = (claim) => claim
        // The longest pause of a loop that fails.
        yield* rig.pass("10 seconds")
        yield* rig.eventually(rig.record(key("c")), ({ tag }) => tag === "Late")
      }))

    test("an instance that is busy for long does not keep other timers from firing", (rig) =>
      Effect.gen(function* () {
        const Stuck = TimedCall.on(T.Waiting, V.Answer, T.Answered, { override: true }).enter(T.Answered, () => Effect.never)
        const opened = yield* rig.open({ sweeper: { interval: "1 second", claimDuration: "5 seconds" } })
        const stuck = yield* opened.engine.start(Stuck, "stuck")
        yield* rig.quiet
        yield* Effect.forkChild(Effect.ignore(stuck.send(V.Answer())), { startImmediately: true })
        yield* rig.quiet
        const gone = yield* rig.open()
        yield* gone.engine.start(Stuck, "other")
        yield* gone.crash
        // The sweeper is handed a timer of the stuck one, which it can neither fire nor drop.
        let handed = false
        opened.probe.onClaim = (claim) =>
          Effect.map(claim, (timers) => {
            if (handed) return timers
            handed = true
            return [{ ...key("stuck"), name: "timeout", entry: 0, due: 0, attempts: 1 }] as unknown as typeof timers
          })
        yield* rig.pass("20 seconds")
        yield* rig.pass("20 seconds")
        for (let second = 0; second < 40; second++) yield* rig.pass("1 second")
        expect(handed).toBe(true)
        yield* rig.eventually(rig.record(key("other")), ({ tag }) => tag === "Late")
      }))

    test("92 a timer of one reaches only that one, whatever shares its id", (rig) =>
      Effect.gen(function* () {
        const Other = Machine.make({ name: "other", state: T, event: V, initial: T.Waiting({ minutes: 1 }) }).timeout(
          T.Waiting,
          "2 hours",
          T.Late,
        )
        yield* orphans(rig, ["c", "d"])
        yield* rig.pass("30 seconds")
        const { engine } = yield* rig.open()
        const other = yield* engine.start(Other, "c")
        const again = yield* engine.ensure(TimedCall, "d")
        yield* again.send(V.Again())
        for (let round = 0; round < 7; round++) yield* rig.pass("5 seconds")
        yield* rig.passUntil("100 millis", rig.record(key("c")), ({ tag }) => tag === "Late")
        expect((yield* other.state)._tag).toBe("Waiting")
        expect((yield* again.state)._tag).toBe("Waiting")
      }))

    test("a node fires only timers of machines it knows", (rig) =>
      Effect.gen(function* () {
        yield* orphans(rig, ["c"])
        yield* rig.pass("1 hour")
        const { engine } = yield* rig.open()
        yield* rig.pass("1 hour")
        expect((yield* rig.record(key("c"))).tag).toBe("Waiting")
        yield* engine.register(TimedCall)
        yield* rig.pass("1 millis")
        yield* rig.eventually(rig.record(key("c")), ({ tag }) => tag === "Late")
      }))
  })
