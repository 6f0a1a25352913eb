/** The worker of an engine: there where the store keeps commands, unless it is told to leave them to others. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { EngineCore } from "../engine/EngineCore.ts"
import { Commands } from "../store/Commands.ts"
import { SlotCommands } from "./SlotCommands.ts"
import { startWorker } from "./startWorker.ts"
import type { WorkerOptions } from "./WorkerConfig.ts"

export const slotCommands = (
  core: EngineCore,
  options: WorkerOptions | false,
): Effect.Effect<SlotCommands | undefined, never, Scope.Scope> =>
  Effect.gen(function* () {
    const commands = yield* Effect.serviceOption(Commands)
    if (commands._tag === "None") return undefined
    core.committer.whenRequested((queues) => commands.value.signal.announce(queues))
    if (options === false) return undefined
    const { worker, config } = yield* startWorker(commands.value, options, core.config.nodeId)
    return new SlotCommands(core, worker, config)
  })
