/** The Effect workflows that Effect's engine and ours run, unchanged. Every clock is stored, also a short one. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import * as Activity from "effect/workflow/Activity"
import * as DurableClock from "effect/workflow/DurableClock"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import type { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import { type Running, stepCount, type UserCode } from "../Peer.ts"

const payload = { id: Schema.String }
const idempotencyKey = ({ id }: { readonly id: string }) => id

const Steps = Workflow.make("Steps", { payload, idempotencyKey })
const Waiter = Workflow.make("Waiter", { payload, idempotencyKey })
const Sleeper = Workflow.make("Sleeper", { payload: { ...payload, due: Schema.Number }, idempotencyKey })
const Go = DurableDeferred.make("go", { success: Schema.String })

const layerOf = ({ step }: UserCode) => {
  const run = (id: string, index: number) => Activity.make({ name: `step-${index}`, execute: Effect.sync(() => step(id, index)) })
  return Layer.mergeAll(
    Steps.toLayer(
      Effect.fnUntraced(function* ({ id }) {
        for (let index = 0; index < stepCount; index++) yield* run(id, index)
      }),
    ),
    Waiter.toLayer(
      Effect.fnUntraced(function* ({ id }) {
        yield* DurableDeferred.await(Go)
        yield* run(id, 0)
      }),
    ),
    Sleeper.toLayer(
      Effect.fnUntraced(function* ({ id, due }) {
        const now = DateTime.toEpochMillis(yield* DateTime.now)
        yield* DurableClock.sleep({ name: "night", duration: Math.max(1, due - now), inMemoryThreshold: 0 })
        yield* run(id, 0)
      }),
    ),
  )
}

/** `completed` counts the workflows that have ended, in the tables of the engine. */
export const runningEffect = async <X>(
  engine: Layer.Layer<WorkflowEngine | SqlClient, X>,
  completed: string,
  code: UserCode,
): Promise<Running> => {
  const runtime = ManagedRuntime.make(layerOf(code).pipe(Layer.provideMerge(engine)))
  await runtime.runPromise(Effect.void)
  return {
    run: (id) => runtime.runPromise(Steps.execute({ id })),
    wait: (id) => runtime.runPromise(Waiter.execute({ id }, { discard: true })),
    signal: (id) =>
      runtime.runPromise(
        Effect.gen(function* () {
          const token = yield* DurableDeferred.tokenFromPayload(Go, { workflow: Waiter, payload: { id } })
          yield* DurableDeferred.succeed(Go, { token, value: "go" })
        }),
      ),
    sleep: (id, due) => runtime.runPromise(Sleeper.execute({ id, due }, { discard: true })),
    completed: () =>
      runtime.runPromise(
        Effect.gen(function* () {
          const sql = yield* SqlClient
          const [row] = yield* sql.unsafe<{ readonly completed: number | bigint }>(completed)
          return Number(row?.completed)
        }),
      ),
    close: () => runtime.dispose(),
  }
}
