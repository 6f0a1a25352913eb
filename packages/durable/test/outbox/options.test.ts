/** Options with which no worker, queue or removal could work are refused. */
import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { CommandQueue, Engine, MemoryStore, Retention, type WorkerOptions } from "../../src/index.ts"

const defectOf = <A, E>(exit: Exit.Exit<A, E>) => (Exit.isFailure(exit) ? (Cause.squash(exit.cause) as Error).message : "none")

it.effect("a worker with which no command would run is refused when the engine is made", () =>
  Effect.gen(function* () {
    const nonsense: ReadonlyArray<readonly [WorkerOptions, string]> = [
      [{ concurrency: Number.NaN }, "worker.concurrency is NaN"],
      [{ concurrency: 0 }, "worker.concurrency is 0"],
      [{ concurrency: 1.5 }, "worker.concurrency is 1.5"],
      [{ batchLimit: Number.POSITIVE_INFINITY }, "worker.batchLimit is Infinity"],
      [{ claimDuration: Number.NaN }, "worker.claimDuration (in milliseconds) is NaN"],
      [{ pollInterval: 0 }, "worker.pollInterval (in milliseconds) is 0"],
      [{ timeout: -1 }, "worker.timeout (in milliseconds) is -1"],
      [{ retention: { finished: 0 } }, "worker.retention.finished (in milliseconds) is 0"],
    ]
    for (const [worker, problem] of nonsense) {
      const made = Effect.scoped(Layer.build(Layer.fresh(Engine.layer({ worker })).pipe(Layer.provide(Layer.fresh(MemoryStore.layer)))))
      assert.include(defectOf(yield* Effect.exit(made)), problem)
    }
  }),
)

it.effect("a removal of everything or without an end, and a command that would never run, are refused", () =>
  Effect.gen(function* () {
    assert.include(defectOf(yield* Effect.exit(Retention.purge({ olderThan: Number.NaN }))), "olderThan (in milliseconds) is NaN")
    assert.include(defectOf(yield* Effect.exit(Retention.purge({ olderThan: 1, batch: 0 }))), "batch is 0")
    const queue = CommandQueue.make("mail", { payload: Schema.String })
    for (const options of [{ priority: Number.NaN }, { runAt: Number.NaN }, { delay: Number.NaN }])
      assert.strictEqual((yield* Effect.flip(queue.enqueue("a", options)))._tag, "InvalidCommand")
  }).pipe(Effect.provide(MemoryStore.layer)),
)
