/** Starts a worker for as long as the scope lasts. When that ends, what it executes is finished first. */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import type { CommandsService } from "../store/Commands.ts"
import { Worker } from "./Worker.ts"
import { type WorkerConfig, type WorkerOptions, workerConfig } from "./WorkerConfig.ts"

export const startWorker = (
  commands: CommandsService,
  options: WorkerOptions,
  node: string,
): Effect.Effect<{ readonly worker: Worker; readonly config: WorkerConfig }, never, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    // A name of its own for every start: claims of the one before are not this one's.
    const config = workerConfig(options, `${node}/${(yield* Random.nextInt).toString(36)}`, commands.isShared)
    const worker = new Worker(commands, config, yield* Clock.Clock, Effect.runForkWith(context as Context.Context<never>))
    yield* Effect.forkScoped(worker.work)
    yield* Effect.addFinalizer(() => worker.drain)
    return { worker, config }
  })
