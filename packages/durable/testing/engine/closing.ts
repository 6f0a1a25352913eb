/** An engine that stops in order stores what it accepted, and leaves no caller waiting. */
import { expect } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Instance } from "../../src/Instance.ts"
import { E, Job, S } from "./Machines.ts"
import type { Kit } from "./Rig.ts"
import { StoreProbe } from "./StoreProbe.ts"

const key = { machine: "job", id: "j" }

export const closing = ({ describe, test }: Kit) => {
  describe("an engine that closes", () => {
    test("stores the events of an instance with work that were sent before, and then gives up its lease", (rig) =>
      Effect.gen(function* () {
        const { open, events, quiet, passFor } = rig
        const probe = new StoreProbe()
        const working = Job.spawn(S.Busy, () => Effect.never)
        const { engine, close } = yield* open({ probe })
        const instance = yield* engine.start(working, "j", S.Busy({ n: 0 }))
        const gate = yield* Deferred.make<void>()
        probe.onCommit = (_, commit) => Effect.andThen(Deferred.await(gate), commit)
        const sends = yield* Effect.forEach([1, 2, 3], (by) => Effect.forkChild(instance.send(E.Add({ by })), { startImmediately: true }))
        const closed = yield* Effect.forkChild(close, { startImmediately: true })
        yield* quiet
        yield* Deferred.succeed(gate, undefined)
        yield* passFor(closed)
        for (const send of sends) expect((yield* Fiber.await(send))._tag).toBe("Success")
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Add", "Add", "Add"])
        let resumed = 0
        const next = yield* open()
        yield* next.engine.register(
          Job.spawn(S.Busy, () =>
            Effect.andThen(
              Effect.sync(() => resumed++),
              Effect.never,
            ),
          ),
        )
        expect(resumed).toBe(1)
      }))

    test("stops work that sends without pause, and stores what the work had sent", ({ open, events, eventually, record }) =>
      Effect.gen(function* () {
        let taken = 0
        const busy = Job.spawn(S.Busy, ({ self }) =>
          Effect.forever(
            Effect.andThen(
              self.send(E.Add({ by: 1 })),
              Effect.sync(() => taken++),
            ),
          ),
        )
        const { engine, close } = yield* open()
        for (const id of ["j", "k", "l"]) yield* engine.start(busy, id, S.Busy({ n: 0 }))
        yield* eventually(
          Effect.sync(() => taken),
          (count) => count > 10,
        )
        const closed = yield* Effect.forkChild(close, { startImmediately: true })
        yield* eventually(
          Effect.sync(() => closed.pollUnsafe()),
          (exit) => exit !== undefined,
        )
        const stored = yield* Effect.forEach(["j", "k", "l"], (id) => events({ machine: "job", id }))
        expect(stored.flat().length).toBeGreaterThanOrEqual(taken)
        expect((yield* record(key)).sequence).toBe(stored[0]?.length)
      }))

    for (const observe of [false, true]) {
      const which = observe ? "an engine that only observes" : "an engine that works"
      test(`${which} ends the waits for its instances`, ({ open, quiet, eventually }) =>
        Effect.gen(function* () {
          const first = yield* open()
          yield* first.engine.start(Job, "j")
          const { engine, close } = observe ? yield* open({ observe }) : first
          yield* engine.register(Job)
          const instance = Option.getOrThrow(engine.find(key))
          const waits = yield* Effect.forEach([...endless(instance), ended(instance)], (wait) =>
            Effect.forkChild(wait, { startImmediately: true }),
          )
          yield* quiet
          yield* close
          const outcomes = yield* eventually(
            Effect.sync(() => waits.map((wait) => wait.pollUnsafe())),
            (exits) => exits.every((exit) => exit !== undefined),
          )
          expect(outcomes).toMatchObject([{ _tag: "Success", value: stopped }, { _tag: "Success", value: stopped }, { _tag: "Success" }])
        }))

      test(`${which} lets no caller wait afterwards; what holds already is answered`, ({ open, eventually }) =>
        Effect.gen(function* () {
          const first = yield* open()
          yield* first.engine.start(Job, "j")
          yield* first.engine.start(Job, "done", S.Done({ n: 7 }))
          const { engine, close } = observe ? yield* open({ observe }) : first
          yield* engine.register(Job)
          const instance = Option.getOrThrow(engine.find(key))
          yield* close
          const late = yield* Effect.forEach(
            [...endless(instance), ended(instance), instance.snapshot, instance.waitFor(({ _tag }) => _tag === "Idle")],
            (call) => Effect.forkChild(call, { startImmediately: true }),
          )
          const outcomes = yield* eventually(
            Effect.sync(() => late.map((call) => call.pollUnsafe())),
            (exits) => exits.every((exit) => exit !== undefined),
          )
          expect(outcomes).toMatchObject([
            { _tag: "Success", value: stopped },
            { _tag: "Success", value: stopped },
            { _tag: "Success", value: [S.Idle({ n: 0 })] },
            { _tag: "Success", value: { status: "running", state: S.Idle({ n: 0 }) } },
            { _tag: "Success", value: S.Idle({ n: 0 }) },
          ])
          const done = Option.getOrThrow(engine.find({ machine: "job", id: "done" }))
          expect(yield* done.awaitFinal).toEqual(S.Done({ n: 7 }))
        }))
    }
  })
}

const stopped = { _tag: "MachineStopped", reason: "the engine was stopped" }

type Waited = Instance<{ readonly _tag: string }, { readonly _tag: string }>

/** Waits that nothing but the end of the engine ends. */
const endless = (instance: Waited) => [Effect.flip(instance.awaitFinal), Effect.flip(instance.waitFor(() => false))]

const ended = (instance: Waited) => Stream.runCollect(instance.changes)
