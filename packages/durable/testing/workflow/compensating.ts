/** Sagas: what was done is undone once, also when the process dies halfway. */
import { expect } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { StoreProbe } from "../engine/StoreProbe.ts"
import { Calls } from "./Calls.ts"
import type { Kit } from "./Rig.ts"

const Saga = Workflow.make("Saga", {
  payload: { id: Schema.String },
  success: Schema.String,
  error: Schema.String,
  idempotencyKey: ({ id }) => id,
})
const Gate = DurableDeferred.make("gate")

export const compensating = ({ describe, test }: Kit) => {
  const step = (calls: Calls, what: string, undo: Effect.Effect<void> = calls.note(`undo ${what}`)) =>
    Saga.withCompensation(calls.activity(what), () => undo)

  const failing = (calls: Calls) =>
    Effect.gen(function* () {
      yield* step(calls, "one")
      yield* step(calls, "two")
      yield* step(calls, "three")
      return yield* Effect.fail("no four")
    })

  describe("compensating", () => {
    test("a failure undoes what was done, last first, with its value and the cause", ({ open, tags }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(
          Saga.toLayer(() =>
            Effect.gen(function* () {
              yield* Saga.withCompensation(calls.activity("one", "value one"), (value, cause) =>
                calls.note(`undo ${value} because ${Cause.squash(cause)}`),
              )
              yield* step(calls, "two")
              return yield* Effect.fail("no three")
            }),
          ),
        )
        expect(yield* Effect.flip(run(Saga.execute({ id: "a" })))).toBe("no three")
        expect(calls.all).toEqual(["one", "two", "undo two", "undo value one because no three"])
        expect(yield* tags(Saga, yield* Saga.executionId({ id: "a" }))).toEqual([
          "Activity/one",
          "Activity/two",
          "Compensated/two",
          "Compensated/one",
          "Failed",
        ])
      }))

    test("success undoes nothing", ({ open }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(Saga.toLayer(() => step(calls, "one")))
        yield* run(Saga.execute({ id: "a" }))
        expect(calls.all).toEqual(["one"])
      }))

    test("after replays each step is undone once, not once per replay", ({ open, reaches }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(
          Saga.toLayer(() =>
            Effect.gen(function* () {
              yield* step(calls, "one")
              yield* DurableDeferred.await(Gate)
              yield* step(calls, "two")
              return yield* Effect.fail("no three")
            }),
          ),
        )
        const id = yield* run(Saga.execute({ id: "a" }, { discard: true }))
        for (let time = 0; time < 3; time++) {
          yield* reaches(Saga, id, "Suspended")
          yield* run(Saga.resume(id))
        }
        yield* reaches(Saga, id, "Suspended")
        const token = DurableDeferred.tokenFromExecutionId(Gate, { workflow: Saga, executionId: id })
        yield* run(DurableDeferred.succeed(Gate, { token, value: undefined }))
        yield* reaches(Saga, id, "Failed")
        expect(calls.all).toEqual(["one", "two", "undo two", "undo one"])
      }))

    test("a process that dies halfway does not undo again what it has undone", ({ open, reaches, until }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const probe = new StoreProbe()
        // The process dies when the second of three compensations has been stored.
        probe.onCommit = (commits, commit) =>
          Effect.tap(commit, () =>
            Effect.sync(() => {
              if (commits.some(({ events }) => events.some(({ tag }) => tag === "Compensated/two"))) probe.isCut = true
            }),
          )
        const first = yield* open(
          Saga.toLayer(() => failing(calls)),
          { probe },
        )
        const id = yield* first.run(Saga.execute({ id: "a" }, { discard: true }))
        yield* until(() => probe.isCut)
        yield* open(Saga.toLayer(() => failing(calls)))
        yield* reaches(Saga, id, "Failed")
        expect(calls.all.slice(0, 5)).toEqual(["one", "two", "three", "undo three", "undo two"])
        expect([calls.of("undo three"), calls.of("undo two"), calls.of("undo one")]).toEqual([1, 1, 1])
      }))

    test("a process that is stopped halfway leaves the rest to the next", ({ open, reaches, until }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        let isSlow = true
        const workflows = Saga.toLayer(() =>
          Effect.gen(function* () {
            yield* step(calls, "one")
            yield* step(
              calls,
              "two",
              Effect.andThen(
                calls.note("undo two"),
                Effect.suspend(() => (isSlow ? Effect.sleep("1 minute") : Effect.void)),
              ),
            )
            yield* step(calls, "three")
            return yield* Effect.fail("no four")
          }),
        )
        const first = yield* open(workflows, { drainTimeout: "1 second" })
        const id = yield* first.run(Saga.execute({ id: "a" }, { discard: true }))
        yield* until(() => calls.of("undo two") === 1)
        const closing = yield* Effect.forkChild(first.close)
        yield* TestClock.adjust("2 minutes")
        yield* Fiber.join(closing)
        isSlow = false
        yield* open(workflows)
        yield* reaches(Saga, id, "Failed")
        expect([calls.of("undo three"), calls.of("undo one")]).toEqual([1, 1])
        expect(calls.all.at(-1)).toBe("undo one")
      }))

    test("compensations may be activities, and are then stored as such too", ({ open, tags }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(
          Saga.toLayer(() =>
            Effect.andThen(
              Saga.withCompensation(calls.activity("book"), () => Effect.asVoid(calls.activity("cancel"))),
              Effect.fail("no"),
            ),
          ),
        )
        yield* Effect.flip(run(Saga.execute({ id: "a" })))
        expect(calls.all).toEqual(["book", "cancel"])
        expect(yield* tags(Saga, yield* Saga.executionId({ id: "a" }))).toEqual([
          "Activity/book",
          "Activity/cancel",
          "Compensated/book",
          "Failed",
        ])
      }))

    test("of parallel steps each that was done is undone once, also after a crash", ({ open, reaches }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const names = ["a", "b", "c", "d", "e"]
        const body = () =>
          Effect.andThen(
            Effect.forEach(names, (name) => step(calls, name), { concurrency: "unbounded" }),
            Effect.fail("no"),
          )
        const probe = new StoreProbe()
        let compensated = 0
        probe.onCommit = (commits, commit) =>
          Effect.tap(commit, () =>
            Effect.sync(() => {
              compensated += commits.flatMap(({ events }) => events).filter(({ tag }) => tag.startsWith("Compensated")).length
              if (compensated === 2) probe.isCut = true
            }),
          )
        const first = yield* open(Saga.toLayer(body), { probe })
        const id = yield* first.run(Saga.execute({ id: "x" }, { discard: true }))
        yield* reaches(Saga, id, "Compensating")
        yield* open(Saga.toLayer(body))
        yield* reaches(Saga, id, "Failed")
        for (const name of names) expect([name, calls.of(name), calls.of(`undo ${name}`)]).toEqual([name, 1, 1])
      }))

    test("a compensation that dies holds the execution; resumed, it is tried again, and the others are not", ({ open, reaches, record }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        let broken = true
        const { run } = yield* open(
          Saga.toLayer(() =>
            Effect.gen(function* () {
              yield* step(calls, "one")
              yield* step(
                calls,
                "two",
                Effect.suspend(() => (broken ? Effect.die(new Error("line is busy")) : calls.note("undo two"))),
              )
              yield* step(calls, "three")
              return yield* Effect.fail("no")
            }),
          ),
        )
        const id = yield* run(Saga.execute({ id: "a" }, { discard: true }))
        yield* reaches(Saga, id, "Held")
        expect(yield* record(Saga, id)).toMatchObject({ status: "held", reason: expect.stringContaining("line is busy") })
        broken = false
        yield* run(Saga.resume(id))
        yield* reaches(Saga, id, "Failed")
        expect(calls.all).toEqual(["one", "two", "three", "undo three", "undo one", "undo two"])
      }))

    test("what belongs to the process is released with every run, whatever was compensated", ({ open, until }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run, close } = yield* open(
          Saga.toLayer(({ id }) =>
            Effect.gen(function* () {
              yield* calls.activity("one")
              yield* Workflow.provideScope(Effect.acquireRelease(calls.note("open"), () => calls.note("shut")))
              yield* Workflow.addFinalizer((exit) => calls.note(Exit.isSuccess(exit) ? "fine" : "failed"))
              if (id === "stuck") yield* calls.stuck("stuck")
              return id
            }),
          ),
        )
        yield* run(Saga.execute({ id: "a" }))
        expect(calls.all).toEqual(["one", "open", "fine", "shut"])
        yield* run(Saga.execute({ id: "stuck" }, { discard: true }))
        yield* until(() => calls.of("stuck") === 1)
        yield* close
        // The process stops and the execution does not end: its file is closed, its finalizer runs only at the end.
        expect(calls.all.slice(4)).toEqual(["one", "open", "stuck", "shut"])
      }))

    test("stopping a process compensates nothing, not even in the middle of a race", ({ open, until, reaches }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        let isStuck = true
        const workflows = Saga.toLayer(() =>
          DurableDeferred.raceAll({
            name: "race",
            success: Schema.String,
            error: Schema.Never,
            effects: [
              Effect.andThen(
                step(calls, "one"),
                Effect.suspend(() => (isStuck ? Effect.as(calls.stuck("two"), "never") : calls.activity("two"))),
              ),
            ],
          }),
        )
        const first = yield* open(workflows)
        const id = yield* first.run(Saga.execute({ id: "a" }, { discard: true }))
        yield* until(() => calls.of("two") === 1)
        yield* first.close
        expect(calls.all).toEqual(["one", "two"])
        isStuck = false
        yield* open(workflows)
        yield* reaches(Saga, id, "Completed")
        expect(calls.all).toEqual(["one", "two", "two"])
      }))
  })
}
