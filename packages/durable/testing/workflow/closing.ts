/** Callers of an engine whose scope closes, or has closed. */
import { expect } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { StoreProbe } from "../engine/StoreProbe.ts"
import { Calls } from "./Calls.ts"
import type { Kit } from "./Rig.ts"

const Job = Workflow.make("Job", { payload: { id: Schema.String }, success: Schema.String, idempotencyKey: ({ id }) => id })
const Gate = DurableDeferred.make("gate", { success: Schema.String })

export const closing = ({ describe, test }: Kit) => {
  describe("an engine that closes", () => {
    test("interrupts callers that wait for an execution, whether it sleeps or runs", ({ open, reaches, until }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run, close } = yield* open(
          Job.toLayer(({ id }) => (id === "sleeps" ? DurableDeferred.await(Gate) : Effect.as(calls.stuck("runs"), ""))),
        )
        const callers = yield* Effect.forEach(["sleeps", "runs"], (id) => Effect.forkChild(run(Job.execute({ id }))))
        yield* reaches(Job, yield* Job.executionId({ id: "sleeps" }), "Suspended")
        yield* until(() => calls.of("runs") === 1)
        yield* close
        for (const caller of callers) {
          const exit = yield* Fiber.await(caller)
          expect(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)).toBe(true)
        }
      }))

    test("fails every call that comes afterwards, with what to do about it", ({ open, reaches }) =>
      Effect.gen(function* () {
        const { run, close } = yield* open(Job.toLayer(() => DurableDeferred.await(Gate)))
        const id = yield* run(Job.execute({ id: "x" }, { discard: true }))
        yield* reaches(Job, id, "Suspended")
        yield* close
        const token = DurableDeferred.tokenFromExecutionId(Gate, { workflow: Job, executionId: id })
        for (const late of [
          Job.execute({ id: "x" }),
          Job.execute({ id: "y" }, { discard: true }),
          Job.poll(id),
          Job.interrupt(id),
          Job.resume(id),
          DurableDeferred.succeed(Gate, { token, value: "late" }),
        ]) {
          const exit = yield* Effect.exit(run(late))
          expect(Exit.isFailure(exit) && Cause.squash(exit.cause)).toMatchObject({ _tag: "WorkflowEngineClosed" })
        }
      }))

    test("interrupts a caller whose request the store never answers", ({ open, until, inTime }) =>
      Effect.gen(function* () {
        const probe = new StoreProbe()
        let isAsked = false
        const { run, close } = yield* open(
          Job.toLayer(() => Effect.succeed("")),
          { probe, drainTimeout: "1 second" },
        )
        probe.onCommit = () => {
          isAsked = true
          return Effect.never
        }
        const caller = yield* Effect.forkChild(run(Job.execute({ id: "x" })))
        yield* until(() => isAsked)
        const closed = yield* Effect.forkChild(close)
        yield* inTime(
          Effect.sync(() => closed.pollUnsafe()),
          (exit) => exit !== undefined,
        )
        const exit = yield* Fiber.await(caller)
        expect(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)).toBe(true)
      }))
  })
}
