/** Executions that call others. */
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as DurableClock from "effect/workflow/DurableClock"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { outage, StoreProbe } from "../engine/StoreProbe.ts"
import { Calls } from "./Calls.ts"
import type { Kit } from "./Rig.ts"

const Parent = Workflow.make("Parent", {
  payload: { id: Schema.String },
  success: Schema.String,
  error: Schema.String,
  idempotencyKey: ({ id }) => id,
})
const Child = Workflow.make("Child", {
  payload: { id: Schema.String },
  success: Schema.String,
  error: Schema.String,
  idempotencyKey: ({ id }) => id,
})
const Nested = Workflow.make("Nested", { payload: { depth: Schema.Int }, success: Schema.Int, idempotencyKey: ({ depth }) => `${depth}` })

const Gate = DurableDeferred.make("gate", { success: Schema.String })
const gateOf = (executionId: string) => DurableDeferred.tokenFromExecutionId(Gate, { workflow: Child, executionId })

export const children = ({ describe, test }: Kit) => {
  describe("children", () => {
    test("a parent gets its child's result, and a restart asks neither again", ({ open, reaches, tags }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const workflows = Layer.merge(
          Child.toLayer(({ id }) => calls.activity("work", `work of ${id}`)),
          Parent.toLayer(() =>
            Effect.gen(function* () {
              const worked = yield* Child.execute({ id: "c" })
              yield* DurableClock.sleep({ name: "night", duration: "8 hours" })
              return worked
            }),
          ),
        )
        const first = yield* open(workflows)
        const id = yield* first.run(Parent.execute({ id: "p" }, { discard: true }))
        yield* reaches(Parent, id, "Suspended")
        yield* first.crash
        const second = yield* open(workflows)
        yield* second.run(Parent.resume(id))
        yield* reaches(Parent, id, "Suspended")
        expect(calls.all).toEqual(["work"])
        expect(yield* tags(Child, yield* Child.executionId({ id: "c" }))).toEqual(["Activity/work", "Completed"])
      }))

    test("a child's failure is the parent's to handle", ({ open, record }) =>
      Effect.gen(function* () {
        const { run } = yield* open(
          Layer.merge(
            Child.toLayer(({ id }) => Effect.fail(`${id} is ill`)),
            Parent.toLayer(({ id }) =>
              id === "handles"
                ? Effect.catch(Child.execute({ id: "c" }), (error) => Effect.succeed(`so: ${error}`))
                : Child.execute({ id: "c" }),
            ),
          ),
        )
        expect(yield* run(Parent.execute({ id: "handles" }))).toBe("so: c is ill")
        expect(yield* Effect.flip(run(Parent.execute({ id: "fails" })))).toBe("c is ill")
        expect(yield* record(Child, yield* Child.executionId({ id: "c" }))).toMatchObject({ tag: "Failed" })
      }))

    test("a parent sleeps while its child does, and is woken by its end", ({ open, reaches, pass, record, tags, comesTo }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(
          Layer.merge(
            Child.toLayer(() => Effect.andThen(DurableClock.sleep({ name: "nap", duration: "10 minutes" }), calls.activity("work"))),
            Parent.toLayer(() => Effect.andThen(calls.activity("before"), Child.execute({ id: "c" }))),
          ),
        )
        const id = yield* run(Parent.execute({ id: "p" }, { discard: true }))
        yield* reaches(Parent, id, "Suspended")
        expect(yield* record(Parent, id)).toMatchObject({ owes: false })
        yield* pass("10 minutes")
        yield* comesTo(Parent, id, "Completed")
        expect(calls.all).toEqual(["before", "work"])
        expect(yield* tags(Parent, id)).toEqual(["Activity/before", "Suspended", "Resumed", "Completed"])
        expect(yield* record(Child, yield* Child.executionId({ id: "c" }))).toMatchObject({ tag: "Completed", owes: false })
      }))

    test("a process that dies between a child's end and its parent's waking wakes the parent when it is back", ({
      open,
      reaches,
      pass,
      record,
      comesTo,
    }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const workflows = Layer.merge(
          Child.toLayer(() => Effect.andThen(DurableClock.sleep({ name: "nap", duration: "10 minutes" }), calls.activity("work"))),
          Parent.toLayer(() => Child.execute({ id: "c" })),
        )
        const probe = new StoreProbe()
        const first = yield* open(workflows, { probe })
        const id = yield* first.run(Parent.execute({ id: "p" }, { discard: true }))
        const child = yield* Child.executionId({ id: "c" })
        yield* reaches(Parent, id, "Suspended")
        probe.onCommit = (commits, commit) =>
          Effect.tap(commit, () =>
            Effect.sync(() => {
              if (commits.some(({ summary }) => summary.tag === "Completed")) probe.isCut = true
            }),
          )
        yield* pass("10 minutes")
        yield* comesTo(Child, child, "Completed")
        expect(yield* record(Parent, id)).toMatchObject({ tag: "Suspended" })
        expect(yield* record(Child, child)).toMatchObject({ owes: true })
        yield* open(workflows)
        yield* comesTo(Parent, id, "Completed")
        expect(calls.all).toEqual(["work"])
      }))

    test("a child wakes its parent though the parent is being started once more, and the store does not answer that", ({
      open,
      reaches,
      comesTo,
      until,
    }) =>
      Effect.gen(function* () {
        const { run, probe } = yield* open(
          Layer.merge(
            Child.toLayer(() => DurableDeferred.await(Gate)),
            Parent.toLayer(() => Child.execute({ id: "c" })),
          ),
        )
        const id = yield* run(Parent.execute({ id: "p" }, { discard: true }))
        const child = yield* Child.executionId({ id: "c" })
        yield* reaches(Parent, id, "Suspended")
        let failures = 0
        probe.onCommit = (commits, commit) =>
          commits.some(({ expected }) => expected < 0) && failures++ === 0 ? Effect.fail(outage()) : commit
        yield* Effect.forkChild(run(Parent.execute({ id: "p" }, { discard: true })), { startImmediately: true })
        yield* until(() => failures > 0)
        yield* run(DurableDeferred.succeed(Gate, { token: gateOf(child), value: "open" }))
        yield* reaches(Child, child, "Completed")
        yield* comesTo(Parent, id, "Completed")
      }))

    test("a child that another caller started wakes all executions that wait for it", ({ open, reaches }) =>
      Effect.gen(function* () {
        const { run } = yield* open(
          Layer.merge(
            Child.toLayer(() => DurableDeferred.await(Gate)),
            Parent.toLayer(({ id }) => Effect.map(Child.execute({ id: "shared" }), (result) => `${id} ${result}`)),
          ),
        )
        const child = yield* run(Child.execute({ id: "shared" }, { discard: true }))
        yield* reaches(Child, child, "Suspended")
        const parents = yield* run(Effect.forEach(["one", "two", "three"], (id) => Parent.execute({ id }, { discard: true })))
        yield* Effect.forEach(parents, (id) => reaches(Parent, id, "Suspended"))
        yield* run(DurableDeferred.succeed(Gate, { token: gateOf(child), value: "open" }))
        yield* Effect.forEach(parents, (id) => reaches(Parent, id, "Completed"))
        expect(yield* run(Effect.forEach(["one", "two", "three"], (id) => Parent.execute({ id })))).toEqual([
          "one open",
          "two open",
          "three open",
        ])
      }))

    test("a parent of 200 children that all sleep is gone through a few times, not once for each of them", ({
      open,
      reaches,
      pass,
      comesTo,
    }) =>
      Effect.gen(function* () {
        let runs = 0
        const calls = new Calls()
        const { run } = yield* open(
          Layer.merge(
            Child.toLayer(({ id }) =>
              Effect.andThen(DurableClock.sleep({ name: "nap", duration: "10 minutes" }), calls.activity("work", id)),
            ),
            Parent.toLayer(() =>
              Effect.gen(function* () {
                runs++
                const ids = Array.from({ length: 200 }, (_, index) => `${index}`)
                const all = yield* Effect.forEach(ids, (id) => Child.execute({ id }), { concurrency: "unbounded" })
                return `${all.length} ${new Set(all).size}`
              }),
            ),
          ),
        )
        const id = yield* run(Parent.execute({ id: "many" }, { discard: true }))
        yield* reaches(Parent, id, "Suspended")
        yield* pass("10 minutes")
        yield* comesTo(Parent, id, "Completed")
        expect(yield* run(Parent.execute({ id: "many" }))).toBe("200 200")
        expect(calls.all).toHaveLength(200)
        expect(runs).toBeLessThan(30)
      }))

    test("executions are nested a hundred deep, and the sleep of the last one puts all of them to sleep", ({
      open,
      pass,
      eventually,
      inTime,
      journal,
    }) =>
      Effect.gen(function* () {
        const { run } = yield* open(
          Nested.toLayer(({ depth }) =>
            depth === 0
              ? Effect.as(DurableClock.sleep({ name: "nap", duration: "10 minutes" }), 0)
              : Effect.map(Nested.execute({ depth: depth - 1 }), (below) => below + 1),
          ),
        )
        yield* run(Nested.execute({ depth: 100 }, { discard: true }))
        const inPhase = (phase: string) => Effect.map(journal.count("workflow/Nested"), (counts) => counts.get(phase) ?? 0)
        yield* eventually(inPhase("Suspended"), (asleep) => asleep === 101)
        yield* pass("10 minutes")
        yield* inTime(inPhase("Completed"), (over) => over === 101)
        expect(yield* run(Nested.execute({ depth: 100 }))).toBe(100)
      }))

    test("a child that is only started goes its own way", ({ open, reaches }) =>
      Effect.gen(function* () {
        const { run } = yield* open(
          Layer.merge(
            Child.toLayer(() => DurableDeferred.await(Gate)),
            Parent.toLayer(() => Child.execute({ id: "free" }, { discard: true })),
          ),
        )
        const child = yield* run(Parent.execute({ id: "p" }))
        yield* reaches(Child, child, "Suspended")
        yield* run(DurableDeferred.succeed(Gate, { token: gateOf(child), value: "open" }))
        yield* reaches(Child, child, "Completed")
      }))
  })
}
