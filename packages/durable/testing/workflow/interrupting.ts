/** Interrupting executions. */
import { expect } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as DurableClock from "effect/workflow/DurableClock"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import { Calls } from "./Calls.ts"
import type { Kit } from "./Rig.ts"

const Trip = Workflow.make("Trip", { payload: { id: Schema.String }, success: Schema.String, idempotencyKey: ({ id }) => id })
const Leg = Workflow.make("Leg", { payload: { id: Schema.String }, success: Schema.String, idempotencyKey: ({ id }) => id })
const Gate = DurableDeferred.make("gate", { success: Schema.String })

const isInterrupted = (result: Option.Option<Workflow.Result<unknown, unknown>>) =>
  Option.isSome(result) &&
  result.value._tag === "Complete" &&
  Exit.isFailure(result.value.exit) &&
  Cause.hasInterruptsOnly(result.value.exit.cause)

export const interrupting = ({ describe, test }: Kit) => {
  const booked = (calls: Calls, what: string) => Trip.withCompensation(calls.activity(`book ${what}`), () => calls.note(`cancel ${what}`))

  describe("interrupting", () => {
    test("a sleeping execution is compensated, last step first, once, and ends as interrupted", ({
      open,
      reaches,
      record,
      tags,
      deadlines,
    }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(
          Trip.toLayer(() =>
            Effect.gen(function* () {
              yield* booked(calls, "flight")
              yield* booked(calls, "hotel")
              yield* DurableClock.sleep({ name: "wait", duration: "1 hour" })
              return yield* booked(calls, "car")
            }),
          ),
        )
        const id = yield* run(Trip.execute({ id: "a" }, { discard: true }))
        yield* reaches(Trip, id, "Suspended")
        yield* run(Trip.interrupt(id))
        yield* reaches(Trip, id, "Interrupted")
        expect(calls.all).toEqual(["book flight", "book hotel", "cancel hotel", "cancel flight"])
        expect(isInterrupted(yield* run(Trip.poll(id)))).toBe(true)
        expect(yield* record(Trip, id)).toMatchObject({ status: "final", owes: false })
        expect(yield* deadlines(Trip, id)).toEqual([])
        expect((yield* tags(Trip, id)).slice(4)).toEqual(["Interrupt", "Compensated/book hotel", "Compensated/book flight", "Interrupted"])
      }))

    test("a running activity finishes and is compensated; the next step is not taken", ({ open, reaches, until }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const slow = Promise.withResolvers<void>()
        const pay = Activity.make({
          name: "pay",
          execute: Effect.andThen(
            calls.note("pay"),
            Effect.andThen(
              Effect.promise(() => slow.promise),
              calls.note("paid"),
            ),
          ),
        })
        const { run } = yield* open(
          Trip.toLayer(() =>
            Effect.gen(function* () {
              yield* Trip.withCompensation(pay, () => calls.note("refund"))
              return yield* calls.activity("ship")
            }),
          ),
        )
        const id = yield* run(Trip.execute({ id: "a" }, { discard: true }))
        yield* until(() => calls.all.length === 1)
        yield* run(Trip.interrupt(id))
        slow.resolve()
        yield* reaches(Trip, id, "Interrupted")
        expect(calls.all).toEqual(["pay", "paid", "refund"])
      }))

    test("a sleep in memory is not slept to its end", ({ open, reaches, eventually, tags, quiet }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(
          Trip.toLayer(() =>
            Effect.gen(function* () {
              yield* booked(calls, "flight")
              yield* DurableClock.sleep({ name: "moment", duration: "30 seconds" })
              return yield* booked(calls, "hotel")
            }),
          ),
        )
        const id = yield* run(Trip.execute({ id: "a" }, { discard: true }))
        yield* eventually(tags(Trip, id), (all) => all.length === 1)
        yield* quiet
        yield* run(Trip.interrupt(id))
        yield* reaches(Trip, id, "Interrupted")
        expect(calls.all).toEqual(["book flight", "cancel flight"])
      }))

    test("goes from a parent to the children it waits for", ({ open, reaches }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(
          Layer.merge(
            Leg.toLayer(() =>
              Effect.gen(function* () {
                yield* Leg.withCompensation(calls.activity("rail"), () => calls.note("return rail"))
                return yield* DurableDeferred.await(Gate)
              }),
            ),
            Trip.toLayer(() => Effect.andThen(booked(calls, "flight"), Leg.execute({ id: "leg" }))),
          ),
        )
        const id = yield* run(Trip.execute({ id: "a" }, { discard: true }))
        const leg = yield* Leg.executionId({ id: "leg" })
        yield* reaches(Trip, id, "Suspended")
        yield* reaches(Leg, leg, "Suspended")
        yield* run(Trip.interrupt(id))
        yield* reaches(Trip, id, "Interrupted")
        yield* reaches(Leg, leg, "Interrupted")
        expect(calls.all.toSorted()).toEqual(["book flight", "cancel flight", "rail", "return rail"])
      }))

    test("of something unknown or over does nothing", ({ open, tags, journal }) =>
      Effect.gen(function* () {
        const { run } = yield* open(Trip.toLayer(() => Effect.succeed("there")))
        yield* run(Trip.interrupt("unknown"))
        expect((yield* journal.list({ machine: "workflow/Trip" }, 10)).instances).toEqual([])
        yield* run(Trip.execute({ id: "a" }))
        const id = yield* Trip.executionId({ id: "a" })
        yield* run(Trip.interrupt(id))
        expect(yield* tags(Trip, id)).toEqual(["Completed"])
        expect(yield* run(Trip.execute({ id: "a" }))).toBe("there")
      }))

    test("that was asked for before a crash is carried out after it", ({ open, reaches, until }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const first = yield* open(Trip.toLayer(() => Effect.andThen(booked(calls, "flight"), Effect.as(calls.stuck("forever"), ""))))
        const id = yield* first.run(Trip.execute({ id: "a" }, { discard: true }))
        yield* until(() => calls.of("forever") === 1)
        yield* first.run(Trip.interrupt(id))
        yield* first.crash
        yield* open(Trip.toLayer(() => Effect.andThen(booked(calls, "flight"), calls.activity("forever"))))
        yield* reaches(Trip, id, "Interrupted")
        expect(calls.of("book flight")).toBe(1)
        expect(calls.of("cancel flight")).toBe(1)
      }))

    for (const kind of ["interrupt", "interruptUnsafe"] as const) {
      test(`an event that arrives right after ${kind} does not make a sleeping execution succeed`, ({ open, reaches, record }) =>
        Effect.gen(function* () {
          const calls = new Calls()
          const { run } = yield* open(Trip.toLayer(() => Effect.andThen(booked(calls, "flight"), DurableDeferred.await(Gate))))
          const id = yield* run(Trip.execute({ id: "a" }, { discard: true }))
          yield* reaches(Trip, id, "Suspended")
          const token = DurableDeferred.tokenFromExecutionId(Gate, { workflow: Trip, executionId: id })
          yield* run(
            Effect.andThen(
              Effect.flatMap(WorkflowEngine, (engine) => engine[kind](Trip, id)),
              DurableDeferred.succeed(Gate, { token, value: "go" }),
            ),
          )
          yield* reaches(Trip, id, "Interrupted")
          expect(isInterrupted(yield* run(Trip.poll(id)))).toBe(true)
          expect(calls.all).toEqual(["book flight", "cancel flight"])
          expect(yield* record(Trip, id)).toMatchObject({ status: "final", owes: false })
        }))
    }

    test("an execution whose last activity ends after the interrupt is compensated", ({ open, reaches, until }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const slow = Promise.withResolvers<void>()
        const pay = Activity.make({
          name: "pay",
          success: Schema.String,
          execute: Effect.andThen(
            calls.note("pay"),
            Effect.as(
              Effect.promise(() => slow.promise),
              "paid",
            ),
          ),
        })
        const { run } = yield* open(Trip.toLayer(() => Trip.withCompensation(pay, () => calls.note("refund"))))
        const id = yield* run(Trip.execute({ id: "a" }, { discard: true }))
        yield* until(() => calls.all.length === 1)
        yield* run(Trip.interrupt(id))
        slow.resolve()
        yield* reaches(Trip, id, "Interrupted")
        expect(calls.all).toEqual(["pay", "refund"])
      }))

    test("an interrupt during the last finalizers of a body that has succeeded is followed by no success", ({ open, reaches, until }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const slow = Promise.withResolvers<void>()
        const { run } = yield* open(
          Trip.toLayer(() =>
            Effect.gen(function* () {
              yield* booked(calls, "flight")
              yield* Effect.addFinalizer(() =>
                Effect.andThen(
                  calls.note("closing"),
                  Effect.promise(() => slow.promise),
                ),
              )
              return "there"
            }),
          ),
        )
        const id = yield* run(Trip.execute({ id: "a" }, { discard: true }))
        yield* until(() => calls.of("closing") === 1)
        yield* run(Trip.interrupt(id))
        slow.resolve()
        yield* reaches(Trip, id, "Interrupted")
        expect(calls.of("book flight")).toBe(1)
        expect(calls.of("cancel flight")).toBe(1)
      }))

    test("interruptUnsafe interrupts at once, without waiting for running activities", ({ open, reaches, until }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(Trip.toLayer(() => Effect.andThen(booked(calls, "flight"), Effect.as(calls.stuck("forever"), ""))))
        const id = yield* run(Trip.execute({ id: "a" }, { discard: true }))
        yield* until(() => calls.of("forever") === 1)
        yield* run(Effect.flatMap(WorkflowEngine, (engine) => engine.interruptUnsafe(Trip, id)))
        yield* reaches(Trip, id, "Interrupted")
        expect(calls.all).toEqual(["book flight", "forever", "cancel flight"])
      }))
  })
}
