/** The other parts of Effect's event groups on a log in a database: compaction, reactivity, remotes. */
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as EventGroup from "effect/eventlog/EventGroup"
import type { Entry, RemoteId } from "effect/eventlog/EventJournal"
import { EventJournal, makeRemoteIdUnsafe, RemoteEntry } from "effect/eventlog/EventJournal"
import * as EventLog from "effect/eventlog/EventLog"
import type { EventLogRemote } from "effect/eventlog/EventLogRemote"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Schema from "effect/Schema"
import * as SqlEventLog from "../src/SqlEventLog.ts"
import { clientOf, onEachDatabase } from "./Databases.ts"

const Carts = EventGroup.empty
  .add({ tag: "Opened", primaryKey: ({ cart }) => cart, payload: Schema.Struct({ cart: Schema.String }) })
  .add({ tag: "Added", primaryKey: ({ cart }) => cart, payload: Schema.Struct({ cart: Schema.String, items: Schema.Int }) })
const CartLog = EventLog.schema(Carts)

interface Handled {
  readonly cart: string
  readonly conflicts: number
}

const noting = (noted: Array<Handled>) =>
  EventLog.group(Carts, (handlers) =>
    handlers
      .handle("Opened", ({ payload, conflicts }) => Effect.sync(() => void noted.push({ cart: payload.cart, conflicts: conflicts.length })))
      .handle("Added", ({ payload, conflicts }) => Effect.sync(() => void noted.push({ cart: payload.cart, conflicts: conflicts.length }))),
  )

const client = EventLog.makeClient(CartLog)

const identity = Layer.succeed(EventLog.Identity, { publicKey: "one", privateKey: Redacted.make(new Uint8Array(32)) })

/** A remote journal that all may write to and that sends everything to all. */
class Hub {
  readonly id: RemoteId = makeRemoteIdUnsafe()
  readonly entries: Array<Entry> = []
  readonly #queues = new Set<Queue.Queue<RemoteEntry>>()

  readonly remote: EventLogRemote["Service"] = {
    id: this.id,
    changes: ({ startSequence }) =>
      Effect.gen({ self: this }, function* () {
        const queue = yield* Queue.unbounded<RemoteEntry>()
        this.entries.forEach((entry, remoteSequence) => {
          if (remoteSequence >= startSequence) Queue.offerUnsafe(queue, new RemoteEntry({ entry, remoteSequence }))
        })
        this.#queues.add(queue)
        return queue
      }),
    write: ({ entries }) =>
      Effect.sync(() => {
        for (const entry of entries) {
          if (this.entries.some(({ idString }) => idString === entry.idString)) continue
          const remoteSequence = this.entries.push(entry) - 1
          for (const queue of this.#queues) Queue.offerUnsafe(queue, new RemoteEntry({ entry, remoteSequence }))
        }
      }),
    whenAuthenticated: (effect) => effect,
  }
}

onEachDatabase("event groups", (database) => {
  it.live("a group's compaction runs on local writes, and readers see the compacted events", () =>
    Effect.gen(function* () {
      const address = yield* database.address
      const compaction = EventLog.groupCompaction(Carts, ({ events, write, primaryKey }) =>
        Effect.gen(function* () {
          const items = events.reduce((sum, event) => sum + (event._tag === "Added" ? event.payload.items : 0), 0)
          if (events.some(({ _tag }) => _tag === "Opened")) yield* write("Opened", { cart: primaryKey })
          if (items > 0) yield* write("Added", { cart: primaryKey, items })
        }),
      )
      const noted: Array<Handled> = []
      const layer = SqlEventLog.layer(CartLog, Layer.merge(noting(noted), compaction)).pipe(Layer.provide(clientOf(address)))
      const context = yield* Layer.build(layer)
      const write = yield* Effect.provideContext(client, context)
      for (const cart of ["a", "b"]) {
        yield* write({ event: "Opened", payload: { cart } })
        for (let items = 1; items <= 5; items++) yield* write({ event: "Added", payload: { cart, items } })
      }
      const entries = yield* Context.get(context, EventJournal).entries
      const decode = Schema.decodeUnknownEffect(Carts.events["Added"]?.payloadSchemaBinary ?? Schema.Unknown)
      const left = entries.filter(({ event }) => event === "Added")
      assert.deepStrictEqual(yield* Effect.forEach(left, ({ payload }) => decode(payload)), [
        { cart: "a", items: 15 },
        { cart: "b", items: 15 },
      ])
      assert.strictEqual(entries.length, 4)
      assert.strictEqual(noted.length, 12)
    }),
  )

  it.live("reactivity keys are invalidated by events of every process", () =>
    Effect.gen(function* () {
      const address = yield* database.address
      const scope = yield* Effect.scope
      const open = (handlers: Layer.Layer<EventGroup.ToService<typeof Carts>, never, EventLog.Registry>) =>
        Layer.buildWithMemoMap(
          SqlEventLog.layer(CartLog, handlers).pipe(Layer.provide(clientOf(address)), Layer.provideMerge(Reactivity.layer)),
          Layer.makeMemoMapUnsafe(),
          scope,
        )
      const reading = yield* open(Layer.merge(noting([]), EventLog.groupReactivity(Carts, ["carts"])))
      const writing = yield* open(noting([]))
      let invalidations = 0
      const reactivity = Context.get(reading, Reactivity.Reactivity)
      const unregister = reactivity.registerUnsafe({ carts: ["a"] }, () => {
        invalidations++
      })
      const write = yield* Effect.provideContext(client, writing)
      assert.strictEqual(invalidations, 0)
      yield* write({ event: "Opened", payload: { cart: "a" } })
      while (invalidations === 0) yield* Effect.sleep("10 millis")
      unregister()
    }),
  )

  it.live("two logs exchange their events through a remote, handle them in one order each, and send nothing twice", () =>
    Effect.gen(function* () {
      const hub = new Hub()
      const open = (name: string, noted: Array<Handled>, replay: "everyStart" | "none") =>
        Effect.gen(function* () {
          const address = yield* database.address
          const layer = SqlEventLog.layer(CartLog, noting(noted), { journal: name, replay }).pipe(
            Layer.provide(identity),
            Layer.provide(clientOf(address)),
          )
          const context = yield* Layer.build(layer)
          yield* Context.get(context, EventLog.Registry).registerRemote(hub.remote)
          return { context, write: yield* Effect.provideContext(client, context) }
        })
      const [north, south]: [Array<Handled>, Array<Handled>] = [[], []]
      const one = yield* open("north", north, "everyStart")
      yield* one.write({ event: "Opened", payload: { cart: "before" } })
      const two = yield* open("south", south, "none")
      yield* one.write({ event: "Opened", payload: { cart: "from north" } })
      yield* two.write({ event: "Opened", payload: { cart: "from south" } })
      while (north.length < 3 || south.length < 3) yield* Effect.sleep("10 millis")
      yield* Effect.sleep("100 millis")
      assert.deepStrictEqual(north.map(({ cart }) => cart).sort(), ["before", "from north", "from south"])
      assert.deepStrictEqual(south.map(({ cart }) => cart).sort(), ["before", "from north", "from south"])
      assert.strictEqual(hub.entries.length, 3)
      for (const { context } of [one, two]) assert.strictEqual((yield* Context.get(context, EventJournal).entries).length, 3)
      assert.strictEqual(yield* Context.get(two.context, EventJournal).nextRemoteSequence(hub.id), 3)
    }),
  )
})
