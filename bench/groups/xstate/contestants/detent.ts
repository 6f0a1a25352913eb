/** The chart as durable instances: each gets its next event when the last one is stored. */
import { Engine } from "@detent/durable"
import { fromXState } from "@detent/xstate"
import * as Effect from "effect/Effect"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { countRows, onPostgres } from "../../durable/contestants/detent.ts"
import { type ThroughputOptions, throughputOf } from "../../durable/Throughput.ts"
import { checkout, events } from "../chart.ts"

const Checkout = fromXState(checkout)

export const postgres = async ({ database, concurrency }: ThroughputOptions) => {
  const runtime = ManagedRuntime.make(onPostgres(database))
  const instances = await runtime.runPromise(
    Effect.flatMap(Engine, (engine) =>
      Effect.forEach(Array.from({ length: concurrency }), (_, index) => engine.start(Checkout, `checkout-${index}`), { concurrency }),
    ),
  )
  const positions = instances.map(() => 0)
  const sendUntil = (isOver: () => boolean) =>
    Effect.forEach(
      instances,
      Effect.fnUntraced(function* (instance, index) {
        const first = positions[index] ?? 0
        let position = first
        while (!isOver()) {
          yield* instance.send(events[position % events.length] as (typeof events)[number])
          position++
        }
        positions[index] = position
        return position - first
      }),
      { concurrency },
    )
  return throughputOf({
    store: async (isOver) => (await runtime.runPromise(sendUntil(isOver))).reduce((sum, sent) => sum + sent, 0),
    count: () => runtime.runPromise(countRows("detent.events")),
    close: () => runtime.dispose(),
  })
}
