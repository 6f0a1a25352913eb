/** Group commit: what many executions did is written together. */
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Workflow from "effect/workflow/Workflow"
import { Calls } from "./Calls.ts"
import type { Kit } from "./Rig.ts"

const Job = Workflow.make("Job", { payload: { id: Schema.String }, success: Schema.String, idempotencyKey: ({ id }) => id })

export const grouping = ({ describe, test }: Kit) => {
  describe("grouping", () => {
    test("a hundred executions of ten activities take about as many flushes as one", ({ open }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run, probe } = yield* open(
          Job.toLayer(() =>
            Effect.as(
              Effect.forEach(Array.from({ length: 10 }), (_, index) => calls.activity(`${index}`), { discard: true }),
              "",
            ),
          ),
        )
        yield* run(Job.execute({ id: "alone" }))
        expect(probe.batches).toHaveLength(12)
        const ids = Array.from({ length: 100 }, (_, index) => `${index}`)
        yield* run(Effect.forEach(ids, (id) => Job.execute({ id }), { concurrency: "unbounded", discard: true }))
        const flushes = probe.batches.length - 12
        expect(probe.events - 11).toBe(1100)
        expect(flushes).toBeLessThan(60)
      }))

    test("results of activities that end together are one commit of their execution", ({ open }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const { run, probe } = yield* open(
          Job.toLayer(() =>
            Effect.as(
              Effect.forEach(Array.from({ length: 50 }), (_, index) => calls.activity(`${index}`), {
                concurrency: "unbounded",
                discard: true,
              }),
              "",
            ),
          ),
        )
        yield* run(Job.execute({ id: "one" }))
        expect(probe.batches.map((commits) => commits.map(({ events }) => events.length))).toEqual([[0], [50], [1]])
      }))
  })
}
