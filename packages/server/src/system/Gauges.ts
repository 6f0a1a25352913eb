/** Metrics that are measured at each scrape: depths of queues, readers of live streams, memory, loops that are down. */
import { Commands, LoopHealth } from "@detent/durable"
import { Machines, queuesOf } from "@detent/workspace/Machines"
import { queuesOfSystem, systemsOn } from "@detent/workspace/Systems"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { LiveStreams } from "../serve/live/LiveStreams.ts"

const commandsWaiting = Metric.gauge("detent_commands", {
  description: "commands that are pending, processing or failed, by queue and status",
})
const liveReaders = Metric.gauge("detent_live_readers", { description: "clients that follow a live stream" })
const loopsDown = Metric.gauge("detent_loops_down", { description: "background loops whose last turn failed" })
const residentBytes = Metric.gauge("detent_resident_bytes", { description: "memory of the process" })

/** The statuses of commands that are not done. */
const statuses = ["pending", "processing", "failed"] as const

export class Gauges extends Context.Service<Gauges, { readonly refresh: Effect.Effect<void> }>()("@detent/server/Gauges") {
  static readonly layer = Layer.effect(
    Gauges,
    Effect.gen(function* () {
      const commands = yield* Commands
      const machines = yield* Machines
      const systems = yield* systemsOn
      const streams = yield* LiveStreams
      const health = yield* LoopHealth
      const reported = new Map<string, { readonly queue: string; readonly status: string }>()

      /** Reports also queues that never had a command, so that an alert on growth starts from 0. */
      const expectQueues = Effect.gen(function* () {
        const own = (yield* machines.list).flatMap((entry) => (entry._tag === "Machine" ? queuesOf(entry.machine) : []))
        for (const queue of [...own, ...systems.flatMap((system) => queuesOfSystem[system])])
          for (const status of statuses) reported.set(`${queue} ${status}`, { queue, status })
      })

      const depths = Effect.gen(function* () {
        yield* expectQueues
        const counts = yield* commands.backlog
        const now = new Map(counts.map(({ queue, status, count }) => [`${queue} ${status}`, count]))
        for (const { queue, status } of counts) reported.set(`${queue} ${status}`, { queue, status })
        // A queue that became empty is reported as 0.
        for (const [name, attributes] of reported)
          yield* Metric.update(Metric.withAttributes(commandsWaiting, attributes), now.get(name) ?? 0)
      })

      const refresh = Effect.gen(function* () {
        yield* Effect.catch(depths, (error) => Effect.logWarning("the depths of queues cannot be read", error.message))
        yield* Metric.update(liveReaders, streams.readerCount)
        yield* Metric.update(loopsDown, health.outages().length)
        yield* Metric.update(residentBytes, process.memoryUsage.rss())
      })
      return { refresh }
    }),
  )
}
