/** Workflows that sleep for an hour: the heap that each takes. */
import { setImmediate } from "node:timers/promises"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import * as DurableClock from "effect/workflow/DurableClock"
import * as Workflow from "effect/workflow/Workflow"
import type { Abilities } from "../../../measure/Player.ts"
import { onSqlite } from "./detent.ts"

export interface Sleepers extends Abilities {
  /** Starts this many workflows and returns the heap bytes per workflow. */
  readonly sleep: (count: number) => Promise<number>
}

const Sleeper = Workflow.make("Sleeper", { payload: { id: Schema.String }, idempotencyKey: ({ id }) => id })

export const sleepers = async ({ database }: { readonly database: string }): Promise<Sleepers & { close(): Promise<void> }> => {
  const layer = Sleeper.toLayer(() => DurableClock.sleep({ name: "night", duration: "1 hour" }))
  const runtime = ManagedRuntime.make(layer.pipe(Layer.provideMerge(onSqlite(database))))
  let asleep = 0
  const fallAsleep = async (count: number) => {
    const ids = Array.from({ length: count }, () => `sleeper-${asleep++}`)
    const start = Effect.forEach(ids, (id) => Sleeper.execute({ id }, { discard: true }), { concurrency: 500, discard: true })
    await runtime.runPromise(start)
    while ((await runtime.runPromise(countAsleep)) < asleep) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    sleep: async (count) => {
      // The first workflows create everything that is created once.
      await fallAsleep(1000)
      const before = await heap()
      await fallAsleep(count)
      return ((await heap()) - before) / count
    },
    close: () => runtime.dispose(),
  }
}

const countAsleep = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [row] = yield* sql<{ readonly asleep: number }>`
    select count(*) as asleep from detent_timers t join detent_instances i on i.instance = t.instance where i.tag = 'Suspended'`
  return Number(row?.asleep)
})

/** Collects garbage in several turns of the event loop: objects held by one turn are only free in the next. */
const heap = async (): Promise<number> => {
  for (let time = 0; time < 5; time++) {
    await setImmediate()
    globalThis.gc?.()
  }
  return process.memoryUsage().heapUsed
}
