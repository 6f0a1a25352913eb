/** What happens around a transition, when, and how often: hooks, work of states, and nothing before the commit. */
import { type Inspection, Machine, Slot, stay, stop } from "@detent/machine"
import { LifeEvent, LifeState, recordedLife } from "@detent/machine/testing"
import { expect } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Kit } from "./Rig.ts"
import { StoreProbe } from "./StoreProbe.ts"

const S = LifeState
const E = LifeEvent
const a = S.A({ n: 1 })

const logging = (log: Array<string>) => {
  const probe = new StoreProbe()
  probe.onCommit = (_, commit) => Effect.tap(commit, () => Effect.sync(() => log.push("commit")))
  return probe
}

const key = { machine: "recorded", id: "r" }

export const lifecycle = ({ describe, test }: Kit) =>
  describe("the life of a state", () => {
    test("39, 40, 47 and 150 goes: decide, commit, interrupt the old work, new state, exit, enter, spawn", ({ open, eventually }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const { engine } = yield* open({ probe: logging(log) })
        const instance = yield* engine.start(recordedLife(log), "r")
        expect(log).toEqual(["commit", "enter A from undefined", "spawn A"])
        const seen = yield* Effect.forkChild(
          instance.changes.pipe(
            Stream.tap((state) => Effect.sync(() => log.push(`state ${state._tag}`))),
            Stream.takeUntil((state) => state._tag === "B"),
            Stream.runDrain,
          ),
          { startImmediately: true },
        )
        engine.inspectUnsafe((one: Inspection) => {
          if (one._tag === "Decided") log.push(`decided ${one.decision.event._tag}`)
        })
        yield* eventually(
          Effect.sync(() => log),
          (lines) => lines.includes("state A"),
        )
        log.length = 0
        yield* instance.send(E.Go())
        const order = ["decide", "commit", "interrupt A", "decided Go", "exit A to B on Go", "enter B from A", "spawn B"]
        expect(log.filter((line) => !line.startsWith("state"))).toEqual(order)
        yield* Fiber.join(seen)
        expect(log).toContain("state B")
      }))

    test("18, 19, 20 and 41 staying runs no hook and leaves work alone; entering anew does it all", ({ open }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const { engine } = yield* open()
        const instance = yield* engine.start(recordedLife(log), "r")
        log.length = 0
        yield* instance.send(E.Set({ n: 5 }))
        yield* instance.send(E.Done({ text: "x" }))
        expect(log).toEqual([])
        expect(yield* instance.state).toEqual(S.A({ n: 5 }))
        yield* instance.send(E.Anew())
        expect(log).toEqual(["interrupt A", "exit A to A on Anew", "enter A from A", "spawn A"])
      }))

    test("42 stop runs exit only; a final state is entered", ({ open }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const { engine } = yield* open()
        const stopping = yield* engine.start(recordedLife(log), "r", S.B({ n: 1 }))
        log.length = 0
        yield* stopping.send(E.Halt())
        expect(log).toEqual(["interrupt B", "exit B to undefined on Halt"])
        const ending = yield* engine.start(recordedLife(log), "s", S.B({ n: 1 }))
        log.length = 0
        yield* ending.send(E.Finish())
        expect(log).toEqual(["interrupt B", "exit B to End on Finish", "enter End from B"])
      }))

    test("43 a hook that fails names its phase; memory equals replay, timers are armed", ({ open, deadlines, pass, eventually }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const failing = Machine.make({ name: "recorded", state: S, event: E, initial: a })
          .on(S.A, E.Go, S.B)
          .exit(S.A, () => Effect.fail("door jammed"))
          .enter(S.B, () => Effect.sync(() => void log.push("entered")))
          .enter(S.B, () => Effect.die(new Error("light broken")))
          .timeout(S.B, "1 minute", S.C)
        const { engine } = yield* open()
        const instance = yield* engine.start(failing, "r")
        expect(yield* Effect.flip(instance.send(E.Go()))).toMatchObject({
          _tag: "ActionFailed",
          phase: "exit",
          state: "A",
          event: "Go",
          committed: true,
        })
        expect(log).toEqual(["entered"])
        expect(yield* instance.state).toEqual(yield* instance.stateAt(1))
        expect(yield* deadlines(key)).toMatchObject([{ name: "timeout", entry: 1, due: 60_000 }])
        yield* pass("1 minute")
        yield* eventually(instance.state, ({ _tag }) => _tag === "C")
      }))

    test("44 nothing can be seen before the commit: no state, no listener, no hook, no work, no reply", ({ open, quiet }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const probe = new StoreProbe()
        const { engine } = yield* open({ probe })
        const instance = yield* engine.start(recordedLife(log), "r")
        const seen: Array<string> = []
        yield* Effect.forkChild(
          Stream.runForEach(instance.changes, (state) => Effect.sync(() => seen.push(state._tag))),
          { startImmediately: true },
        )
        yield* quiet
        log.length = 0
        const gate = yield* Deferred.make<void>()
        probe.onCommit = (_, commit) => Effect.andThen(Deferred.await(gate), commit)
        const going = yield* Effect.forkChild(instance.send(E.Go()), { startImmediately: true })
        yield* quiet
        expect(log).toEqual(["decide"])
        expect(seen).toEqual(["A"])
        expect(yield* instance.snapshot).toMatchObject({ state: { _tag: "A" }, sequence: 0 })
        expect(going.pollUnsafe()).toBeUndefined()
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(going)
        yield* quiet
        expect(seen).toEqual(["A", "B"])
        expect(log).toEqual(["decide", "interrupt A", "exit A to B on Go", "enter B from A", "spawn B"])
      }))

    test("45, 46 and 78 recovery runs no hook, guard or decision's Effect; only the work of the state starts again", ({ open, pass }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const guards = Slot.Guards({ open: {} })
        const machine = (said: boolean) =>
          Machine.make({ name: "recorded", state: S, event: E, guards, initial: a })
            .on(S.A, E.Go, S.B, ({ state }) => S.B(state), { guard: ({ guards }) => guards.open() })
            .on(S.B, E.Set, S.B, ({ state, event }) =>
              Effect.sync(() => {
                log.push("asked")
                return S.B({ n: state.n + event.n })
              }),
            )
            .enter([S.A, S.B], ({ state }) => Effect.sync(() => void log.push(`enter ${state._tag}`)))
            .spawn(S.B, () =>
              Effect.andThen(
                Effect.sync(() => void log.push("spawn B")),
                Effect.never,
              ),
            )
            .build({
              open: () => {
                log.push("guard")
                return said
              },
            })
        const first = yield* open()
        const instance = yield* first.engine.start(machine(true), "r")
        yield* instance.send(E.Go())
        yield* instance.send(E.Set({ n: 4 }))
        expect(log).toEqual(["enter A", "guard", "enter B", "spawn B", "asked"])
        const before = yield* instance.snapshot
        yield* first.close
        yield* pass("1 hour")
        log.length = 0
        const second = yield* open()
        yield* second.engine.register(machine(false))
        expect(log).toEqual(["spawn B"])
        const again = yield* Effect.flatMap(second.engine.get(machine(false), "r"), Effect.fromOption)
        expect(yield* again.snapshot).toEqual(before)
        expect(yield* again.state).toEqual(S.B({ n: 5 }))
        expect(log).toEqual(["spawn B"])
      }))

    test("46 the initial enter runs once, however often the instance comes back", ({ open }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        for (const round of [1, 2, 3]) {
          const one = yield* open()
          const instance = yield* one.engine.ensure(recordedLife(log), "r")
          yield* instance.send(E.Set({ n: round }))
          yield* one.close
        }
        expect(log.filter((line) => line.startsWith("enter"))).toEqual(["enter A from undefined"])
        expect(log.filter((line) => line === "spawn A")).toHaveLength(3)
        expect(log.filter((line) => line === "interrupt A")).toHaveLength(3)
      }))

    test("47 work resumes when a process restarts under its name, also after a crash", ({ open }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const first = yield* open({ nodeId: "one" })
        yield* first.engine.start(recordedLife(log), "r")
        yield* first.engine.start(recordedLife(log), "s", S.End())
        yield* first.crash
        log.length = 0
        const second = yield* open({ nodeId: "one" })
        yield* second.engine.register(recordedLife(log))
        expect(log).toEqual(["spawn A"])
        expect(yield* second.engine.live).toBe(1)
      }))

    test("48 work that is interrupted sends nothing more, not even from a finalizer", ({ open, quiet, events }) =>
      Effect.gen(function* () {
        const machine = Machine.make({ name: "recorded", state: S, event: E, initial: a })
          .on(S.A, E.Go, S.B)
          .on([S.A, S.B], E.Done, stay)
          .spawn(S.A, ({ self }) => Effect.ensuring(Effect.never, Effect.ignore(self.send(E.Done({ text: "last words" })))))
        const { engine } = yield* open()
        const instance = yield* engine.start(machine, "r")
        yield* instance.send(E.Go())
        yield* quiet
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Go"])
      }))

    test("56 work that ends its own state gets the outcome, even from an uninterruptible place", ({ open, eventually, quiet }) =>
      Effect.gen(function* () {
        const told: Array<string> = []
        const machine = Machine.make({ name: "recorded", state: S, event: E, initial: a })
          .on(S.A, E.Go, S.B)
          .on(S.B, E.Go, S.C)
          .spawn(S.A, ({ self }) =>
            Effect.uninterruptible(
              Effect.gen(function* () {
                told.push((yield* Effect.result(self.send(E.Go())))._tag)
                yield* Effect.ignore(self.send(E.Go()))
              }),
            ),
          )
        const { engine } = yield* open()
        const instance = yield* engine.start(machine, "r")
        yield* eventually(instance.state, ({ _tag }) => _tag === "B")
        yield* quiet
        expect(told).toEqual(["Success"])
        expect((yield* instance.state)._tag).toBe("B")
      }))

    test("a task's end becomes an event that is journaled", ({ open, eventually, pass, events }) =>
      Effect.gen(function* () {
        const machine = Machine.make({ name: "recorded", state: S, event: E, initial: a })
          .on(S.A, E.Done, S.B, ({ event }) => S.B({ n: event.text.length }))
          .task(S.A, () => Effect.delay(Effect.succeed("four"), "1 second"), {
            onSuccess: (text) => E.Done({ text }),
            onFailure: () => E.Done({ text: "" }),
          })
        const { engine } = yield* open()
        const instance = yield* engine.start(machine, "r")
        yield* pass("1 second")
        yield* eventually(instance.state, ({ _tag }) => _tag === "B")
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Done"])
      }))

    for (const reason of ["it went to another node", "it left memory, because its stored state is unknown"])
      test(`49 callers that wait for an instance get its end, also one stopped with the reason "${reason}"`, ({ open }) =>
        Effect.gen(function* () {
          const machine = Machine.make({ name: "recorded", state: S, event: E, initial: a }).on(S.A, E.Go, stop(reason))
          const { engine } = yield* open()
          const instance = yield* engine.start(machine, "r")
          const waiting = yield* Effect.forkChild(Effect.flip(instance.awaitFinal), { startImmediately: true })
          const states = yield* Effect.forkChild(Stream.runCollect(instance.changes), { startImmediately: true })
          yield* instance.send(E.Go())
          expect(yield* Fiber.join(waiting)).toMatchObject({ _tag: "MachineStopped", reason })
          expect(yield* Fiber.join(states)).toHaveLength(1)
          expect(yield* Effect.flip(instance.awaitFinal)).toMatchObject({ _tag: "MachineStopped", reason })
        }))

    test("commands a transition requests are in its commit", ({ open }) =>
      Effect.gen(function* () {
        const effects = Slot.Effects({ mail: { to: Schema.String } })
        const machine = Machine.make({ name: "recorded", state: S, event: E, effects, initial: a })
          .on(S.A, E.Go, S.B, ({ state, effects }) => {
            effects.mail({ to: "x" })
            effects.mail({ to: "y" })
            return S.B(state)
          })
          .build({ mail: () => Effect.void })
        const { engine, probe } = yield* open()
        const instance = yield* engine.start(machine, "r")
        yield* instance.send(E.Go())
        const commands = probe.batches.flat().flatMap((commit) => commit.commands)
        expect(commands.map(({ key, slot, parameters }) => [key, slot, JSON.parse(parameters)])).toEqual([
          ["recorded/r/1/0", "mail", { to: "x" }],
          ["recorded/r/1/1", "mail", { to: "y" }],
        ])
      }))
  })
