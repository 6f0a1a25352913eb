/** An execution is started once, stored step by step, and answered through its schemas. */

import { expect } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import * as DurableWorkflow from "../../src/DurableWorkflow.ts"
import { keyOf } from "../../src/workflow/ExecutionState.ts"
import { Calls } from "./Calls.ts"
import type { Kit } from "./Rig.ts"

class Refused extends Schema.TaggedError<Refused>()("Refused", { amount: Schema.Finite }) {}

const Order = Workflow.make("Order", {
  payload: { id: Schema.String, amount: Schema.Finite },
  success: Schema.String,
  error: Refused,
  idempotencyKey: ({ id }) => id,
})

const Gate = DurableDeferred.make("gate")

export const running = ({ describe, test }: Kit) => {
  describe("running", () => {
    test("activities run in order, each result is an event, and the execution ends as a final instance", ({ open, record, tags }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(
          Order.toLayer(({ amount }) =>
            Effect.gen(function* () {
              const reserved = yield* calls.activity("reserve", "r-1")
              const charged = yield* calls.activity("charge", `c-${amount}`)
              return `${reserved} ${charged}`
            }),
          ),
        )
        const id = yield* run(Order.execute({ id: "one", amount: 3 }, { discard: true }))
        expect(yield* run(Order.execute({ id: "one", amount: 3 }))).toBe("r-1 c-3")
        expect(calls.all).toEqual(["reserve", "charge"])
        expect(yield* tags(Order, id)).toEqual(["Activity/reserve", "Activity/charge", "Completed"])
        expect(yield* record(Order, id)).toMatchObject({
          machine: "workflow/Order",
          tag: "Completed",
          status: "final",
          needsOwner: false,
          owes: false,
        })
      }))

    test("an id that no store can keep is refused at once by all that would store it, and is not an execution's", ({ open, journal }) =>
      Effect.gen(function* () {
        const { run } = yield* open(Order.toLayer(() => Effect.succeed("done")))
        for (const [executionId, problem] of [
          ["a\u0000b", /null character/],
          ["a\ud800b", /surrogate pair/],
          ["é".repeat(501), /takes 1002 bytes, the limit is 1000/],
        ] as const) {
          const token = DurableDeferred.tokenFromExecutionId(Gate, { workflow: Order, executionId })
          const starting = Effect.flatMap(WorkflowEngine, (engine) =>
            engine.execute(Order, { executionId, payload: { id: "x", amount: 1 }, discard: true }),
          )
          for (const storing of [DurableDeferred.succeed(Gate, { token, value: undefined }), starting]) {
            const exit = yield* Effect.exit(run(storing as Effect.Effect<unknown, unknown, WorkflowEngine>))
            expect(Exit.isFailure(exit) && Cause.squash(exit.cause)).toMatchObject({
              _tag: "InvalidState",
              machine: "workflow/Order",
              problem: expect.stringMatching(problem),
            })
          }
          expect(Option.isNone(yield* run(Order.poll(executionId)))).toBe(true)
          yield* run(Order.interrupt(executionId))
          yield* run(Order.resume(executionId))
          expect(yield* run(DurableWorkflow.history(Order, executionId))).toEqual([])
        }
        expect([...(yield* journal.count("workflow/Order"))]).toEqual([])
      }))

    test("options with which no engine could work are refused when it is made", ({ open }) =>
      Effect.gen(function* () {
        const nonsense = [
          [{ retention: Number.NaN }, "retention (in milliseconds) is NaN"],
          [{ executionRetention: { Order: Number.NaN } }, "executionRetention of Order (in milliseconds) is NaN"],
          [{ drainTimeout: -1 }, "drainTimeout (in milliseconds) is -1"],
          [{ lease: Number.NaN }, "lease (in milliseconds) is NaN"],
          [{ nodeId: "a\u0000b" }, 'its nodeId "a\\u0000b" holds a null character'],
        ] as const
        for (const [options, problem] of nonsense) {
          const exit = yield* Effect.exit(open(Layer.empty, options))
          const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
          expect(error).toMatchObject({ _tag: "DefinitionError", problem: expect.stringContaining(problem) })
        }
      }))

    test("the same idempotency key is the same execution, at once and later", ({ open }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(Order.toLayer(({ amount }) => calls.activity("charge", `paid ${amount}`)))
        const all = yield* run(
          Effect.forEach([1, 2, 3, 4], (amount) => Order.execute({ id: "same", amount }), { concurrency: "unbounded" }),
        )
        // Their ids are computed concurrently: the first caller decides the payload.
        expect(new Set(all).size).toBe(1)
        expect(yield* run(Order.execute({ id: "same", amount: 5 }))).toBe(all[0])
        expect(calls.all).toEqual(["charge"])
      }))

    test("a typed failure is answered as it was, by execute and by poll", ({ open, record }) =>
      Effect.gen(function* () {
        const { run } = yield* open(Order.toLayer(({ amount }) => Effect.fail(new Refused({ amount }))))
        const failure = yield* Effect.flip(run(Order.execute({ id: "f", amount: 7 })))
        expect(failure).toBeInstanceOf(Refused)
        expect(failure).toMatchObject({ amount: 7 })
        const id = yield* Order.executionId({ id: "f", amount: 7 })
        const polled = Option.getOrThrow(yield* run(Order.poll(id)))
        expect(polled._tag === "Complete" && Exit.isFailure(polled.exit) && Cause.squash(polled.exit.cause)).toBeInstanceOf(Refused)
        expect(yield* record(Order, id)).toMatchObject({ tag: "Failed", status: "final" })
      }))

    test("an activity's failure and defect come back the same from the journal as from the activity", ({ open }) =>
      Effect.gen(function* () {
        const seen: Array<unknown> = []
        const body = Effect.fnUntraced(function* ({ id }: { readonly id: string }) {
          const failed = yield* Effect.exit(
            Activity.make({ name: "fails", error: Refused, execute: Effect.fail(new Refused({ amount: 1 })) }),
          )
          const died = yield* Effect.exit(Activity.make({ name: "dies", execute: Effect.die(new TypeError("bad wire")) }))
          seen.push([Exit.isFailure(failed) && Cause.squash(failed.cause), Exit.isFailure(died) && Cause.squash(died.cause)])
          if (id === "sleeps") yield* DurableDeferred.await(Gate)
          return "over"
        })
        const { run } = yield* open(Order.toLayer(body))
        const id = yield* run(Order.execute({ id: "sleeps", amount: 0 }, { discard: true }))
        const token = DurableDeferred.tokenFromExecutionId(Gate, { workflow: Order, executionId: id })
        yield* run(DurableDeferred.succeed(Gate, { token, value: undefined }))
        expect(yield* run(Order.execute({ id: "sleeps", amount: 0 }))).toBe("over")
        expect(seen.length).toBeGreaterThan(0)
        for (const [failed, died] of seen as ReadonlyArray<readonly [Refused, Error]>) {
          expect(failed).toBeInstanceOf(Refused)
          expect(died).toMatchObject({ name: "TypeError", message: "bad wire" })
        }
      }))

    test("values that are not JSON by themselves survive, through the activity's own schema", ({ open }) =>
      Effect.gen(function* () {
        const Kept = Workflow.make("Kept", {
          payload: { at: Schema.DateTimeUtc, sizes: Schema.ReadonlyMap(Schema.String, Schema.BigInt) },
          success: Schema.Struct({
            at: Schema.DateTimeUtc,
            sizes: Schema.ReadonlyMap(Schema.String, Schema.BigInt),
            none: Schema.Option(Schema.Int),
          }),
          idempotencyKey: () => "only",
        })
        const { run } = yield* open(
          Kept.toLayer(({ at, sizes }) =>
            Activity.make({
              name: "turn",
              success: Kept.successSchema,
              execute: Effect.sync(() => ({
                at: DateTime.add(at, { hours: 1 }),
                sizes: new Map([...sizes, ["more", 2n ** 70n]]),
                none: Option.none(),
              })),
            }),
          ),
        )
        const at = DateTime.makeUnsafe("2026-01-01T00:00:00Z")
        const { at: later, sizes, none } = yield* run(Kept.execute({ at, sizes: new Map([["one", 1n]]) }))
        expect(DateTime.formatIso(later)).toBe("2026-01-01T01:00:00.000Z")
        expect([...sizes]).toEqual([
          ["one", 1n],
          ["more", 2n ** 70n],
        ])
        expect(none).toEqual(Option.none())
      }))

    test("huge payloads and results are stored whole", ({ open }) =>
      Effect.gen(function* () {
        const Big = Workflow.make("Big", { payload: { text: Schema.String }, success: Schema.String, idempotencyKey: () => "big" })
        const text = 'änd\u0000er\n"\\'.repeat(150_000)
        const { run } = yield* open(
          Big.toLayer((payload) =>
            Activity.make({ name: "double", success: Schema.String, execute: Effect.succeed(payload.text + payload.text) }),
          ),
        )
        const result = yield* run(Big.execute({ text }))
        expect(result.length).toBe(text.length * 2)
        expect(result === text + text).toBe(true)
      }))

    test("poll tells nothing of an unknown or running execution, then that it is suspended, then its result", ({ open, reaches }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const started = yield* Effect.sync(() => Promise.withResolvers<void>())
        const { run } = yield* open(
          Order.toLayer(() =>
            Effect.gen(function* () {
              yield* Activity.make({ name: "slow", execute: Effect.promise(() => started.promise) })
              yield* DurableDeferred.await(Gate)
              return yield* calls.activity("last")
            }),
          ),
        )
        const id = yield* Order.executionId({ id: "p", amount: 1 })
        expect(yield* run(Order.poll(id))).toEqual(Option.none())
        yield* run(Order.execute({ id: "p", amount: 1 }, { discard: true }))
        expect(yield* run(Order.poll(id))).toEqual(Option.none())
        started.resolve()
        yield* reaches(Order, id, "Suspended")
        expect(Option.getOrThrow(yield* run(Order.poll(id)))._tag).toBe("Suspended")
        const token = DurableDeferred.tokenFromExecutionId(Gate, { workflow: Order, executionId: id })
        yield* run(DurableDeferred.succeed(Gate, { token, value: undefined }))
        yield* reaches(Order, id, "Completed")
        expect(Option.getOrThrow(yield* run(Order.poll(id)))).toMatchObject({ _tag: "Complete", exit: Exit.succeed("last") })
      }))

    test("an execution begins where its workflow becomes known, and the caller gets its result", ({ open, reaches, inTime, record }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const Other = Workflow.make("Other", { payload: {}, idempotencyKey: () => "x" })
        const asking = yield* open(
          Other.toLayer(() => Effect.void),
          { nodeId: "asking" },
        )
        const caller = yield* Effect.forkChild(asking.run(Order.execute({ id: "later", amount: 1 })))
        const id = yield* Order.executionId({ id: "later", amount: 1 })
        yield* reaches(Order, id, "Running")
        expect(yield* record(Order, id)).toMatchObject({ status: "running", needsOwner: true, reason: undefined })
        yield* open(
          Order.toLayer(() => calls.activity("done")),
          { nodeId: "knowing" },
        )
        yield* reaches(Order, id, "Completed")
        yield* inTime(
          Effect.sync(() => caller.pollUnsafe()),
          (exit) => exit !== undefined,
          "10 seconds",
        )
        expect(yield* Fiber.join(caller)).toBe("done")
      }))

    test("parallel activities are all stored, and none is lost to another", ({ open, tags }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const names = Array.from({ length: 40 }, (_, index) => `part ${index}`)
        const { run } = yield* open(
          Order.toLayer(() =>
            Effect.map(
              Effect.forEach(names, (name) => calls.activity(name), { concurrency: "unbounded" }),
              (all) => all.join(),
            ),
          ),
        )
        expect(yield* run(Order.execute({ id: "many", amount: 1 }))).toBe(names.join())
        const stored = yield* tags(Order, yield* Order.executionId({ id: "many", amount: 1 }))
        expect(stored.slice(0, -1).sort()).toEqual(names.map((name) => `Activity/${name}`).sort())
        expect(stored.at(-1)).toBe("Completed")
      }))

    test("executions are listed, counted and have a history like any instance", ({ open, reaches }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(
          Order.toLayer(({ id, amount }) =>
            Effect.gen(function* () {
              yield* calls.activity("check")
              if (id === "asleep") yield* DurableDeferred.await(Gate)
              return amount < 0 ? yield* new Refused({ amount }) : "fine"
            }),
          ),
        )
        yield* run(Order.execute({ id: "good", amount: 1 }))
        yield* run(Effect.flip(Order.execute({ id: "bad", amount: -1 })))
        const asleep = yield* run(Order.execute({ id: "asleep", amount: 1 }, { discard: true }))
        yield* reaches(Order, asleep, "Suspended")
        expect(yield* run(DurableWorkflow.count(Order))).toEqual(
          new Map([
            ["Completed", 1],
            ["Failed", 1],
            ["Suspended", 1],
          ]),
        )
        const { instances } = yield* run(DurableWorkflow.list(Order, { phase: "Suspended" }))
        expect(instances.map(({ id, status }) => [id, status])).toEqual([[asleep, "running"]])
        expect((yield* run(DurableWorkflow.list(Order, { status: "final" }))).instances).toHaveLength(2)
        expect((yield* run(DurableWorkflow.history(Order, asleep))).map(({ sequence, tag }) => `${sequence} ${tag}`)).toEqual([
          "1 Activity/check",
          "2 Suspended",
        ])
        expect(keyOf(Order, asleep)).toEqual({ machine: "workflow/Order", id: asleep })
      }))
  })
}
