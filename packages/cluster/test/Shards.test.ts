/** What a node does with the instances of shards that it releases, or loses with its lease. */
import { Engine, Journal, MemoryStore, Placement, type PlacementService } from "@detent/durable"
import { makeShardOf, type Receiver, type RemoteAnswer, type RemoteRequest, type Routing } from "@detent/durable/internal"
import { Event, Machine, State, stay } from "@detent/machine"
import type { InstanceKey } from "@detent/store"
import { expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import { RunnerAddress } from "effect/cluster/RunnerAddress"
import * as ShardId from "effect/cluster/ShardId"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { type ClusterTables, shardCount } from "../src/ClusterTables.ts"
import { Shards } from "../src/Shards.ts"

const S = State({ Closed: {}, Open: {} })
const E = Event({ Knock: {}, Enter: {} })
const Door = Machine.make({ name: "door", state: S, event: E, initial: S.Closed() }).on(S.Closed, E.Knock, stay).on(S.Open, E.Enter, stay)

const address = RunnerAddress.make({ host: "127.0.0.1", port: 7700 })

const W = State({ Pumping: {} })
const Pump = Machine.make({ name: "pump", state: W, event: Event({ Stop: {} }), initial: W.Pumping() })

/** The tables of a cluster that has this node only: it gets every shard that it wants. */
const makeTables = (released: Array<number>): ClusterTables => ({
  register: () => Effect.succeed(undefined),
  unregister: () => Effect.void,
  runners: Effect.succeed([]),
  nodes: Effect.succeed([]),
  drain: () => Effect.succeed(true),
  deadHolders: () => Effect.succeed([]),
  acquire: (_, wanted) => Effect.succeed(wanted),
  release: (shards) => Effect.sync(() => void released.push(...shards)),
  owners: Effect.succeed([]),
  channel: "unused",
})

/** An engine on a node whose lease is lost when the test says so, with a test in the place of the other nodes. */
const openNode = Effect.fnUntraced(function* (leaveTimeout: Duration.Input = "10 seconds") {
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
  const released: Array<number> = []
  const shards = new Shards({
    address: "127.0.0.1:7700",
    placement: { ...base, onLost },
    tables: makeTables(released),
    shardOf,
    tokenMark: "mark",
    registered: () => undefined,
    receivers,
    run,
    leaveTimeout,
    changed: () => undefined,
  })
  const routing: Routing = {
    isLocal: (key) => shards.has(key),
    isAwaited: () => false,
    request: () => Effect.never,
    requestCharacters: 10_000,
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
    /** The shards that other nodes may acquire. */
    isReleased: (key: InstanceKey) => released.includes(shardOf(key)),
    acquire: (key: InstanceKey) => storage.acquire(address, [idOf(key)]),
    release: (key: InstanceKey) => storage.release(address, idOf(key)),
    receive: (key: InstanceKey, request: RemoteRequest) =>
      Effect.suspend(() => receivers[0]?.receive(key, [request], (_, answer) => answers.push(answer)) ?? Effect.void),
    loseLease: Effect.sync(() => loseLease()),
  }
})

it.live("an instance that is leaving when its node loses its lease refuses nothing more: the event is for the node that has it now", () =>
  Effect.gen(function* () {
    const { engine, holdReadings, reading, letThrough, answers, acquire, release, receive, loseLease } = yield* openNode()
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
    const { engine, answers, acquire, receive, refuseNext } = yield* openNode()
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

/** A pump whose work ends when the test says so, and counts how often it runs. */
const stubbornPump = Effect.gen(function* () {
  const [started, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const running = { now: 0, most: 0 }
  const work = Effect.gen(function* () {
    running.most = Math.max(running.most, ++running.now)
    yield* Deferred.succeed(started, undefined)
    yield* Effect.uninterruptible(Deferred.await(mayEnd))
  }).pipe(Effect.ensuring(Effect.sync(() => running.now--)))
  return { machine: Pump.spawn(W.Pumping, () => work), started: Deferred.await(started), end: Deferred.succeed(mayEnd, undefined), running }
})

it.live("a shard is released when the work of its instances has ended, however often the release is tried; others do not wait for it", () =>
  Effect.gen(function* () {
    const { engine, acquire, release, isReleased } = yield* openNode("50 millis")
    const pump = yield* stubbornPump
    const [door, well] = [
      { machine: Door.name, id: "front" },
      { machine: Pump.name, id: "well" },
    ]
    for (const key of [door, well]) yield* acquire(key)
    yield* engine.start(Door, door.id)
    yield* engine.start(pump.machine, well.id)
    yield* pump.started
    const [first, late] = yield* Effect.all([Effect.exit(release(door)), Effect.exit(release(well))], { concurrency: 2 })
    expect([first._tag, late._tag]).toEqual(["Success", "Failure"])
    expect([isReleased(door), isReleased(well)]).toEqual([true, false])
    // Effect's cluster tries it again.
    const again = yield* Effect.forkChild(release(well))
    yield* Effect.sleep(200)
    expect(again.pollUnsafe()).toBeUndefined()
    expect(isReleased(well)).toBe(false)
    yield* pump.end
    yield* Fiber.join(again)
    expect(isReleased(well)).toBe(true)
    expect(pump.running.now).toBe(0)
  }).pipe(Effect.scoped),
)

it.live("work that runs on after its node lost its lease does not begin a second time on that node", () =>
  Effect.gen(function* () {
    const { engine, acquire, release, loseLease } = yield* openNode("50 millis")
    const pump = yield* stubbornPump
    const well = { machine: Pump.name, id: "well" }
    yield* acquire(well)
    yield* engine.start(pump.machine, well.id)
    yield* pump.started
    yield* loseLease
    // Effect's cluster releases a shard that its node has lost before it acquires the shard again.
    const returned = Effect.andThen(Effect.eventually(Effect.delay(release(well), 10)), acquire(well))
    const returning = yield* Effect.forkChild(returned)
    yield* Effect.sleep(200)
    expect(pump.running).toEqual({ now: 1, most: 1 })
    yield* pump.end
    yield* Fiber.join(returning)
    expect(pump.running.most).toBe(1)
  }).pipe(Effect.scoped),
)
