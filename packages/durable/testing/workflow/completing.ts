/** Deferreds: completed from outside, early, late, twice, and while an activity runs. */
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { Calls } from "./Calls.ts"
import type { Kit } from "./Rig.ts"

const Approval = Workflow.make("Approval", {
  payload: { id: Schema.String },
  success: Schema.String,
  error: Schema.String,
  idempotencyKey: ({ id }) => id,
})

const Answer = DurableDeferred.make("answer", { success: Schema.String, error: Schema.String })
const Second = DurableDeferred.make("second", { success: Schema.String })

const tokenOf = (executionId: string) => DurableDeferred.tokenFromExecutionId(Answer, { workflow: Approval, executionId })

export const completing = ({ describe, test }: Kit) => {
  describe("deferreds", () => {
    test("one that is completed from outside is an event, and wakes the execution", ({ open, reaches, tags }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(Approval.toLayer(() => Effect.andThen(calls.activity("ask"), DurableDeferred.await(Answer))))
        const id = yield* run(Approval.execute({ id: "a" }, { discard: true }))
        yield* reaches(Approval, id, "Suspended")
        yield* run(DurableDeferred.succeed(Answer, { token: tokenOf(id), value: "granted" }))
        expect(yield* run(Approval.execute({ id: "a" }))).toBe("granted")
        expect(yield* tags(Approval, id)).toEqual(["Activity/ask", "Suspended", "Deferred/answer", "Completed"])
        expect(calls.all).toEqual(["ask"])
      }))

    test("a deferred that is completed with a failure fails the execution", ({ open, reaches }) =>
      Effect.gen(function* () {
        const { run } = yield* open(Approval.toLayer(() => DurableDeferred.await(Answer)))
        const id = yield* run(Approval.execute({ id: "a" }, { discard: true }))
        yield* reaches(Approval, id, "Suspended")
        yield* run(DurableDeferred.fail(Answer, { token: tokenOf(id), error: "denied" }))
        expect(yield* Effect.flip(run(Approval.execute({ id: "a" })))).toBe("denied")
      }))

    test("of two completions the first counts", ({ open, reaches, tags }) =>
      Effect.gen(function* () {
        const { run } = yield* open(
          Approval.toLayer(() => Effect.zipWith(DurableDeferred.await(Answer), DurableDeferred.await(Second), (one, two) => one + two)),
        )
        const id = yield* run(Approval.execute({ id: "a" }, { discard: true }))
        yield* reaches(Approval, id, "Suspended")
        yield* run(
          Effect.forEach(["first", "second", "third"], (value) => DurableDeferred.succeed(Answer, { token: tokenOf(id), value }), {
            concurrency: "unbounded",
          }),
        )
        const token = DurableDeferred.tokenFromExecutionId(Second, { workflow: Approval, executionId: id })
        yield* run(DurableDeferred.succeed(Second, { token, value: "!" }))
        expect(yield* run(Approval.execute({ id: "a" }))).toBe("first!")
        expect((yield* tags(Approval, id)).filter((tag) => tag === "Deferred/answer")).toHaveLength(1)
      }))

    test("one that is completed before the execution was started is there when it is", ({ open, record }) =>
      Effect.gen(function* () {
        const { run } = yield* open(Approval.toLayer(({ id }) => Effect.map(DurableDeferred.await(Answer), (answer) => `${id} ${answer}`)))
        const id = yield* Approval.executionId({ id: "early" })
        yield* run(DurableDeferred.succeed(Answer, { token: tokenOf(id), value: "granted" }))
        expect(yield* record(Approval, id)).toMatchObject({ tag: "Waiting", status: "running", needsOwner: false })
        expect(yield* run(Approval.execute({ id: "early" }))).toBe("early granted")
      }))

    test("one that is completed after the end changes nothing", ({ open, tags }) =>
      Effect.gen(function* () {
        const { run } = yield* open(Approval.toLayer(() => Effect.succeed("over")))
        yield* run(Approval.execute({ id: "a" }))
        const id = yield* Approval.executionId({ id: "a" })
        yield* run(DurableDeferred.succeed(Answer, { token: tokenOf(id), value: "late" }))
        expect(yield* tags(Approval, id)).toEqual(["Completed"])
      }))

    test("an activity that runs while one is completed continues, and is not run again", ({ open, until }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const slow = Promise.withResolvers<void>()
        const { run } = yield* open(
          Approval.toLayer(() =>
            Effect.map(
              Effect.all(
                [
                  DurableDeferred.await(Answer),
                  Activity.make({
                    name: "slow",
                    success: Schema.String,
                    execute: Effect.andThen(
                      calls.note("slow"),
                      Effect.as(
                        Effect.promise(() => slow.promise),
                        "done",
                      ),
                    ),
                  }),
                ],
                { concurrency: "unbounded" },
              ),
              (both) => both.join(" "),
            ),
          ),
        )
        const id = yield* run(Approval.execute({ id: "a" }, { discard: true }))
        yield* until(() => calls.all.length === 1)
        yield* run(DurableDeferred.succeed(Answer, { token: tokenOf(id), value: "granted" }))
        slow.resolve()
        expect(yield* run(Approval.execute({ id: "a" }))).toBe("granted done")
        expect(calls.all).toEqual(["slow"])
      }))

    test("what an effect of the body completes is stored, and not computed again", ({ open, reaches }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run } = yield* open(
          Approval.toLayer(() =>
            Effect.gen(function* () {
              const one = yield* DurableDeferred.raceAll({
                name: "either",
                success: Schema.String,
                error: Schema.Never,
                effects: [calls.activity("fast"), calls.activity("faster")],
              })
              yield* DurableDeferred.await(Second)
              return one
            }),
          ),
        )
        const id = yield* run(Approval.execute({ id: "a" }, { discard: true }))
        yield* reaches(Approval, id, "Suspended")
        const ran = [...calls.all]
        const token = DurableDeferred.tokenFromExecutionId(Second, { workflow: Approval, executionId: id })
        yield* run(DurableDeferred.succeed(Second, { token, value: "" }))
        expect(yield* run(Approval.execute({ id: "a" }))).toBe("fast")
        expect(calls.all).toEqual(ran)
      }))

    test("of raced activities the winner's result is kept, and the loser is interrupted", ({ open, tags }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const loser = Activity.make({
          name: "loser",
          success: Schema.String,
          execute: Effect.onInterrupt(Effect.never, () => calls.note("loser interrupted")),
        })
        const { run } = yield* open(Approval.toLayer(() => Activity.raceAll("race", [loser, calls.activity("winner")])))
        expect(yield* run(Approval.execute({ id: "a" }))).toBe("winner")
        expect(calls.all).toEqual(["winner", "loser interrupted"])
        expect(yield* tags(Approval, yield* Approval.executionId({ id: "a" }))).toEqual([
          "Activity/winner",
          "Deferred/raceAll/Activity/race",
          "Completed",
        ])
      }))
  })
}
