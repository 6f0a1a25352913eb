/** A worker for queues of commands that application code enqueues. The engine executes the commands that its instances request. */

import { Commands } from "@detent/store"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { QueueHandler } from "./CommandQueue.ts"
import { startWorker } from "./Worker.ts"
import type { WorkerOptions } from "./WorkerConfig.ts"

/** Executes the commands of these queues for as long as the layer lives. */
export const layer = <R>(handlers: ReadonlyArray<QueueHandler<R>>, options: WorkerOptions = {}): Layer.Layer<never, never, Commands | R> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const commands = yield* Commands
      const context = yield* Effect.context<R>()
      const { worker, config } = yield* startWorker(commands, options, "worker")
      for (const { queue, finder } of handlers) worker.serve(queue, finder(config, context as Context.Context<never>))
    }),
  )
