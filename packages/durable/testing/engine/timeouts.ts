/** Deadlines: on time, once, only while they matter, and across restarts. */
import { Machine, refuse, stay } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Call, T, TimedCall, V } from "./Machines.ts"
import type { Kit } from "./Rig.ts"
import { outage } from "./StoreProbe.ts"

const key = { machine: "call", id: "c" }
const is = (tag: string) => (state: { readonly _tag: string }) => state._tag === tag

export const timeouts = ({ describe, test }: Kit) =>
  describe("timeouts", () => {
    test("49, 54 and 71 fire when their time has passed, also in the initial state, and are journaled", ({
      open,
      pass,
      eventually,
      events,
    }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const call = yield* engine.start(TimedCall, "c")
        yield* pass("59 seconds")
        expect((yield* call.state)._tag).toBe("Waiting")
        yield* pass("1 second")
        yield* eventually(call.state, is("Late"))
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["(timeout)"])
        expect(yield* call.stateAt(1)).toEqual(T.Late())
      }))

    test("50, 57 and 58 a deadline is one row with its entry; leaving removes it in the same commit", ({ open, pass, deadlines, events }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        const call = yield* engine.start(TimedCall, "c")
        expect(yield* deadlines(key)).toEqual([{ name: "timeout", entry: 0, due: 60_000 }])
        yield* call.send(V.Answer())
        expect(yield* deadlines(key)).toEqual([])
        expect(probe.batches.flat().at(-1)).toMatchObject({ clearTimers: ["timeout"], setTimers: [] })
        yield* pass("1 hour")
        expect(yield* events(key)).toHaveLength(1)
        expect((yield* call.state)._tag).toBe("Answered")
      }))

    test("145 an idle timeout that becomes infinite removes its row, and the instance opens again without it", ({
      open,
      pass,
      deadlines,
    }) =>
      Effect.gen(function* () {
        const Idle = Call.timeout(T.Waiting, ({ minutes }) => (minutes === 0 ? "Infinity" : `${minutes} minutes`), T.Quiet, {
          name: "idle",
          idle: true,
        })
        const first = yield* open()
        const call = yield* first.engine.start(Idle, "c")
        expect(yield* deadlines(key)).toMatchObject([{ name: "idle", due: 600_000 }])
        yield* call.send(V.Extend({ minutes: 0 }))
        expect(yield* deadlines(key)).toEqual([])
        yield* first.close
        const second = yield* open()
        const again = yield* second.engine.ensure(Idle, "c")
        yield* pass("20 minutes")
        expect(yield* again.state).toEqual(T.Waiting({ minutes: 0 }))
      }))

    test("51 start anew when the state is entered again; the old one is dead", ({ open, pass, eventually, deadlines, events }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const call = yield* engine.start(TimedCall, "c")
        yield* pass("40 seconds")
        yield* call.send(V.Again())
        expect(yield* deadlines(key)).toEqual([{ name: "timeout", entry: 1, due: 100_000 }])
        yield* pass("40 seconds")
        expect((yield* call.state)._tag).toBe("Waiting")
        yield* pass("20 seconds")
        yield* eventually(call.state, is("Late"))
        expect(yield* events(key)).toHaveLength(2)
      }))

    test("52 several per state, each with its own name, row and target", ({ open, pass, eventually, deadlines }) =>
      Effect.gen(function* () {
        const machine = Call.timeout(T.Waiting, "3 minutes", T.VeryLate, { name: "last" }).timeout(T.Waiting, "1 minute", stay, {
          name: "remind",
        })
        const { engine } = yield* open()
        const call = yield* engine.start(machine, "c")
        expect((yield* deadlines(key)).map(({ name }) => name)).toEqual(["remind", "last"])
        yield* pass("1 minute")
        yield* eventually(call.lastSequence, (sequence) => sequence === 1)
        expect((yield* call.state)._tag).toBe("Waiting")
        expect((yield* deadlines(key)).map(({ name }) => name)).toEqual(["last"])
        yield* pass("2 minutes")
        yield* eventually(call.state, is("VeryLate"))
      }))

    test("53 and 60 an idle timeout starts anew with every event, a state timeout does not", ({ open, pass, eventually, deadlines }) =>
      Effect.gen(function* () {
        const machine = Call.timeout(T.Waiting, "2 minutes", T.Quiet, { name: "idle", idle: true }).timeout(T.Waiting, "5 minutes", T.Late)
        const { engine } = yield* open()
        const call = yield* engine.start(machine, "c")
        for (let minute = 0; minute < 4; minute++) {
          yield* pass("1 minute")
          expect((yield* call.state)._tag).toBe("Waiting")
          yield* call.send(V.Ping())
        }
        expect(yield* deadlines(key)).toEqual([
          { name: "timeout", entry: 0, due: 300_000 },
          { name: "idle", entry: 4, due: 360_000 },
        ])
        yield* pass("1 minute")
        yield* eventually(call.state, is("Late"))
        const quiet = yield* engine.start(machine, "d")
        yield* pass("2 minutes")
        yield* eventually(quiet.state, is("Quiet"))
      }))

    test("55 are cancelled by stopping", ({ open, pass, deadlines, events }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const call = yield* engine.start(TimedCall, "c")
        yield* call.send(V.Quit())
        expect(yield* deadlines(key)).toEqual([])
        yield* pass("1 hour")
        expect(yield* events(key)).toHaveLength(1)
      }))

    test("56 lead from one timed state to the next without end or deadlock", ({ open, pass, eventually }) =>
      Effect.gen(function* () {
        const machine = Machine.make({ name: "call", state: T, event: V, initial: T.Late() })
          .timeout(T.Late, "1 second", T.Quiet)
          .timeout(T.Quiet, "1 second", T.Late)
        const { engine } = yield* open()
        const call = yield* engine.start(machine, "c")
        for (let second = 1; second <= 30; second++) {
          yield* pass("1 second")
          yield* eventually(call.lastSequence, (sequence) => sequence === second)
        }
        expect((yield* call.state)._tag).toBe("Late")
      }))

    test("59 a restart keeps the deadline", ({ open, pass, eventually, deadlines }) =>
      Effect.gen(function* () {
        const first = yield* open()
        yield* first.engine.start(TimedCall, "c")
        yield* pass("40 seconds")
        yield* first.close
        const { engine } = yield* open()
        yield* engine.register(TimedCall)
        const call = yield* engine.ensure(TimedCall, "c")
        expect(yield* deadlines(key)).toEqual([{ name: "timeout", entry: 0, due: 60_000 }])
        yield* pass("19 seconds")
        expect((yield* call.state)._tag).toBe("Waiting")
        yield* pass("1 second")
        yield* eventually(call.state, is("Late"))
      }))

    test("59 a timer that came due while no process ran fires at once, and once, when its machine is registered", ({
      open,
      pass,
      record,
      events,
      eventually,
    }) =>
      Effect.gen(function* () {
        const first = yield* open()
        yield* first.engine.start(TimedCall, "c")
        yield* first.crash
        yield* pass("1 hour")
        const { engine } = yield* open()
        yield* pass("1 millis")
        yield* engine.register(TimedCall)
        yield* pass("1 millis")
        yield* eventually(record(key), ({ tag }) => tag === "Late")
        yield* pass("1 hour")
        expect(yield* events(key)).toHaveLength(1)
      }))

    test("59 what is overdue when an instance is opened fires once", ({ open, pass, events, eventually }) =>
      Effect.gen(function* () {
        const first = yield* open()
        yield* first.engine.start(TimedCall, "c")
        yield* first.close
        yield* pass("1 hour")
        const { engine } = yield* open()
        const call = yield* engine.ensure(TimedCall, "c")
        yield* eventually(call.state, is("Late"))
        yield* pass("1 hour")
        expect(yield* events(key)).toHaveLength(1)
      }))

    test("60 and 19 staying and new data keep the deadline", ({ open, pass, eventually, deadlines }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const call = yield* engine.start(TimedCall, "c")
        yield* pass("30 seconds")
        yield* call.send(V.Ping())
        yield* call.send(V.Extend({ minutes: 99 }))
        expect(yield* deadlines(key)).toEqual([{ name: "timeout", entry: 0, due: 60_000 }])
        yield* pass("30 seconds")
        yield* eventually(call.state, is("Late"))
      }))

    test("65 where the deadline cannot be written the event fails, and nothing changed", ({ open, pass, deadlines, events }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open({ storeTimeout: "1 second" })
        const call = yield* engine.start(TimedCall, "c")
        probe.onCommit = (commits, commit) => (commits.some(({ setTimers }) => setTimers.length > 0) ? Effect.fail(outage()) : commit)
        yield* pass("10 seconds")
        const again = yield* Effect.forkChild(Effect.flip(call.send(V.Again())), { startImmediately: true })
        for (let second = 0; second < 5; second++) yield* pass("1 second")
        expect(yield* Fiber.join(again)).toMatchObject({ _tag: "PersistenceFailed" })
        expect(yield* deadlines(key)).toEqual([{ name: "timeout", entry: 0, due: 60_000 }])
        expect(yield* events(key)).toEqual([])
        expect((yield* call.state)._tag).toBe("Waiting")
      }))

    test("a guard that refuses a timeout ends it: it is not fired again", ({ open, pass, deadlines, eventually }) =>
      Effect.gen(function* () {
        const asked: Array<number> = []
        const refusing = Call.timeout(T.Waiting, "1 minute", [T.Late], ({ at }) => {
          asked.push(at)
          return refuse("not now")
        }).timeout(T.Waiting, "1 hour", T.Quiet, { name: "idle", idle: true })
        const { engine } = yield* open()
        const call = yield* engine.start(refusing, "c")
        yield* pass("1 minute")
        yield* eventually(deadlines(key), (timers) => timers.length === 1)
        yield* call.send(V.Ping())
        yield* pass("10 minutes")
        expect(asked).toEqual([60_000])
        expect((yield* call.state)._tag).toBe("Waiting")
      }))

    test("one that came due while the instance was busy is void when the state was left meanwhile", ({
      open,
      pass,
      quiet,
      events,
      eventually,
    }) =>
      Effect.gen(function* () {
        const machine = TimedCall.exit(T.Waiting, () => Effect.sleep("2 minutes")).timeout(T.Answered, "1 hour", T.VeryLate)
        const { engine } = yield* open()
        const call = yield* engine.start(machine, "c")
        yield* pass("59 seconds")
        yield* Effect.forkChild(call.send(V.Answer()), { startImmediately: true })
        yield* quiet
        yield* pass("3 minutes")
        expect((yield* call.state)._tag).toBe("Answered")
        expect(yield* events(key)).toHaveLength(1)
        yield* pass("57 minutes")
        yield* eventually(call.state, is("VeryLate"))
      }))
  })
