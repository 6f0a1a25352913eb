/** Machines that no process has registered, and whose instances wait. */
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { TimedCall } from "./Machines.ts"
import type { Kit } from "./Rig.ts"

export const unserved = ({ describe, test }: Kit) =>
  describe("machines that no process registered", () => {
    test("91 due timers of a machine that is not registered are logged once, with the next step", (rig) =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const logger = Logger.make<unknown, void>(({ message }) => void lines.push([message].flat().join(" ")))
        const gone = yield* rig.open()
        for (const id of ["a", "b"]) yield* gone.engine.start(TimedCall, id)
        yield* gone.crash
        yield* rig.pass("30 seconds")
        const { engine } = yield* Effect.provide(rig.open(), Logger.layer([logger]))
        for (let second = 0; second < 50; second++) yield* rig.pass("1 second")
        // They are due, but the process that has them may be about to fire them.
        expect(lines).toEqual([])
        yield* rig.pass("10 seconds")
        expect(lines).toHaveLength(1)
        for (let minute = 0; minute < 15; minute++) yield* rig.pass("1 minute")
        expect(lines).toEqual([
          "due timers of machine call wait: it is not registered here; call `yield* engine.register(Call)` when the process starts",
        ])
        yield* engine.register(TimedCall)
        yield* rig.passUntil("1 second", rig.record({ machine: "call", id: "b" }), ({ tag }) => tag === "Late")
      }))

    test("91 a machine that is registered, or whose timers another node fires in time, is not logged", (rig) =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const logger = Logger.make<unknown, void>(({ message }) => void lines.push([message].flat().join(" ")))
        const one = yield* rig.open()
        yield* one.engine.start(TimedCall, "a")
        yield* Effect.provide(rig.open(), Logger.layer([logger]))
        for (let minute = 0; minute < 5; minute++) yield* rig.pass("1 minute")
        expect(lines).toEqual([])
      }))
  })
