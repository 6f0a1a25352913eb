/** Durable clocks. */
import { expect } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as DurableClock from "effect/workflow/DurableClock"
import * as Workflow from "effect/workflow/Workflow"
import { Calls } from "./Calls.ts"
import type { Kit } from "./Rig.ts"

const Reminder = Workflow.make("Reminder", {
  payload: { id: Schema.String, minutes: Schema.Finite },
  success: Schema.String,
  idempotencyKey: ({ id }) => id,
})

const layerOf = (calls: Calls) =>
  Reminder.toLayer(({ id, minutes }) =>
    Effect.gen(function* () {
      yield* calls.activity(`before ${id}`)
      yield* DurableClock.sleep({ name: "wait", duration: `${minutes} minutes` })
      return yield* calls.activity(`after ${id}`)
    }),
  )

export const sleeping = ({ describe, test }: Kit) => {
  describe("sleeping", () => {
    test("a durable clock is a timer of the execution, and what was done before it is not done again", ({
      open,
      pass,
      reaches,
      deadlines,
      tags,
      comesTo,
    }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(layerOf(calls))
        const start = yield* Clock.currentTimeMillis
        const id = yield* run(Reminder.execute({ id: "a", minutes: 15 }, { discard: true }))
        yield* reaches(Reminder, id, "Suspended")
        expect(yield* deadlines(Reminder, id)).toEqual([{ name: "wait", entry: 2, due: start + 15 * 60_000 }])
        yield* pass("14 minutes")
        expect(calls.all).toEqual(["before a"])
        yield* pass("1 minute")
        yield* comesTo(Reminder, id, "Completed")
        expect(calls.all).toEqual(["before a", "after a"])
        expect(yield* deadlines(Reminder, id)).toEqual([])
        expect(yield* tags(Reminder, id)).toEqual([
          "Activity/before a",
          "ClockSet/wait",
          "Suspended",
          "ClockFired/wait",
          "Activity/after a",
          "Completed",
        ])
      }))

    test("after a restart the deadline is the original one", ({ open, pass, reaches, deadlines, comesTo }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const first = yield* open(layerOf(calls))
        const id = yield* first.run(Reminder.execute({ id: "a", minutes: 15 }, { discard: true }))
        yield* reaches(Reminder, id, "Suspended")
        const [before] = yield* deadlines(Reminder, id)
        yield* pass("10 minutes")
        yield* first.crash
        yield* open(layerOf(calls))
        yield* pass("4 minutes")
        expect(yield* deadlines(Reminder, id)).toEqual([before])
        expect(calls.all).toEqual(["before a"])
        yield* pass("1 minute")
        yield* comesTo(Reminder, id, "Completed")
        expect(calls.all).toEqual(["before a", "after a"])
      }))

    test("a clock that came due while no process ran wakes its execution at the start", ({ open, pass, reaches, comesTo }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const first = yield* open(layerOf(calls))
        const id = yield* first.run(Reminder.execute({ id: "a", minutes: 15 }, { discard: true }))
        yield* reaches(Reminder, id, "Suspended")
        yield* first.close
        yield* pass("1 hour")
        yield* open(layerOf(calls))
        yield* comesTo(Reminder, id, "Completed")
      }))

    test("a short one is slept in memory, as an activity that is not slept again", ({
      open,
      pass,
      reaches,
      tags,
      deadlines,
      eventually,
      comesTo,
    }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(
          Reminder.toLayer(() =>
            Effect.gen(function* () {
              yield* DurableClock.sleep({ name: "short", duration: "10 seconds" })
              yield* DurableClock.sleep({ name: "chosen", duration: "90 seconds", inMemoryThreshold: "2 minutes" })
              return yield* calls.activity("woken")
            }),
          ),
        )
        const id = yield* run(Reminder.execute({ id: "a", minutes: 0 }, { discard: true }))
        yield* reaches(Reminder, id, "Running")
        yield* pass("9 seconds")
        expect(yield* tags(Reminder, id)).toEqual([])
        expect(yield* deadlines(Reminder, id)).toEqual([])
        yield* pass("1 second")
        yield* eventually(tags(Reminder, id), (all) => all.length === 1)
        yield* pass("90 seconds")
        yield* comesTo(Reminder, id, "Completed")
        expect(yield* tags(Reminder, id)).toEqual([
          "Activity/DurableClock/short",
          "Activity/DurableClock/chosen",
          "Activity/woken",
          "Completed",
        ])
      }))

    test("many that are due at one instant all wake, each once", ({ open, pass, eventually, inTime, journal }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(layerOf(calls))
        const ids = Array.from({ length: 150 }, (_, index) => `${index}`)
        yield* run(
          Effect.forEach(ids, (id) => Reminder.execute({ id, minutes: 15 }, { discard: true }), {
            concurrency: "unbounded",
            discard: true,
          }),
        )
        const inPhase = (phase: string) => Effect.map(journal.count("workflow/Reminder"), (counts) => counts.get(phase) ?? 0)
        yield* eventually(inPhase("Suspended"), (asleep) => asleep === 150)
        yield* pass("15 minutes")
        yield* inTime(inPhase("Completed"), (over) => over === 150)
        for (const id of ids) expect(calls.of(`after ${id}`)).toBe(1)
      }))

    test("several clocks side by side each have their own deadline", ({ open, pass, reaches, deadlines, comesTo, inTime }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const nap = (name: string, minutes: number) =>
          Effect.andThen(DurableClock.sleep({ name, duration: `${minutes} minutes` }), calls.activity(`woke ${name}`))
        const { run } = yield* open(
          Reminder.toLayer(() => Effect.as(Effect.all([nap("short", 10), nap("long", 20)], { concurrency: "unbounded" }), "over")),
        )
        const id = yield* run(Reminder.execute({ id: "a", minutes: 0 }, { discard: true }))
        yield* reaches(Reminder, id, "Suspended")
        expect((yield* deadlines(Reminder, id)).map(({ name }) => name)).toEqual(["short", "long"])
        yield* pass("10 minutes")
        yield* inTime(
          Effect.sync(() => calls.all.length),
          (woken) => woken === 1,
        )
        expect(calls.all).toEqual(["woke short"])
        yield* pass("10 minutes")
        yield* comesTo(Reminder, id, "Completed")
        expect(calls.all).toEqual(["woke short", "woke long"])
      }))

    test("a caller that waits for a sleeping execution is answered when it ends, without polling", ({ open, pass, reaches, inTime }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(layerOf(calls))
        const waiting = yield* Effect.forkChild(run(Reminder.execute({ id: "a", minutes: 20 })))
        yield* reaches(Reminder, yield* Reminder.executionId({ id: "a", minutes: 20 }), "Suspended")
        yield* pass("20 minutes")
        yield* inTime(
          Effect.sync(() => waiting.pollUnsafe()),
          (exit) => exit !== undefined,
        )
        expect(yield* Fiber.join(waiting)).toBe("after a")
      }))
  })
}
