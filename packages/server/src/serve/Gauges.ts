/** What is measured when somebody asks for metrics, rather than counted as it happens: depths and readers. */
import { Commands } from "@detent/durable"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { BatchFeed } from "./live/BatchFeed.ts"
import { InstanceFeed } from "./live/InstanceFeed.ts"

const commandsWaiting = Metric.gauge("detent_commands", { description: "commands in the store, by queue and status" })
const liveReaders = Metric.gauge("detent_live_readers", { description: "clients that follow a live stream" })
const residentBytes = Metric.gauge("detent_resident_bytes", { description: "memory of the process" })

export class Gauges extends Context.Service<Gauges, { readonly refresh: Effect.Effect<void> }>()("@detent/server/Gauges") {
  static readonly layer = Layer.effect(
    Gauges,
    Effect.gen(function* () {
      const commands = yield* Commands
      const batches = yield* BatchFeed
      const instances = yield* InstanceFeed
      const told = new Map<string, { readonly queue: string; readonly status: string }>()

      const depths = Effect.gen(function* () {
        const counts = yield* commands.counts
        const now = new Map(counts.map(({ queue, status, count }) => [`${queue} ${status}`, count]))
        for (const { queue, status } of counts) told.set(`${queue} ${status}`, { queue, status })
        // A queue that has run empty is told as empty, not left at what it was.
        for (const [name, attributes] of told) yield* Metric.update(Metric.withAttributes(commandsWaiting, attributes), now.get(name) ?? 0)
      })

      const refresh = Effect.gen(function* () {
        yield* Effect.catch(depths, (error) => Effect.logWarning("the depths of queues cannot be read", error.message))
        yield* Metric.update(liveReaders, (yield* batches.readers) + (yield* instances.readers))
        yield* Metric.update(residentBytes, process.memoryUsage.rss())
      })
      return { refresh }
    }),
  )
}
