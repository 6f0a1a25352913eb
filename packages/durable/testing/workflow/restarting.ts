/** A process that dies, and the next one. */
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { StoreProbe } from "../engine/StoreProbe.ts"
import { Calls } from "./Calls.ts"
import type { Kit } from "./Rig.ts"

const Job = Workflow.make("Job", { payload: { id: Schema.String }, success: Schema.String, idempotencyKey: ({ id }) => id })
const Gate = DurableDeferred.make("gate")

export const restarting = ({ describe, test }: Kit) => {
  describe("restarting", () => {
    test("every unfinished execution continues by itself, in bulk, and no stored activity runs again", ({
      open,
      until,
      eventually,
      journal,
    }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        let isStuck = true
        const workflows = Job.toLayer(({ id }) =>
          Effect.gen(function* () {
            yield* calls.activity(`first ${id}`)
            yield* calls.activity(`second ${id}`)
            if (isStuck) yield* calls.stuck(`third ${id}`)
            return yield* calls.activity(`fourth ${id}`)
          }),
        )
        const first = yield* open(workflows)
        const ids = Array.from({ length: 200 }, (_, index) => `${index}`)
        yield* first.run(Effect.forEach(ids, (id) => Job.execute({ id }, { discard: true }), { concurrency: "unbounded", discard: true }))
        yield* until(() => calls.all.filter((call) => call.startsWith("third")).length === 200)
        yield* first.crash
        isStuck = false
        const probe = new StoreProbe()
        let reads = 0
        probe.onOpen = (read) => {
          reads++
          return read
        }
        yield* open(workflows, { probe })
        yield* eventually(
          Effect.map(journal.count("workflow/Job"), (counts) => counts.get("Completed") ?? 0),
          (over) => over === 200,
        )
        for (const id of ids) {
          for (const [name, times] of [
            ["first", 1],
            ["second", 1],
            ["fourth", 1],
          ] as const)
            expect(calls.of(`${name} ${id}`)).toBe(times)
        }
        expect(reads).toBeLessThan(20)
      }))

    test("executions that wait for something stay asleep: they are not read", ({ open, reaches, pass, tags }) =>
      Effect.gen(function* () {
        let runs = 0
        const workflows = Job.toLayer(() =>
          Effect.gen(function* () {
            runs++
            yield* DurableDeferred.await(Gate)
            return ""
          }),
        )
        const first = yield* open(workflows)
        const id = yield* first.run(Job.execute({ id: "a" }, { discard: true }))
        yield* reaches(Job, id, "Suspended")
        yield* first.crash
        yield* open(workflows)
        yield* pass("1 minute")
        expect(runs).toBe(1)
        expect(yield* tags(Job, id)).toEqual(["Suspended"])
      }))

    test("an activity that had run but was not stored runs again: that is the only one", ({ open, reaches, until }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const workflows = Job.toLayer(() =>
          Effect.andThen(calls.activity("one"), Effect.andThen(calls.activity("two"), calls.activity("three"))),
        )
        const probe = new StoreProbe()
        probe.onCommit = (commits, commit) => {
          if (commits.some(({ events }) => events.some(({ tag }) => tag === "Activity/two"))) probe.isCut = true
          return probe.isCut ? Effect.never : commit
        }
        const first = yield* open(workflows, { probe })
        const id = yield* first.run(Job.execute({ id: "a" }, { discard: true }))
        yield* until(() => probe.isCut)
        yield* open(workflows)
        yield* reaches(Job, id, "Completed")
        expect(calls.all).toEqual(["one", "two", "two", "three"])
      }))

    test("an execution of a node's former life continues at once when it is executed, started or polled", ({ open, until, reaches }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        let isStuck = true
        const workflows = Job.toLayer(({ id }) => (isStuck ? Effect.as(calls.stuck(`stuck ${id}`), "") : calls.activity(`free ${id}`)))
        const first = yield* open(workflows)
        const ids = ["run", "started", "polled"]
        const [, started = "", polled = ""] = yield* first.run(Effect.forEach(ids, (id) => Job.execute({ id }, { discard: true })))
        yield* until(() => ids.every((id) => calls.of(`stuck ${id}`) === 1))
        yield* first.crash
        isStuck = false
        const probe = new StoreProbe()
        // The scan for executions that no node runs finds none of them.
        probe.onPage = () => Effect.succeed([])
        const second = yield* open(workflows, { probe })
        expect(yield* second.run(Job.execute({ id: "run" }))).toBe("free run")
        yield* second.run(Job.execute({ id: "started" }, { discard: true }))
        yield* reaches(Job, started, "Completed")
        expect(yield* second.run(Job.poll(polled))).toEqual(Option.none())
        yield* reaches(Job, polled, "Completed")
        expect(ids.map((id) => calls.of(`free ${id}`))).toEqual([1, 1, 1])
      }))

    test("an execution whose workflow is registered later continues then", ({ open, until, comesTo, pass, record }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const Other = Workflow.make("Other", { payload: {}, idempotencyKey: () => "x" })
        const first = yield* open(Job.toLayer(() => Effect.as(calls.stuck("stuck"), "")))
        const id = yield* first.run(Job.execute({ id: "a" }, { discard: true }))
        yield* until(() => calls.of("stuck") === 1)
        yield* first.crash
        const second = yield* open(Other.toLayer(() => Effect.void))
        yield* pass("1 minute")
        expect(yield* record(Job, id)).toMatchObject({ tag: "Running" })
        yield* second.close
        yield* open(
          Layer.merge(
            Other.toLayer(() => Effect.void),
            Job.toLayer(() => calls.activity("stuck")),
          ),
        )
        yield* comesTo(Job, id, "Completed")
      }))

    test("a process that is asked to stop leaves its executions as they are, for the next", ({ open, until, reaches, record, tags }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        let isStuck = true
        const workflows = Job.toLayer(() =>
          Effect.gen(function* () {
            yield* calls.activity("one")
            return isStuck ? yield* Effect.as(calls.stuck("two"), "") : yield* calls.activity("two")
          }),
        )
        const first = yield* open(workflows)
        const id = yield* first.run(Job.execute({ id: "a" }, { discard: true }))
        yield* until(() => calls.of("two") === 1)
        yield* first.close
        expect(yield* tags(Job, id)).toEqual(["Activity/one"])
        expect(yield* record(Job, id)).toMatchObject({ tag: "Running", status: "running" })
        isStuck = false
        yield* open(workflows, { nodeId: "another" })
        yield* reaches(Job, id, "Completed")
        expect(calls.all).toEqual(["one", "two", "two"])
      }))
  })
}
