/** Executions that a failure puts to sleep instead of ending them, and executions that are held. */
import { expect } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { ExecutionHeld } from "../../src/workflow/WorkflowError.ts"
import { Calls } from "./Calls.ts"
import type { Kit } from "./Rig.ts"

const Import = Workflow.make("Import", {
  payload: { id: Schema.String },
  success: Schema.String,
  error: Schema.String,
  idempotencyKey: ({ id }) => id,
})
const Patient = Import.annotate(Workflow.SuspendOnFailure, true)
const Gate = DurableDeferred.make("gate")

export const suspending = ({ describe, test }: Kit) => {
  describe("suspending", () => {
    test("a failing activity suspends the execution with its cause; resumed, it is run again and nothing else is", ({ open, reaches }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        let isBroken = true
        const parse = Activity.make({
          name: "parse",
          success: Schema.String,
          error: Schema.String,
          execute: Effect.andThen(
            calls.note("parse"),
            Effect.suspend(() => (isBroken ? Effect.fail("bad header") : Effect.succeed("parsed"))),
          ),
        })
        const { run } = yield* open(Patient.toLayer(() => Effect.andThen(calls.activity("read"), parse)))
        const id = yield* run(Patient.execute({ id: "a" }, { discard: true }))
        yield* reaches(Patient, id, "Suspended")
        const polled = Option.getOrThrow(yield* run(Patient.poll(id)))
        expect(polled._tag === "Suspended" && polled.cause !== undefined && String(Cause.squash(polled.cause))).toContain("bad header")
        isBroken = false
        yield* run(Patient.resume(id))
        expect(yield* run(Patient.execute({ id: "a" }))).toBe("parsed")
        expect(calls.all).toEqual(["read", "parse", "parse"])
      }))

    test("a failure of the body suspends too", ({ open, reaches }) =>
      Effect.gen(function* () {
        let isBroken = true
        const { run } = yield* open(Patient.toLayer(() => Effect.suspend(() => (isBroken ? Effect.fail("no") : Effect.succeed("yes")))))
        const id = yield* run(Patient.execute({ id: "a" }, { discard: true }))
        yield* reaches(Patient, id, "Suspended")
        isBroken = false
        yield* run(Patient.resume(id))
        yield* reaches(Patient, id, "Completed")
      }))

    test("resume of one that waits for something else goes through it once and lets it sleep on", ({ open, reaches, quiet, tags }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(
          Import.toLayer(() => Effect.as(Effect.andThen(calls.activity("read"), DurableDeferred.await(Gate)), "")),
        )
        const id = yield* run(Import.execute({ id: "a" }, { discard: true }))
        yield* reaches(Import, id, "Suspended")
        yield* run(Import.resume(id))
        yield* quiet
        yield* reaches(Import, id, "Suspended")
        expect(yield* tags(Import, id)).toEqual(["Activity/read", "Suspended", "Resumed", "Suspended"])
        expect(calls.all).toEqual(["read"])
      }))

    test("a schedule for suspended executions of the user's own is followed, and is over when it is over", ({ open, inTime }) =>
      Effect.gen(function* () {
        const Hasty = Workflow.make("Hasty", {
          payload: {},
          idempotencyKey: () => "only",
          suspendedRetrySchedule: Schedule.max([Schedule.spaced("1 second"), Schedule.recurs(2)]),
        })
        const { run } = yield* open(Hasty.toLayer(() => DurableDeferred.await(Gate)))
        let exit: Exit.Exit<void> | undefined
        yield* Effect.forkChild(
          Effect.map(Effect.exit(run(Hasty.execute({}))), (ended) => {
            exit = ended
          }),
        )
        yield* inTime(
          Effect.sync(() => exit),
          (ended) => ended !== undefined,
          "1 second",
        )
        expect(exit !== undefined && Exit.isFailure(exit) && String(Cause.squash(exit.cause))).toContain("suspendedRetrySchedule exhausted")
      }))
  })

  describe("held executions", () => {
    const reading = (schema: Schema.Codec<unknown, unknown>, calls: Calls, value: unknown) =>
      Import.toLayer(() =>
        Effect.gen(function* () {
          yield* Import.withCompensation(
            Activity.make({ name: "read", success: schema, execute: Effect.as(calls.note("read"), value) }),
            () => calls.note("undo"),
          )
          yield* DurableDeferred.await(Gate)
          return yield* calls.activity("write")
        }),
      )

    test("a stored result that its schema no longer takes holds the execution: it is neither skipped nor compensated nor run again", ({
      open,
      reaches,
      eventually,
      record,
    }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const first = yield* open(reading(Schema.String as never, calls, "text"))
        const id = yield* first.run(Import.execute({ id: "a" }, { discard: true }))
        yield* reaches(Import, id, "Suspended")
        yield* first.close
        const changed = yield* open(reading(Schema.Struct({ text: Schema.String }) as never, calls, { text: "text" }))
        const token = DurableDeferred.tokenFromExecutionId(Gate, { workflow: Import, executionId: id })
        yield* changed.run(DurableDeferred.succeed(Gate, { token, value: undefined }))
        yield* reaches(Import, id, "Held")
        // The process knows it before the store does.
        expect(yield* eventually(record(Import, id), ({ status }) => status === "held")).toMatchObject({
          owes: false,
          reason: expect.stringContaining("activity read does not fit its schema"),
        })
        const exit = yield* Effect.exit(changed.run(Import.execute({ id: "a" })))
        expect(Exit.isFailure(exit) && Cause.squash(exit.cause)).toBeInstanceOf(ExecutionHeld)
        expect(calls.all).toEqual(["read"])
        yield* changed.close
        // A definition that fits continues it by itself.
        yield* open(reading(Schema.String as never, calls, "text"))
        yield* reaches(Import, id, "Completed")
        expect(calls.all).toEqual(["read", "write"])
      }))

    test("so does a payload, and a journal that makes no sense", ({ open, reaches, record, journal, eventually, pass }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const first = yield* open(reading(Schema.String as never, calls, "text"))
        const ids = yield* first.run(Effect.forEach(["payload", "journal"], (id) => Import.execute({ id }, { discard: true })))
        yield* Effect.forEach(ids, (id) => reaches(Import, id, "Suspended"))
        yield* first.close
        const [payload = "", damaged = ""] = ids
        yield* journal.rewrite(
          { machine: "workflow/Import", id: damaged },
          { sequence: 1, at: 0, tag: "Banana/read", body: "{}", dedupeId: undefined },
        )
        const Renamed = Workflow.make("Import", { payload: { id: Schema.String, size: Schema.Int }, idempotencyKey: ({ id }) => id })
        const second = yield* open(Renamed.toLayer(() => Effect.void))
        yield* Effect.forEach(ids, (id) => Effect.exit(second.run(Renamed.resume(id))))
        yield* eventually(record(Import, payload), ({ status }) => status === "held")
        yield* eventually(record(Import, damaged), ({ status }) => status === "held")
        expect((yield* record(Import, payload)).reason).toContain("its payload")
        expect((yield* record(Import, damaged)).reason).toContain("Banana/read")
        yield* pass("1 minute")
        expect(calls.all).toEqual(["read", "read"])
      }))

    test("a parent of a held child sleeps until the child continues", ({ open, comesTo }) =>
      Effect.gen(function* () {
        let isBroken = true
        const Outer = Workflow.make("Outer", { payload: {}, success: Schema.String, error: Schema.String, idempotencyKey: () => "o" })
        const Inner = Import.annotate(Workflow.CaptureDefects, false)
        const { run } = yield* open(Outer.toLayer(() => Inner.execute({ id: "inner" })))
        const inner = yield* open(
          Inner.toLayer(() => Effect.suspend(() => (isBroken ? Effect.die(new Error("cable cut")) : Effect.succeed("through")))),
          { nodeId: "inner" },
        )
        const outer = yield* run(Outer.execute({}, { discard: true }))
        const id = yield* Inner.executionId({ id: "inner" })
        yield* comesTo(Inner, id, "Held")
        isBroken = false
        yield* inner.run(Inner.resume(id))
        yield* comesTo(Inner, id, "Completed")
        // The parent looks after its children every 20 seconds.
        yield* comesTo(Outer, outer, "Completed", "5 seconds")
      }))
  })
}
