/** Attempts of an activity, and names that are used twice. */
import { expect } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as DurableClock from "effect/workflow/DurableClock"
import * as Workflow from "effect/workflow/Workflow"
import { DuplicateStep } from "../../src/workflow/WorkflowError.ts"
import { Calls } from "./Calls.ts"
import type { Kit } from "./Rig.ts"

const Fetch = Workflow.make("Fetch", {
  payload: { id: Schema.String },
  success: Schema.String,
  error: Schema.String,
  idempotencyKey: ({ id }) => id,
})

const defectOf = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isDieReason)?.defect : undefined

export const retrying = ({ describe, test }: Kit) => {
  describe("retrying", () => {
    test("Activity.retry runs it once per attempt, and every attempt is an event", ({ open, tags, journal }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const flaky = Activity.make({
          name: "flaky",
          success: Schema.String,
          error: Schema.String,
          execute: Effect.gen(function* () {
            const attempt = yield* Activity.CurrentAttempt
            yield* calls.note(`attempt ${attempt}`)
            return attempt < 3 ? yield* Effect.fail(`no ${attempt}`) : "yes"
          }),
        })
        const { run } = yield* open(Fetch.toLayer(() => Activity.retry(flaky, { times: 5 })))
        expect(yield* run(Fetch.execute({ id: "a" }))).toBe("yes")
        expect(calls.all).toEqual(["attempt 1", "attempt 2", "attempt 3"])
        const id = yield* Fetch.executionId({ id: "a" })
        expect(yield* tags(Fetch, id)).toEqual(["Activity/flaky", "Activity/flaky", "Activity/flaky", "Completed"])
        const [, second] = yield* journal.events({ machine: "workflow/Fetch", id }, 0, 10)
        expect(JSON.parse(second?.body ?? "")).toMatchObject({ attempt: 2 })
      }))

    test("a restart continues with the attempt that was not stored", ({ open, reaches, until }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const flaky = Activity.make({
          name: "flaky",
          success: Schema.String,
          error: Schema.String,
          execute: Effect.gen(function* () {
            const attempt = yield* Activity.CurrentAttempt
            yield* calls.note(`attempt ${attempt}`)
            if (attempt < 3) return yield* Effect.fail("no")
            return calls.of("attempt 3") === 1 ? yield* Effect.never : "yes"
          }),
        })
        const layer = Fetch.toLayer(() => Activity.retry(flaky, { times: 5 }))
        const first = yield* open(layer)
        const id = yield* first.run(Fetch.execute({ id: "a" }, { discard: true }))
        yield* until(() => calls.all.length === 3)
        yield* first.crash
        yield* open(layer)
        yield* reaches(Fetch, id, "Completed")
        expect(calls.all).toEqual(["attempt 1", "attempt 2", "attempt 3", "attempt 3"])
      }))

    test("the last failure is the execution's", ({ open }) =>
      Effect.gen(function* () {
        const never = Activity.make({ name: "never", success: Schema.String, error: Schema.String, execute: Effect.fail("no") })
        const { run } = yield* open(Fetch.toLayer(() => Activity.retry(never, { times: 2 })))
        expect(yield* Effect.flip(run(Fetch.execute({ id: "a" })))).toBe("no")
      }))

    test("two activities of one name are an error that names them, not a silent merge", ({ open, record }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(
          Fetch.toLayer(() =>
            Effect.gen(function* () {
              yield* calls.activity("send", "first")
              return yield* calls.activity("send", "second")
            }),
          ),
        )
        const defect = defectOf(yield* Effect.exit(run(Fetch.execute({ id: "a" }))))
        expect(defect).toMatchObject({ message: expect.stringContaining("activity send is run twice") })
        expect(calls.all).toEqual(["send"])
        expect(yield* record(Fetch, yield* Fetch.executionId({ id: "a" }))).toMatchObject({ tag: "Failed" })
      }))

    test("Effect.retry around an activity is an error, instead of a repetition of the stored failure", ({ open }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const fails = Activity.make({
          name: "fails",
          success: Schema.String,
          error: Schema.String,
          execute: Effect.andThen(calls.note("fails"), Effect.fail("no")),
        })
        const { run } = yield* open(Fetch.toLayer(() => Effect.retry(fails, { times: 3 })))
        const defect = defectOf(yield* Effect.exit(run(Fetch.execute({ id: "a" }))))
        expect(defect).toMatchObject({ message: expect.stringContaining("Activity.retry") })
        expect(calls.all).toEqual(["fails"])
      }))

    test("two clocks of one name are an error too, in memory and in the store", ({ open, pass, reaches }) =>
      Effect.gen(function* () {
        const sleepTwice = (inMemoryThreshold: number) =>
          Effect.gen(function* () {
            yield* DurableClock.sleep({ name: "nap", duration: "1 second", inMemoryThreshold })
            yield* DurableClock.sleep({ name: "nap", duration: "1 second", inMemoryThreshold })
            return "slept"
          })
        const { run } = yield* open(Fetch.toLayer(({ id }) => sleepTwice(id === "memory" ? 60_000 : 0)))
        for (const id of ["memory", "store"]) {
          const executionId = yield* run(Fetch.execute({ id }, { discard: true }))
          yield* pass("1 second")
          yield* reaches(Fetch, executionId, "Failed")
          expect(defectOf(yield* Effect.exit(run(Fetch.execute({ id }))))).toMatchObject({
            message: expect.stringContaining("nap is run twice"),
          })
        }
      }))

    test("the same names in two executions have nothing to do with each other", ({ open }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(Fetch.toLayer(({ id }) => calls.activity("send", id)))
        expect(yield* run(Effect.forEach(["a", "b"], (id) => Fetch.execute({ id })))).toEqual(["a", "b"])
        expect(calls.all).toEqual(["send", "send"])
      }))

    test("the error carries what is needed to find the place", () =>
      Effect.sync(() => {
        const error = new DuplicateStep({ workflow: "Fetch", executionId: "x", kind: "activity", step: "send", attempt: 2 })
        expect(error).toMatchObject({ _tag: "DuplicateStep", workflow: "Fetch", executionId: "x", step: "send", attempt: 2 })
        expect(error.message).toContain("give each activity of an execution a name of its own")
      }))
  })
}
