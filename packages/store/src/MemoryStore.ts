/**
 * Instances kept in memory, under the same rules as in a database: for tests, and for data that may be lost with the process. A store of
 * its own, because a transition costs 3.3 µs of CPU here, and 13 µs in a SQLite database that is in memory.
 *
 *     const store = yield* MemoryStore.make        // outlives the engines that use it
 *     Engine.layer().pipe(Layer.provide(Layer.succeedContext(store)))
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Commands } from "./contract/Commands.ts"
import { randomDatabaseId } from "./contract/DatabaseId.ts"
import { Journal } from "./contract/Journal.ts"
import { Leases } from "./contract/Leases.ts"
import { Timers } from "./contract/Timers.ts"
import { memoryCommands } from "./memory/MemoryCommands.ts"
import { memoryJournal } from "./memory/MemoryJournal.ts"
import { memoryLeases } from "./memory/MemoryLeases.ts"
import { emptyState } from "./memory/MemoryState.ts"
import { memoryTimers } from "./memory/MemoryTimers.ts"
import { LoopHealth } from "./runtime/BackgroundLoop.ts"

/** A store that lives as long as a program refers to it: give the same one to several engines to test a restart. */
export const make: Effect.Effect<Context.Context<Journal | Timers | Leases | Commands | LoopHealth>> = Effect.map(
  randomDatabaseId,
  (databaseId) => {
    const state = emptyState(databaseId)
    return Context.make(Journal, memoryJournal(state)).pipe(
      Context.add(Timers, memoryTimers(state)),
      Context.add(Leases, memoryLeases(state)),
      Context.add(Commands, memoryCommands(state)),
      Context.add(LoopHealth, LoopHealth.make()),
    )
  },
)

/** A store that lives as long as the layer. */
export const layer: Layer.Layer<Journal | Timers | Leases | Commands | LoopHealth> = Layer.effectContext(make)
