/** Detent's commands on PostgreSQL, with groups and its default settings. */
import { CommandQueue, CommandWorker } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import { concurrency, fairnessOf, work } from "../Fairness.ts"

const Jobs = CommandQueue.make("jobs", { payload: Schema.Struct({ number: Schema.Number }) })

/** A number that no small group has. */
const large = -1

export const fairness = ({ database }: { readonly database: string }) =>
  fairnessOf(async (started) => {
    const handler = Jobs.handler(({ number }) => {
      started(number)
      return work()
    })
    const store = PostgresStore.layer({ url: database })
    const runtime = ManagedRuntime.make(Layer.provideMerge(CommandWorker.layer([handler], { concurrency }), store))
    return {
      fillLarge: async (count) => {
        const command = { payload: { number: large }, group: "large" }
        for (let from = 0; from < count; from += 500) await runtime.runPromise(Jobs.enqueueAll(Array.from({ length: 500 }, () => command)))
      },
      enqueueSmall: (all) => runtime.runPromise(Jobs.enqueueAll(all.map(({ group, number }) => ({ payload: { number }, group })))),
      close: () => runtime.dispose(),
    }
  })
