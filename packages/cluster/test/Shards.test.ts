/** What a node that loses its lease does with the instances of the shards that it had, and of those that were on their way out. */
import { Engine, Placement, type PlacementService } from "@detent/durable"
import { type InstanceKey, makeShardOf, type Receiver, type RemoteAnswer, type RemoteRequest, type Routing } from "@detent/durable/internal"
import { Event, Machine, State, stay } from "@detent/machine"
import { expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { RunnerAddress } from "effect/unstable/cluster/RunnerAddress"
import * as ShardId from "effect/unstable/cluster/ShardId"
import * as MemoryStore from "../../durable/src/MemoryStore.ts"
import { StoreProbe } from "../../durable/testing/engine/StoreProbe.ts"
import type { ClusterTables } from "../src/ClusterTables.ts"
import { Shards, shardCount } from "../src/Shards.ts"

const S = State({ Closed: {}, Open: {} })
const E = Event({ Knock: {}, Enter: {} })
const Door = Machine.make({ name: "door", state: S, event: E, initial: S.Closed() }).on(S.Closed, E.Knock, stay).on(S.Open, E.Enter, stay)

const address = RunnerAddress.make({ host: "127.0.0.1", port: 7700 })

/** The tables of a cluster that has this node only: it gets every shard that it wants. */
const tables: ClusterTables = {
  register: () => Effect.void,
  unregister: () => Effect.void,
  nodes: Effect.succeed([]),
  drain: () => Effect.succeed(true),
  deadHolders: () => Effect.succeed([]),
  acquire: (_, wanted) => Effect.succeed(wanted),
  release: () => Effect.void,
  owners: Effect.succeed([]),
  channel: "unused",
}

/** An engine on a node whose lease is lost when the test says so, with a test in the place of the other nodes. */
const openNode = Effect.gen(function* () {
  const probe = new StoreProbe()
  const stores = probe.wrap(yield* MemoryStore.make)
  const receivers: Array<Receiver> = []
  let loseLease = () => {}
  const base = yield* Effect.provideContext(Placement.make({ nodeId: "this" }), stores)
  const onLost: PlacementService["onLost"] = (lost) => {
    loseLease = lost
    return () => undefined
  }
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const shardOf = makeShardOf(shardCount)
  const shards = new Shards({
    address: "127.0.0.1:7700",
    placement: { ...base, onLost },
    tables,
    shardOf,
    tokenMark: "mark",
    receivers,
    run,
    leaveTimeout: "10 seconds",
    changed: () => undefined,
  })
  const routing: Routing = {
    isLocal: (key) => shards.has(key),
    isAwaited: () => false,
    request: () => Effect.never,
    shards: () => shards.filter,
    serve: (receiver) => Effect.sync(() => void receivers.push(receiver)),
  }
  const placement: PlacementService = { ...base, routing }
  const layer = Engine.layer().pipe(Layer.provide(Layer.succeed(Placement, placement)), Layer.provide(Layer.succeedContext(stores)))
  const engine = Context.get(yield* Layer.build(Layer.fresh(layer)), Engine)
  yield* engine.register(Door)
  const { storage } = shards
  const idOf = (key: InstanceKey) => ShardId.make("default", shardOf(key) + 1)
  const answers: Array<RemoteAnswer> = []
  return {
    engine,
    probe,
    answers,
    acquire: (key: InstanceKey) => storage.acquire(address, [idOf(key)]),
    release: (key: InstanceKey) => storage.release(address, idOf(key)),
    receive: (key: InstanceKey, request: RemoteRequest) =>
      Effect.suspend(() => receivers[0]?.receive(key, [request], (_, answer) => answers.push(answer)) ?? Effect.void),
    loseLease: Effect.sync(() => loseLease()),
  }
})

/** The next reading of the journal waits until the test lets it through. */
const holdReading = (probe: StoreProbe) =>
  Effect.gen(function* () {
    const [reached, through] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    probe.onOpen = (read) => {
      probe.onOpen = (next) => next
      return Effect.tap(Effect.andThen(Deferred.succeed(reached, undefined), read), () => Deferred.await(through))
    }
    return { reached: Deferred.await(reached), letThrough: Deferred.succeed(through, undefined) }
  })

it.live("an instance that is leaving when its node loses its lease refuses nothing more: the event is for the node that has it now", () =>
  Effect.gen(function* () {
    const { engine, probe, answers, acquire, release, receive, loseLease } = yield* openNode
    const key = { machine: Door.name, id: "front" }
    yield* acquire(key)
    yield* engine.start(Door, key.id)
    const { reached, letThrough } = yield* holdReading(probe)
    // A closed door refuses it, once the journal confirms that it is closed.
    yield* receive(key, { _tag: "Send", event: JSON.stringify({ v: 1, e: { _tag: "Enter" } }), id: "x" })
    yield* reached
    const leaving = yield* Effect.forkChild(release(key), { startImmediately: true })
    // Releases of one turn go together, in the next.
    yield* Effect.sleep(5)
    expect(leaving.pollUnsafe()).toBeUndefined()
    yield* loseLease
    yield* letThrough
    yield* Fiber.join(leaving)
    expect(answers).toMatchObject([{ _tag: "Elsewhere" }])
  }).pipe(Effect.scoped),
)
