/** What a node that loses its lease does with the instances of the shards that it had, and of those that were on their way out. */
import { Engine, Journal, MemoryStore, Placement, type PlacementService } from "@detent/durable"
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
import { type ClusterTables, shardCount } from "../src/ClusterTables.ts"
import { Shards } from "../src/Shards.ts"

const S = State({ Closed: {}, Open: {} })
const E = Event({ Knock: {}, Enter: {} })
const Door = Machine.make({ name: "door", state: S, event: E, initial: S.Closed() }).on(S.Closed, E.Knock, stay).on(S.Open, E.Enter, stay)

const address = RunnerAddress.make({ host: "127.0.0.1", port: 7700 })

/** The tables of a cluster that has this node only: it gets every shard that it wants. */
const tables: ClusterTables = {
  register: () => Effect.void,
  unregister: () => Effect.void,
  runners: Effect.succeed([]),
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
  const [reading, mayRead] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  let isHeld = false
  let fenced = 0
  const memory = yield* MemoryStore.make
  // As a store on a server: the journal must be asked.
  const { local: _, ...journal } = Context.get(memory, Journal)
  const open: typeof journal.open = (key) =>
    isHeld
      ? Effect.andThen(
          Deferred.succeed(reading, undefined),
          Effect.tap(journal.open(key), () => Deferred.await(mayRead)),
        )
      : journal.open(key)
  const commit: typeof journal.commit = (commits) =>
    commits.some(({ fence }) => fence !== undefined) && fenced-- > 0
      ? Effect.succeed(commits.map(() => ({ _tag: "Fenced" as const, newest: 2 })))
      : journal.commit(commits)
  const stores = Context.add(memory, Journal, { ...journal, open, commit })
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
    /** From now on readings of the journal wait until the test lets them through. */
    holdReadings: Effect.sync(() => {
      isHeld = true
    }),
    /** The store takes this node's next commit for one of a node that has lost its lease. */
    refuseNext: Effect.sync(() => {
      fenced = 1
    }),
    reading: Deferred.await(reading),
    letThrough: Deferred.succeed(mayRead, undefined),
    answers,
    acquire: (key: InstanceKey) => storage.acquire(address, [idOf(key)]),
    release: (key: InstanceKey) => storage.release(address, idOf(key)),
    receive: (key: InstanceKey, request: RemoteRequest) =>
      Effect.suspend(() => receivers[0]?.receive(key, [request], (_, answer) => answers.push(answer)) ?? Effect.void),
    loseLease: Effect.sync(() => loseLease()),
  }
})

it.live("an instance that is leaving when its node loses its lease refuses nothing more: the event is for the node that has it now", () =>
  Effect.gen(function* () {
    const { engine, holdReadings, reading, letThrough, answers, acquire, release, receive, loseLease } = yield* openNode
    const key = { machine: Door.name, id: "front" }
    yield* acquire(key)
    yield* engine.start(Door, key.id)
    yield* holdReadings
    // A closed door refuses it, once the journal confirms that it is closed.
    yield* receive(key, { _tag: "Send", event: JSON.stringify({ v: 1, e: { _tag: "Enter" } }), id: "x" })
    yield* reading
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

it.live("a start that the fence refuses is for the node that has the instance now, and its sender is not answered that it exists", () =>
  Effect.gen(function* () {
    const { engine, answers, acquire, receive, refuseNext } = yield* openNode
    const key = { machine: Door.name, id: "front" }
    yield* acquire(key)
    yield* refuseNext
    yield* receive(key, { _tag: "Start", state: JSON.stringify({ _tag: "Closed" }), version: 1, at: 7 })
    expect(answers).toMatchObject([{ _tag: "Elsewhere" }])
    // A caller on this node is answered when a node has started it.
    yield* refuseNext
    const door = yield* engine.ensure(Door, key.id)
    expect(yield* door.lastSequence).toBe(0)
    yield* refuseNext
    expect(yield* engine.startAll(Door, [{ id: "back", input: undefined }])).toMatchObject([{ _tag: "Success" }])
  }).pipe(Effect.scoped),
)
