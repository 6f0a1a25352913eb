/** An engine on a store in memory, for tests in real time. */
import { Engine, MemoryStore } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

export const engineLayer = Engine.layer().pipe(Layer.provideMerge(MemoryStore.layer))

/** Runs a test body with an engine of its own. */
export const withEngine = <A, E>(body: Effect.Effect<A, E, Engine | Scope.Scope>): Effect.Effect<A, E> =>
  Effect.scoped(Effect.provide(body, engineLayer))
