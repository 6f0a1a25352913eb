/** An instance with a long journal, opened by engines that do not know it yet. */
import { Engine } from "@detent/durable"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import type { Abilities } from "../../../measure/Player.ts"
import { E, payload, Toggle } from "../machines/toggle.ts"
import { onPostgres, onSqlite } from "./detent.ts"

export interface Replaying extends Abilities {
  /** Makes two instances with so many events; the second has a snapshot at its end. */
  readonly prepare: (events: number) => Promise<void>
  /**
   * Milliseconds that a fresh engine takes to have an instance at hand, in its last state. What an engine does once, connecting
   * and learning of the machine, is not included.
   */
  readonly open: (id: "whole" | "snapshot", events: number) => Promise<number>
}

export const postgres = async ({ database }: { readonly database: string }) => replaying(() => onPostgres(database))

export const sqlite = async ({ database }: { readonly database: string }) => replaying(() => onSqlite(database, "full"))

const replaying = <X>(engine: () => Layer.Layer<Engine, X>): Replaying => {
  const withEngine = async <A, Y>(use: (engine: Engine["Service"]) => Effect.Effect<A, Y>): Promise<A> => {
    const runtime = ManagedRuntime.make(engine())
    const result = await runtime.runPromise(Effect.flatMap(Engine, use))
    await runtime.dispose()
    return result
  }
  return {
    prepare: (events) =>
      withEngine((engine) =>
        Effect.gen(function* () {
          const whole = yield* engine.start(Toggle, "whole")
          const send = Effect.suspend(() => whole.send(E.Turn({ payload })))
          yield* Effect.all(
            Array.from({ length: events }, () => send),
            { concurrency: 1000, discard: true },
          )
          const snapshot = yield* engine.fork(Toggle, "whole", events, "snapshot")
          yield* snapshot.saveSnapshot
        }),
      ),
    open: (id, events) =>
      withEngine((engine) =>
        Effect.gen(function* () {
          yield* engine.restore("nobody", Toggle)
          globalThis.gc?.()
          const start = performance.now()
          yield* engine.restore(id, Toggle)
          const millis = performance.now() - start
          const instance = yield* engine.ensure(Toggle, id)
          const { turns } = yield* instance.state
          if (turns !== events) return yield* Effect.die(new Error(`${id} was opened at ${turns} of ${events}`))
          return millis
        }),
      ),
  }
}
