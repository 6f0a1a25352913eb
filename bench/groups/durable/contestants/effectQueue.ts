/** Effect's PersistedQueue on PostgreSQL, with elements offered one by one. */
import * as PgClient from "@detent/durable/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as PersistedQueue from "effect/persistence/PersistedQueue"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { payload } from "../machines/toggle.ts"
import { type ThroughputOptions, throughputOf } from "../Throughput.ts"
import { countRows } from "./detent.ts"

export const enqueueing = async ({ database, concurrency }: ThroughputOptions) => {
  const layer = PersistedQueue.layer.pipe(
    Layer.provideMerge(PersistedQueue.layerStoreSql()),
    Layer.provideMerge(PgClient.layer({ url: Redacted.make(database), maxConnections: concurrency })),
  )
  const runtime = ManagedRuntime.make(layer)
  const queue = await runtime.runPromise(PersistedQueue.make({ name: "jobs", schema: Schema.Struct({ payload: Schema.String }) }))
  const offerUntil = (isOver: () => boolean) =>
    Effect.forEach(
      Array.from({ length: concurrency }),
      Effect.fnUntraced(function* () {
        let done = 0
        while (!isOver()) {
          yield* queue.offer({ payload })
          done++
        }
        return done
      }),
      { concurrency },
    )
  return throughputOf({
    store: async (isOver) => (await runtime.runPromise(offerUntil(isOver))).reduce((sum, done) => sum + done, 0),
    count: () => runtime.runPromise(countRows("effect_queue")),
    close: () => runtime.dispose(),
  })
}
