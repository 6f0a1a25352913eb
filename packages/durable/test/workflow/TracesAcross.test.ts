/** The trace of an execution: its steps, and those that another process does, belong to the trace of its start. */
import { MemoryStore } from "@detent/store"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Tracer from "effect/Tracer"
import * as Workflow from "effect/workflow/Workflow"
import { sqliteLayer } from "../../../store/test/support/Sqlite.ts"
import { Calls } from "../../testing/workflow/Calls.ts"
import { type Kit, makeKit } from "../../testing/workflow/Rig.ts"
import { recorder } from "../engine/recorder.ts"

const Trip = Workflow.make("Trip", { payload: { id: Schema.String }, success: Schema.String, idempotencyKey: ({ id }) => id })
const Hotel = Workflow.make("Hotel", { payload: { id: Schema.String }, success: Schema.String, idempotencyKey: ({ id }) => id })

const tracing = ({ test }: Kit) => {
  test("the steps, a child and the run in a process that has started since have the trace of the start", ({ open, until, comesTo }) =>
    Effect.gen(function* () {
      const calls = new Calls()
      let isStuck = true
      const hotel = Hotel.toLayer(() => calls.activity("reserve"))
      const trip = Trip.toLayer(({ id }) =>
        Effect.gen(function* () {
          yield* calls.activity("book")
          if (isStuck) yield* calls.stuck("pay")
          return yield* Hotel.execute({ id })
        }),
      )
      const openTraced = (tracer: Tracer.Tracer) => Effect.withTracer(open(Layer.merge(trip, hotel)), tracer)
      const before = recorder()
      const first = yield* openTraced(before.tracer)
      yield* Effect.withTracer(Effect.withSpan(first.run(Trip.execute({ id: "a" }, { discard: true })), "request"), before.tracer)
      yield* until(() => calls.all.includes("pay"))
      yield* first.crash
      const [request] = before.named("request")
      expect([before.named("execution Trip")[0]?.traceId, before.named("book")[0]?.traceId]).toEqual([request?.traceId, request?.traceId])
      isStuck = false
      const after = recorder()
      yield* openTraced(after.tracer)
      yield* comesTo(Trip, yield* Trip.executionId({ id: "a" }), "Completed")
      expect(after.named("execution Trip")[0]?.traceId).toBe(request?.traceId)
      expect(after.named("execution Hotel")[0]?.traceId).toBe(request?.traceId)
    }))
}

tracing(makeKit("traces on memory", MemoryStore.layer, {}))
tracing(makeKit("traces on SQLite", sqliteLayer, {}))
