/** An instance with a long journal, opened by engines that do not have it in memory. */
import { Engine } from "@detent/durable"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import type { Abilities } from "../../../measure/Player.ts"
import { E, payload, Toggle } from "../machines/toggle.ts"
import { onPostgres, onSqlite } from "./detent.ts"

export interface Replaying extends Abilities {
  /** Creates instances with this many events; all but one have a snapshot at their end. */
  readonly prepare: (events: number) => Promise<void>
  /** Lets a new engine open one instance with a snapshot, then the given one. */
  readonly open: (id: "whole" | "snapshot", events: number) => Promise<Opening>
}

/** Milliseconds until an instance is open, in its last state, without connecting and registering the machine. */
export interface Opening {
  /** The first instance that the engine opened: much code runs for the first time, also in PostgreSQL's process for the connection. */
  readonly first: number
  readonly next: number
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
          for (const id of ["snapshot", "another"]) {
            const copy = yield* engine.fork(Toggle, "whole", events, id)
            yield* copy.saveSnapshot
          }
        }),
      ),
    open: (id, events) =>
      withEngine((engine) =>
        Effect.gen(function* () {
          yield* engine.restore("nobody", Toggle)
          globalThis.gc?.()
          const first = yield* timed(engine.restore("another", Toggle))
          const next = yield* timed(engine.restore(id, Toggle))
          const instance = yield* engine.ensure(Toggle, id)
          const { turns } = yield* instance.state
          if (turns !== events) return yield* Effect.die(new Error(`${id} was opened at ${turns} of ${events}`))
          return { first, next }
        }),
      ),
  }
}

const timed = <A, X>(effect: Effect.Effect<A, X>): Effect.Effect<number, X> =>
  Effect.suspend(() => {
    const start = performance.now()
    return Effect.map(effect, () => performance.now() - start)
  })
