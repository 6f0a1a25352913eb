/**
 * One live stream of all changes, at most four times a second. Its events are hints that name the changed data; clients read that data
 * again, and all data after a reconnect. The store is not read while no client follows the stream.
 */
import type { LiveTopic } from "@detent/api/LiveApi"
import { Commands, Engine, forkLoop, Journal } from "@detent/durable"
import { CurrentWorkspace } from "@detent/workspace/CurrentWorkspace"
import * as cluster from "@detent/workspace/operations/cluster"
import type { WorkspaceServices } from "@detent/workspace/Workspace"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Channel, type Frame, frameOf } from "../serve/live/Channel.ts"
import { makeChannels } from "../serve/live/Channels.ts"
import type { LiveReader } from "../serve/live/LiveReader.ts"
import { ChangeReader } from "./ChangeReader.ts"

export interface LiveFeedService {
  /** Reads all events of these topics from now on. */
  readonly reader: (topics: ReadonlyArray<LiveTopic>) => LiveReader
}

/** The shortest time between two reads. */
const tickMillis = 250

/** Reads are this many ticks apart while no change is signalled, and while too many instances change to list them. */
const slowTicks = 4

/** Queues and nodes are read once in this many ticks. */
const queueAndNodeTicks = 8

/** Machines whose instances have a separate topic. */
const topicOfMachine: Readonly<Record<string, LiveTopic>> = { batch: "batch", UploadBatch: "upload" }

/** The assumed maximum clock difference between nodes that share a database. */
const clockDifference = 2000

/** A client may have read its data this many milliseconds before it began to follow changes. */
const beforehand = 1000

export class LiveFeed extends Context.Service<LiveFeed, LiveFeedService>()("@detent/server/LiveFeed") {
  static readonly layer = Layer.effect(
    LiveFeed,
    Effect.gen(function* () {
      const engine = yield* Engine
      const journal = yield* Journal
      const commands = yield* Commands
      const { database } = yield* CurrentWorkspace
      const workspace = yield* Effect.context<WorkspaceServices>()
      const channels = yield* makeChannels
      const clock = yield* Clock.Clock
      const changes = new ChangeReader(journal, database === "Postgres" ? clockDifference : 0)
      let position = 0
      let ticks = 0
      /** Something may have changed since the last read. */
      let isTouched = false
      let isBusy = false
      const published = new Map<string, string>()

      const publish = (topic: LiveTopic | undefined, event: string, data: unknown) => {
        const frame: Frame = frameOf(++position, event, data)
        for (const name of channels.names) {
          if (topic === undefined || name.split(",").includes(topic)) channels.get(name)?.add([frame])
        }
      }

      /** Publishes data only where it differs from the last data published under the topic. */
      const publishNew = (topic: LiveTopic, data: unknown) => {
        const text = JSON.stringify(data)
        if (published.get(topic) === text) return
        published.set(topic, text)
        publish(topic, topic, data)
      }

      const publishCounts = (machines: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          const counts = yield* Effect.forEach(machines, (machine) => journal.count(machine))
          const byMachine = machines.map((machine, index) => [machine, Object.fromEntries(counts[index] ?? [])] as const)
          publish("counts", "counts", { machines: Object.fromEntries(byMachine) })
        })

      const publishChanges = Effect.gen(function* () {
        const { changed, isMany } = yield* changes.next
        isBusy = isMany
        if (isMany) {
          publish("changed", "many", {})
          for (const topic of ["batch", "upload"] as const) publish(topic, topic, {})
          return yield* publishCounts(yield* journal.machines)
        }
        for (const { machine, id, tag: state, status, sequence } of changed) {
          publish("changed", "changed", { machine, id, state, status, sequence })
          const topic = topicOfMachine[machine]
          if (topic !== undefined) publish(topic, topic, { id, state, status, sequence })
        }
        if (changed.length > 0) yield* publishCounts([...new Set(changed.map(({ machine }) => machine))].sort())
      })

      const publishQueuesAndNodes = Effect.gen(function* () {
        const backlog = yield* commands.backlog
        const queues = [...Map.groupBy(backlog, ({ queue }) => queue)].map(([queue, counts]) => ({
          queue,
          counts: Object.fromEntries(counts.map(({ status, count }) => [status, count])),
        }))
        publishNew("queue", { queues })
        const nodes = yield* Effect.provideContext(cluster.nodes, workspace)
        publishNew("node", { nodes: nodes.map(({ address, node, draining, shards }) => ({ address, node, draining, shards })) })
        publish(undefined, "beat", { at: clock.currentTimeMillisUnsafe() })
      })

      const tick = Effect.gen(function* () {
        if (channels.readerCount === 0) return
        ticks++
        const isSlow = ticks % slowTicks === 0
        if (isSlow || (isTouched && !isBusy)) {
          isTouched = false
          yield* publishChanges
        }
        if (ticks % queueAndNodeTicks === 0) yield* publishQueuesAndNodes
      })

      const uninspect = engine.inspectUnsafe(({ _tag }) => {
        if (_tag === "Decided" || _tag === "Started") isTouched = true
      })
      yield* Effect.addFinalizer(() => Effect.sync(uninspect))
      const unlisten = journal.changed?.listen(() => {
        isTouched = true
      })
      yield* Effect.addFinalizer(() => Effect.sync(() => unlisten?.()))

      yield* forkLoop("the live stream of all changes", Effect.andThen(Effect.sleep(tickMillis), tick))

      return {
        reader: (topics) => {
          if (channels.readerCount === 0) {
            published.clear()
            changes.begin(clock.currentTimeMillisUnsafe() - beforehand)
          }
          const name = [...new Set(topics)].sort().join(",")
          // A reader that is behind has missed hints: the event `many` makes it read all data again.
          const channel: Channel = channels.open(name, position, async () => ({
            frames: [frameOf(channel.last, "many", {})],
            through: channel.last,
          }))
          return channels.reader(name, channel, channel.last)
        },
      }
    }),
  )
}
