/** Detent's commands on PostgreSQL, with its default settings. */
import { CommandQueue, CommandWorker } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { payload } from "../machines/toggle.ts"
import { type ThroughputOptions, throughputOf } from "../Throughput.ts"
import { workingOf } from "../Working.ts"
import { countRows } from "./detent.ts"

const Jobs = CommandQueue.make("jobs", { payload: Schema.Struct({ payload: Schema.String }) })

export const enqueueing = async ({ database, concurrency }: ThroughputOptions) => {
  const runtime = ManagedRuntime.make(PostgresStore.layer({ url: database }))
  const enqueueUntil = (isOver: () => boolean) =>
    Effect.forEach(
      Array.from({ length: concurrency }),
      Effect.fnUntraced(function* () {
        let done = 0
        while (!isOver()) {
          yield* Jobs.enqueue({ payload })
          done++
        }
        return done
      }),
      { concurrency },
    )
  return throughputOf({
    store: async (isOver) => (await runtime.runPromise(enqueueUntil(isOver))).reduce((sum, done) => sum + done, 0),
    count: () => runtime.runPromise(countRows("detent.commands")),
    close: () => runtime.dispose(),
  })
}

export const working = async ({ database }: { readonly database: string }) => {
  const runtime = ManagedRuntime.make(PostgresStore.layer({ url: database }))
  return workingOf({
    fill: async (count) => {
      const one = { payload: { payload } }
      for (let from = 0; from < count; from += 500) await runtime.runPromise(Jobs.enqueueAll(Array.from({ length: 500 }, () => one)))
    },
    begin: async (_, executed) => {
      const scope = Scope.makeUnsafe()
      const worker = CommandWorker.layer([Jobs.handler(() => Effect.sync(executed))])
      await runtime.runPromise(Layer.buildWithMemoMap(worker, Layer.makeMemoMapUnsafe(), scope))
      return () => runtime.runPromise(Scope.close(scope, Exit.void))
    },
    enqueue: () => runtime.runPromise(Jobs.enqueue({ payload })),
    left: () => runtime.runPromise(countRows("detent.commands where status <> 'completed'")),
    close: () => runtime.dispose(),
  })
}
