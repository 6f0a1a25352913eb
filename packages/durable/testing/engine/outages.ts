/** A store that is away for long: nothing that an instance does by itself ends with it. */
import { Event, Machine, PersistenceFailed, RetryPolicy, State } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Job, E as JobEvent, S as JobState, TimedCall } from "./Machines.ts"
import type { Kit } from "./Rig.ts"
import { outage, type StoreProbe } from "./StoreProbe.ts"

const S = State({ Idle: {}, Working: { n: Schema.Number }, Done: { n: Schema.Number } })
const E = Event({ Begin: {}, Progress: {}, Finish: {}, Look: {} })

const key = { machine: "worker", id: "w" }

/** Works in three steps, each sent by the work itself, without supervision. */
const worker = (log: Array<string>, pause: Effect.Effect<void> = Effect.sleep("1 second")) =>
  Machine.make({ name: "worker", state: S, event: E, initial: S.Idle() })
    .on(S.Idle, E.Begin, S.Working, () => S.Working({ n: 0 }))
    .on(S.Working, E.Progress, S.Working, ({ state }) => S.Working({ n: state.n + 1 }))
    .on(S.Working, E.Finish, S.Done)
    .on(S.Working, E.Look, S.Working, ({ state }) => S.Working(state))
    .spawn(S.Working, ({ self }) =>
      Effect.gen(function* () {
        log.push("begins")
        yield* pause
        yield* self.send(E.Progress())
        log.push("progressed")
        yield* pause
        yield* self.send(E.Finish())
      }),
    )

const writesFail = (probe: StoreProbe) => {
  probe.onCommit = () => Effect.fail(outage())
}

const allFails = (probe: StoreProbe) => {
  writesFail(probe)
  probe.onOpen = () => Effect.fail(outage("open"))
}

const heals = (probe: StoreProbe) => {
  probe.onCommit = (_, commit) => commit
  probe.onOpen = (open) => open
}

