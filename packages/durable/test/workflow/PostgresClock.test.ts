/** Durable clocks follow the database's clock, whatever the clock of the node says. */
import { expect, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as DurableClock from "effect/workflow/DurableClock"
import * as Workflow from "effect/workflow/Workflow"
import { postgresSchemaLayer } from "../../../store/test/support/Postgres.ts"
import * as DurableWorkflow from "../../src/DurableWorkflow.ts"
import { onClock } from "../../testing/onClock.ts"

const hour = 3_600_000
const Nap = Workflow.make("Nap", { payload: {}, idempotencyKey: () => "nap" })
const NapLive = Nap.toLayer(() => DurableClock.sleep({ name: "nap", duration: "2 seconds", inMemoryThreshold: 0 }))

for (const [where, offset] of [
  ["ahead", hour],
  ["behind", -hour],
] as const) {
  it.live(`141 a node whose clock is an hour ${where} sleeps as long as it should`, () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const node = NapLive.pipe(Layer.provideMerge(DurableWorkflow.layer()), Layer.provide(Layer.fresh(postgresSchemaLayer)))
      const began = clock.currentTimeMillisUnsafe()
      yield* onClock(() => offset, Effect.provide(Nap.execute({}), node))
      const slept = clock.currentTimeMillisUnsafe() - began
      expect(slept).toBeGreaterThanOrEqual(1900)
      expect(slept).toBeLessThan(15_000)
    }),
  )
}
