/** Results and journals of executions that have ended. */

import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import * as DurableWorkflow from "../../src/DurableWorkflow.ts"
import { keyOf } from "../../src/workflow/ExecutionState.ts"
import { Calls } from "./Calls.ts"
import type { Kit } from "./Rig.ts"

const Job = Workflow.make("Job", {
  payload: { id: Schema.String },
  success: Schema.Struct({ text: Schema.String }),
  error: Schema.String,
  idempotencyKey: ({ id }) => id,
})
const Gate = DurableDeferred.make("gate")

const layerOf = (calls: Calls) =>
  Job.toLayer(({ id }) =>
    Effect.gen(function* () {
      const text = yield* calls.activity("work", `work of ${id}`)
      if (id === "fails") return yield* Effect.fail("no")
      if (id === "asleep") yield* DurableDeferred.await(Gate)
      return { text }
    }),
  )

export const keeping = ({ describe, test }: Kit) => {
  describe("ended executions", () => {
    test("a pruned one has no events, and its result is still polled, executed and listed, also after a restart", ({
      open,
      tags,
      record,
    }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const first = yield* open(layerOf(calls))
        yield* first.run(Job.execute({ id: "a" }))
        yield* Effect.exit(first.run(Job.execute({ id: "fails" })))
        const id = yield* Job.executionId({ id: "a" })
        const failed = yield* Job.executionId({ id: "fails" })
        expect(yield* first.run(DurableWorkflow.prune(Job, id))).toBe(2)
        expect(yield* first.run(DurableWorkflow.prune(Job, failed))).toBe(2)
        expect(yield* first.run(DurableWorkflow.prune(Job, id))).toBe(0)
        expect(yield* tags(Job, id)).toEqual([])
        yield* first.close
        const { run } = yield* open(layerOf(calls))
        expect(Option.getOrThrow(yield* run(Job.poll(id)))).toMatchObject({ exit: Exit.succeed({ text: "work of a" }) })
        expect(yield* run(Job.execute({ id: "a" }))).toEqual({ text: "work of a" })
        expect(yield* Effect.flip(run(Job.execute({ id: "fails" })))).toBe("no")
        expect(yield* record(Job, id)).toMatchObject({ tag: "Completed", status: "final" })
        expect(calls.all).toEqual(["work", "work"])
      }))

    test("one that has not ended is not pruned", ({ open, reaches, tags }) =>
      Effect.gen(function* () {
        const { run } = yield* open(layerOf(new Calls()))
        const id = yield* run(Job.execute({ id: "asleep" }, { discard: true }))
        yield* reaches(Job, id, "Suspended")
        expect(yield* run(DurableWorkflow.prune(Job, id))).toBe(0)
        expect(yield* tags(Job, id)).toEqual(["Activity/work", "Suspended"])
        expect(yield* run(DurableWorkflow.prune(Job, "unknown"))).toBe(0)
      }))

    test("with a retention journals go by themselves when it is over, and results stay", ({ open, pass, tags, inTime, reaches }) =>
      Effect.gen(function* () {
        const { run } = yield* open(layerOf(new Calls()), { retention: "12 minutes" })
        const id = yield* Job.executionId({ id: "a" })
        yield* run(Job.execute({ id: "a" }))
        const asleep = yield* run(Job.execute({ id: "asleep" }, { discard: true }))
        yield* reaches(Job, asleep, "Suspended")
        yield* pass("10 minutes")
        expect(yield* tags(Job, id)).toEqual(["Activity/work", "Completed"])
        yield* run(Job.execute({ id: "later" }))
        yield* pass("2 minutes")
        yield* inTime(tags(Job, id), (all) => all.length === 0, "20 seconds")
        expect(yield* run(Job.execute({ id: "a" }))).toEqual({ text: "work of a" })
        expect(yield* tags(Job, yield* Job.executionId({ id: "later" }))).toEqual(["Activity/work", "Completed"])
        expect(yield* tags(Job, asleep)).toHaveLength(2)
        yield* pass("12 minutes")
        yield* inTime(tags(Job, yield* Job.executionId({ id: "later" })), (all) => all.length === 0, "20 seconds")
      }))

    test("a parent that is resumed gets the result of a child whose journal is gone", ({ open, reaches }) =>
      Effect.gen(function* () {
        const Outer = Workflow.make("Outer", { payload: {}, success: Schema.String, error: Schema.String, idempotencyKey: () => "o" })
        const calls = new Calls()
        const { run } = yield* open(
          Layer.merge(
            layerOf(calls),
            Outer.toLayer(() =>
              Effect.gen(function* () {
                const { text } = yield* Job.execute({ id: "a" })
                yield* DurableDeferred.await(Gate)
                return text
              }),
            ),
          ),
        )
        const outer = yield* run(Outer.execute({}, { discard: true }))
        yield* reaches(Outer, outer, "Suspended")
        yield* run(DurableWorkflow.prune(Job, yield* Job.executionId({ id: "a" })))
        const token = DurableDeferred.tokenFromExecutionId(Gate, { workflow: Outer, executionId: outer })
        yield* run(DurableDeferred.succeed(Gate, { token, value: undefined }))
        expect(yield* run(Outer.execute({}))).toBe("work of a")
        expect(calls.all).toEqual(["work"])
      }))

    test("160 with a retention of executions, those that ended go with their results, and nothing else", ({
      open,
      pass,
      inTime,
      reaches,
      journal,
    }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const Other = Workflow.make("Other", { payload: {}, success: Schema.String, idempotencyKey: () => "other" })
        const layer = Layer.merge(
          layerOf(calls),
          Other.toLayer(() => Effect.succeed("kept")),
        )
        const { run } = yield* open(layer, { executionRetention: { Job: "12 minutes" } })
        const id = yield* Job.executionId({ id: "a" })
        const later = yield* Job.executionId({ id: "later" })
        yield* run(Job.execute({ id: "a" }))
        yield* run(Other.execute({}))
        const asleep = yield* run(Job.execute({ id: "asleep" }, { discard: true }))
        yield* reaches(Job, asleep, "Suspended")
        yield* pass("10 minutes")
        expect(Option.isSome(yield* journal.open(keyOf(Job, id)))).toBe(true)
        yield* run(Job.execute({ id: "later" }))
        yield* pass("2 minutes")
        yield* inTime(journal.open(keyOf(Job, id)), Option.isNone, "20 seconds")
        expect(yield* run(Job.poll(id))).toEqual(Option.none())
        expect(Option.isSome(yield* journal.open(keyOf(Job, later)))).toBe(true)
        expect(Option.isSome(yield* journal.open(keyOf(Other, yield* Other.executionId({}))))).toBe(true)
        yield* reaches(Job, asleep, "Suspended")
        // Its id is free: it is executed again.
        expect(calls.all).toEqual(["work", "work", "work"])
        expect(yield* run(Job.execute({ id: "a" }))).toEqual({ text: "work of a" })
        expect(calls.all).toEqual(["work", "work", "work", "work"])
      }))

    test("a parent that is resumed after its children were removed has their results, and starts none again", ({
      open,
      pass,
      inTime,
      reaches,
      journal,
      tags,
    }) =>
      Effect.gen(function* () {
        const Outer = Workflow.make("Outer", { payload: {}, success: Schema.String, error: Schema.String, idempotencyKey: () => "o" })
        const calls = new Calls()
        const layer = Layer.merge(
          layerOf(calls),
          Outer.toLayer(() =>
            Effect.gen(function* () {
              const { text } = yield* Job.execute({ id: "a" })
              const problem = yield* Effect.catch(Effect.as(Job.execute({ id: "fails" }), "none"), Effect.succeed)
              yield* Job.execute({ id: "apart" }, { discard: true })
              yield* DurableDeferred.await(Gate)
              return `${text}, ${problem}`
            }),
          ),
        )
        const options: DurableWorkflow.WorkflowOptions = { executionRetention: { Job: "12 minutes" } }
        const first = yield* open(layer, options)
        const outer = yield* first.run(Outer.execute({}, { discard: true }))
        yield* reaches(Outer, outer, "Suspended")
        const children = yield* Effect.forEach(["a", "fails", "apart"], (id) => Job.executionId({ id }))
        for (const child of children) {
          yield* pass("4 minutes")
          yield* inTime(journal.open(keyOf(Job, child)), Option.isNone, "20 seconds")
        }
        yield* first.close
        const { run } = yield* open(layer, options)
        const token = DurableDeferred.tokenFromExecutionId(Gate, { workflow: Outer, executionId: outer })
        yield* run(DurableDeferred.succeed(Gate, { token, value: undefined }))
        expect(yield* run(Outer.execute({}))).toBe("work of a, no")
        expect(calls.all).toEqual(["work", "work", "work"])
        expect((yield* tags(Outer, outer)).filter((tag) => tag.startsWith("Called/"))).toEqual(children.map((id) => `Called/Job/${id}`))
      }))
  })
}