export const outages = ({ describe, test }: Kit) =>
  describe("a store that is away for long", () => {
    test("what the work of a state sends waits until it can be stored; the work is not started again", ({
      open,
      pass,
      passFor,
      passUntil,
      events,
      record,
    }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const { engine, probe } = yield* open({ storeTimeout: "2 seconds" })
        const instance = yield* engine.start(worker(log), "w")
        yield* instance.send(E.Begin())
        writesFail(probe)
        for (let second = 0; second < 60; second++) yield* pass("1 second")
        expect(log).toEqual(["begins"])
        // Other senders get the error of the store, not that the instance has ended.
        const asking = yield* Effect.forkChild(Effect.flip(instance.send(E.Look())), { startImmediately: true })
        expect(yield* passFor(asking)).toMatchObject({ _tag: "PersistenceFailed" })
        expect(yield* instance.snapshot).toMatchObject({ status: "running", sequence: 1 })
        expect(probe.batches.length).toBeLessThan(60)
        heals(probe)
        yield* passUntil("1 second", record(key), ({ tag }) => tag === "Done")
        expect(log).toEqual(["begins", "progressed"])
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Begin", "Progress", "Finish"])
      }))

    test("start, ensure, get, restore and sends to instances that are not in memory wait for the store, and succeed when it is back", ({
      open,
      pass,
      passFor,
      events,
    }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open({ storeTimeout: "10 seconds" })
        const ids = ["sent", "asked", "ensured", "restored"]
        const jobs = yield* Effect.forEach(ids, (id) => engine.start(Job, id, JobState.Busy({ n: 0 })))
        yield* engine.release(Job, ids)
        const [sent, asked] = jobs as [(typeof jobs)[0], (typeof jobs)[0]]
        allFails(probe)
        const calls: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
          sent.send(JobEvent.Add({ by: 1 })),
          asked.call(JobEvent.Add({ by: 2 })),
          engine.start(Job, "started", JobState.Busy({ n: 0 })),
          engine.ensure(Job, "ensured"),
          engine.ensure(Job, "begun", JobState.Busy({ n: 0 })),
          engine.get(Job, "ensured"),
          engine.restore("restored", Job),
        ]
        const waiting = yield* Effect.forEach(calls, (call) => Effect.forkChild(Effect.exit(call), { startImmediately: true }))
        for (let second = 0; second < 5; second++) yield* pass("1 second")
        expect(waiting.map((fiber) => fiber.pollUnsafe() === undefined)).toEqual(calls.map(() => true))
        heals(probe)
        const ended = yield* Effect.forEach(waiting, passFor)
        expect(ended.map(({ _tag }) => _tag)).toEqual(calls.map(() => "Success"))
        expect((yield* events({ machine: "job", id: "sent" })).map(({ tag }) => tag)).toEqual(["Add"])
        expect(yield* sent.state).toEqual(JobState.Busy({ n: 1 }))
        expect(yield* asked.state).toEqual(JobState.Busy({ n: 2 }))
      }))

    test("start, ensure, get, restore and sends to instances that are not in memory fail when the store was away for the store timeout", ({
      open,
      pass,
      passFor,
    }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open({ storeTimeout: "2 seconds" })
        const job = yield* engine.start(Job, "j", JobState.Busy({ n: 0 }))
        yield* engine.release(Job, ["j"])
        allFails(probe)
        const calls: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
          job.send(JobEvent.Add({ by: 1 })),
          engine.start(Job, "started", JobState.Busy({ n: 0 })),
          engine.ensure(Job, "j"),
          engine.get(Job, "j"),
          engine.restore("j", Job),
        ]
        const waiting = yield* Effect.forEach(calls, (call) => Effect.forkChild(Effect.flip(call), { startImmediately: true }))
        yield* pass("1 second")
        expect(waiting.map((fiber) => fiber.pollUnsafe() === undefined)).toEqual(calls.map(() => true))
        yield* pass("1 second")
        for (const error of yield* Effect.forEach(waiting, passFor)) expect(error).toMatchObject({ _tag: "PersistenceFailed" })
        expect(yield* engine.live).toBe(0)
      }))

    test("a caller that waits for the store gets the error when the engine closes", ({ open, pass, passFor }) =>
      Effect.gen(function* () {
        const { engine, probe, close } = yield* open({ storeTimeout: "1 hour", drainTimeout: "1 second" })
        const job = yield* engine.start(Job, "j", JobState.Busy({ n: 0 }))
        yield* engine.release(Job, ["j"])
        allFails(probe)
        const calls: ReadonlyArray<Effect.Effect<unknown, unknown>> = [job.send(JobEvent.Add({ by: 1 })), engine.get(Job, "j")]
        const waiting = yield* Effect.forEach(calls, (call) => Effect.forkChild(Effect.flip(call), { startImmediately: true }))
        yield* pass("1 second")
        const closing = yield* Effect.forkChild(close)
        yield* passFor(closing)
        for (let second = 0; second < 2; second++) yield* pass("1 second")
        expect(waiting.map((fiber) => fiber.pollUnsafe() !== undefined)).toEqual(calls.map(() => true))
        yield* Effect.forEach(waiting, passFor)
      }))

    test("a clock that is set forward meanwhile ends no wait for the store", (rig) =>
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        let ahead = 0
        const adjusted: Clock.Clock = {
          currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + ahead,
          currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + ahead),
          currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + BigInt(ahead) * 1_000_000n,
          currentTimeNanos: Effect.map(clock.currentTimeNanos, (now) => now + BigInt(ahead) * 1_000_000n),
          monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
          monotonicTimeNanos: clock.monotonicTimeNanos,
          sleep: (duration) => clock.sleep(duration),
        }
        const { engine, probe } = yield* Effect.provideService(rig.open({ storeTimeout: "1 minute" }), Clock.Clock, adjusted)
        const inMemory = yield* engine.start(Job, "memory", JobState.Busy({ n: 0 }))
        const outside = yield* engine.start(Job, "outside", JobState.Busy({ n: 0 }))
        yield* engine.release(Job, ["outside"])
        allFails(probe)
        const waiting = yield* Effect.forEach([inMemory, outside], (job) =>
          Effect.forkChild(Effect.exit(job.send(JobEvent.Add({ by: 1 }))), { startImmediately: true }),
        )
        yield* rig.pass("1 second")
        ahead = 3_600_000
        for (let second = 0; second < 5; second++) yield* rig.pass("1 second")
        expect(waiting.map((fiber) => fiber.pollUnsafe() === undefined)).toEqual([true, true])
        heals(probe)
        for (const fiber of waiting) expect((yield* rig.passFor(fiber))._tag).toBe("Success")
      }))

    test("senders that wait for the store get their turn in the order in which they sent", ({ open, pass, passFor, events }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open({ storeTimeout: "1 minute" })
        const job = yield* engine.start(Job, "j", JobState.Busy({ n: 0 }))
        yield* engine.release(Job, ["j"])
        allFails(probe)
        const order = Array.from({ length: 12 }, (_, n) => n)
        const waiting = yield* Effect.forEach(order, (by) =>
          Effect.tap(Effect.forkChild(job.send(JobEvent.Add({ by })), { startImmediately: true }), () => pass("700 millis")),
        )
        heals(probe)
        yield* Effect.forEach(waiting, passFor)
        const journaled = yield* events({ machine: "job", id: "j" })
        expect(journaled.map(({ body }) => JSON.parse(body).e.by)).toEqual(order)
      }))

    test("the sweeper does not wait for the store timeout: it sweeps again within its own pauses", ({ open, pass, passUntil }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open({ storeTimeout: "1 hour", passivateAfter: "1 second" })
        const call = yield* engine.start(TimedCall, "c")
        yield* passUntil("1 second", engine.live, (live) => live === 0)
        allFails(probe)
        yield* pass("1 minute")
        const before = probe.claims.length
        for (let second = 0; second < 120; second++) yield* pass("1 second")
        expect(probe.claims.length - before).toBeGreaterThan(5)
        heals(probe)
        yield* passUntil("1 second", call.state, ({ _tag }) => _tag === "Late")
      }))

    test("an instance with work that had to leave memory returns by itself, and its work continues", ({
      open,
      pass,
      passUntil,
      events,
      record,
    }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const { engine, probe } = yield* open({ storeTimeout: "2 seconds" })
        const instance = yield* engine.start(worker(log), "w")
        yield* instance.send(E.Begin())
        allFails(probe)
        yield* passUntil("1 second", engine.live, (live) => live === 0)
        for (let second = 0; second < 60; second++) yield* pass("1 second")
        heals(probe)
        yield* passUntil("1 second", record(key), ({ tag }) => tag === "Done")
        expect(log).toEqual(["begins", "begins", "progressed"])
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Begin", "Progress", "Finish"])
      }))

    test("work of a state that was entered by a commit without an answer runs when the store is back, without a caller", ({
      open,
      pass,
      passFor,
      passUntil,
      record,
    }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const { engine, probe } = yield* open({ storeTimeout: "2 seconds", lease: "10 minutes" })
        const instance = yield* engine.start(worker(log), "w")
        probe.onCommit = (_, commit) => {
          allFails(probe)
          return Effect.andThen(commit, Effect.fail(outage()))
        }
        const sending = yield* Effect.forkChild(Effect.flip(instance.send(E.Begin())), { startImmediately: true })
        expect(yield* passFor(sending)).toMatchObject({ _tag: "PersistenceFailed" })
        for (let second = 0; second < 20; second++) yield* pass("1 second")
        expect(log).toEqual([])
        heals(probe)
        yield* passUntil("1 second", record(key), ({ tag }) => tag === "Done")
        expect(log).toEqual(["begins", "progressed"])
      }))

    test("callers that follow an instance that had to leave memory continue when the store is back", ({ open, pass, passFor, quiet }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open({ storeTimeout: "2 seconds" })
        const job = yield* engine.start(Job, "j", JobState.Busy({ n: 0 }))
        const changes = yield* Effect.forkChild(Stream.runCollect(job.changes))
        const counted = yield* Effect.forkChild(job.waitFor((state) => state._tag === "Busy" && state.n === 3))
        const final = yield* Effect.forkChild(job.awaitFinal)
        yield* quiet
        yield* job.send(JobEvent.Add({ by: 1 }))
        for (let outages = 0; outages < 2; outages++) {
          allFails(probe)
          const sending = yield* Effect.forkChild(Effect.flip(job.send(JobEvent.Add({ by: 1 }))), { startImmediately: true })
          expect(yield* passFor(sending)).toMatchObject({ _tag: "PersistenceFailed" })
          expect(yield* engine.live).toBe(0)
          for (let second = 0; second < 20; second++) yield* pass("1 second")
          for (const following of [changes, counted, final]) expect(following.pollUnsafe()).toBeUndefined()
          heals(probe)
          for (let second = 0; second < 3; second++) yield* pass("1 second")
          yield* job.send(JobEvent.Add({ by: 1 }))
        }
        expect(yield* passFor(counted)).toEqual(JobState.Busy({ n: 3 }))
        yield* job.send(JobEvent.Finish())
        expect(yield* passFor(final)).toEqual(JobState.Done({ n: 3 }))
        expect((yield* passFor(changes)).map(({ n }) => n)).toEqual([0, 1, 1, 2, 2, 3, 3])
      }))

    test("callers that follow an instance get the error of the store if the engine closes before it is back", ({ open, passFor, quiet }) =>
      Effect.gen(function* () {
        const { engine, probe, close } = yield* open({ storeTimeout: "2 seconds", drainTimeout: "1 second" })
        const job = yield* engine.start(Job, "j", JobState.Busy({ n: 0 }))
        const changes = yield* Effect.forkChild(Effect.flip(Stream.runDrain(job.changes)))
        const final = yield* Effect.forkChild(Effect.flip(job.awaitFinal))
        yield* quiet
        allFails(probe)
        const sending = yield* Effect.forkChild(Effect.flip(job.send(JobEvent.Add({ by: 1 }))), { startImmediately: true })
        yield* passFor(sending)
        const closing = yield* Effect.forkChild(close)
        yield* passFor(closing)
        expect(yield* passFor(changes)).toMatchObject({ _tag: "PersistenceFailed" })
        expect(yield* passFor(final)).toMatchObject({ _tag: "PersistenceFailed" })
      }))

    test("what a decision sent is handled when the store is back, without a caller", ({ open, pass, passUntil, events }) =>
      Effect.gen(function* () {
        for (const fail of [writesFail, allFails]) {
          const id = fail === writesFail ? "writes" : "all"
          const Sending = Machine.make({ name: "worker", state: S, event: E, initial: S.Idle() })
            .on(S.Idle, E.Begin, S.Working, ({ self }) => {
              self.send(E.Progress())
              return S.Working({ n: 0 })
            })
            .on(S.Working, E.Progress, S.Working, ({ state }) => S.Working({ n: state.n + 1 }))
            .enter(S.Working, () => Effect.void)
          const { engine, probe, close } = yield* open({ storeTimeout: "2 seconds" })
          const instance = yield* engine.start(Sending, id)
          let commits = 0
          probe.onCommit = (_, commit) => {
            if (++commits === 2) fail(probe)
            return commits === 2 ? Effect.fail(outage()) : commit
          }
          yield* instance.send(E.Begin())
          for (let second = 0; second < 30; second++) yield* pass("1 second")
          expect(yield* events({ machine: "worker", id })).toHaveLength(1)
          heals(probe)
          const stored = yield* passUntil("1 second", events({ machine: "worker", id }), ({ length }) => length > 1)
          expect(stored.map(({ tag }) => tag)).toEqual(["Begin", "Progress"])
          // An engine that reaches the store would handle what the next one owes.
          yield* close
        }
      }))

    test("work that itself fails because of a store is started again, without any supervision, until it succeeds", ({
      open,
      pass,
      passUntil,
      record,
    }) =>
      Effect.gen(function* () {
        let away = true
        const log: Array<string> = []
        const asking = Effect.suspend(() =>
          away ? Effect.fail(new PersistenceFailed({ machine: "other", operation: "commit", cause: new Error("away") })) : Effect.void,
        )
        const { engine } = yield* open()
        const instance = yield* engine.start(worker(log, Effect.orDie(asking)), "w")
        yield* instance.send(E.Begin())
        for (let second = 0; second < 30; second++) yield* pass("1 second")
        const starts = log.length
        expect(starts).toBeGreaterThan(3)
        expect(starts).toBeLessThan(15)
        yield* instance.send(E.Look())
        const before = log.length
        away = false
        yield* passUntil("1 second", record(key), ({ tag }) => tag === "Done")
        expect(log.slice(before)).toEqual(["begins", "progressed"])
      }))

    test("a timer that is due waits without turning round and round", ({ open, pass, passUntil }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open({
          storeTimeout: "2 seconds",
          sweeper: { retry: RetryPolicy.fixed({ delay: 0, maxAttempts: 1000 }) },
        })
        const call = yield* engine.start(TimedCall, "c")
        writesFail(probe)
        for (let second = 0; second < 180; second++) yield* pass("1 second")
        expect(probe.batches.length).toBeLessThan(120)
        heals(probe)
        yield* passUntil("1 second", call.state, ({ _tag }) => _tag === "Late")
      }))
  })
