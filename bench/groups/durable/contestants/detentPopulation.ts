/** Ten thousand instances in memory, each waiting for a timeout. */
import { setImmediate } from "node:timers/promises"
import { Engine } from "@detent/durable"
import { Event, Machine, State, stay } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import type { Abilities } from "../../../measure/Player.ts"
import { payload } from "../machines/toggle.ts"
import { countRows, onPostgres } from "./detent.ts"

export interface Population extends Abilities {
  /** Heap bytes per instance, and heap bytes of its state alone. */
  readonly start: (count: number) => Promise<{ readonly heapBytes: number; readonly stateBytes: number }>
  /** Stored events per second of all instances. After `Note` their timers continue; `Turn` restarts them. */
  readonly send: (event: "Note" | "Turn", millis: number) => Promise<{ readonly perSecond: number }>
}

const S = State({ Even: { owner: Schema.String }, Odd: { owner: Schema.String }, Late: {} })
const E = Event({ Note: { payload: Schema.String }, Turn: { payload: Schema.String } })

const Waiter = Machine.make({ name: "waiter", state: S, event: E, initial: S.Even })
  .on([S.Even, S.Odd], E.Note, stay)
  .on(S.Even, E.Turn, S.Odd)
  .on(S.Odd, E.Turn, S.Even)
  .timeout([S.Even, S.Odd], "1 hour", S.Late, () => S.Late())
  .final(S.Late)

export const population = async ({ database }: { readonly database: string }): Promise<Population & { close(): Promise<void> }> => {
  const runtime = ManagedRuntime.make(onPostgres(database))
  const engine = await runtime.runPromise(Effect.map(Engine, (engine) => engine))
  const startMany = (name: string, count: number) =>
    runtime.runPromise(
      Effect.forEach(
        Array.from({ length: count }),
        (_, index) => engine.start(Waiter, `${name}-${index}`, { owner: `owner-${name}-${index}` }),
        {
          concurrency: 1000,
          discard: true,
        },
      ),
    )
  let sent = 0
  return {
    start: async (count) => {
      // The first instances create everything that is created once, and let the pools of the driver grow.
      await startMany("first", 2000)
      const before = await heap()
      await startMany("waiter", count)
      const after = await heap()
      const states = Array.from({ length: count }, (_, index) => S.Even({ owner: `owner-waiter-${index}` }))
      const withStates = await heap()
      const timers = await runtime.runPromise(countRows("detent.timers"))
      if (timers !== count + 2000) throw new Error(`${timers} timers are set for ${count + 2000} instances`)
      return { heapBytes: (after - before) / count, stateBytes: (withStates - after) / states.length }
    },
    send: async (event, millis) => {
      const instances = await runtime.runPromise(engine.restoreAll(Waiter))
      const start = performance.now()
      const each = await runtime.runPromise(
        Effect.forEach(
          instances,
          Effect.fnUntraced(function* (instance) {
            let own = 0
            while (performance.now() - start < millis) {
              yield* instance.send(E[event]({ payload }))
              own++
            }
            return own
          }),
          { concurrency: "unbounded" },
        ),
      )
      const elapsed = performance.now() - start
      const done = each.reduce((sum, own) => sum + own, 0)
      sent += done
      const stored = await runtime.runPromise(countRows("detent.events"))
      if (stored !== sent) throw new Error(`${sent} were counted, ${stored} are stored`)
      return { perSecond: (done / elapsed) * 1000 }
    },
    close: () => runtime.dispose(),
  }
}

/** Collects garbage in several turns of the event loop: objects held by one turn are only free in the next. */
const heap = async (): Promise<number> => {
  for (let time = 0; time < 5; time++) {
    await setImmediate()
    globalThis.gc?.()
  }
  return process.memoryUsage().heapUsed
}
