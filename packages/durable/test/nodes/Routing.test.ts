/** An engine whose instances are divided between nodes, with a test in the place of the other nodes. */
import { Event, Machine, State } from "@detent/machine"
import { compiledOf } from "@detent/machine/internal"
import { Journal, MemoryStore } from "@detent/store"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Engine } from "../../src/Engine.ts"
import { Codec } from "../../src/machine/Codec.ts"
import { Placement, type PlacementService } from "../../src/nodes/Placement.ts"
import type { Receiver, RemoteAnswer, RemoteRequest, Routing } from "../../src/nodes/Routing.ts"
import { E, Job, S } from "../../testing/engine/Machines.ts"
import { outage, StoreProbe } from "../../testing/engine/StoreProbe.ts"

const key = { machine: "job", id: "j" }

const codec = new Codec(compiledOf(Job), {})

/** The event as nodes send it. */
const sent = (event: typeof E.Type, id: string, first = false): RemoteRequest => ({
  _tag: "Send",
  event: codec.encodeEvent({ event, guardAnswers: [], settled: undefined, answer: undefined }),
  id,
  first,
})

const open = Effect.gen(function* () {
  const store = yield* MemoryStore.make
  const probe = new StoreProbe()
  const requested: Array<RemoteRequest> = []
  let receiver: Receiver | undefined
  let isLocal = true
  const routing: Routing = {
    isLocal: () => isLocal,
    isAwaited: () => false,
    request: (_, request) =>
      Effect.sync(() => {
        requested.push(request)
        return { _tag: "Refused", error: JSON.stringify({ _tag: "InstanceNotFound", machine: "job", id: "j" }) }
      }),
    requestCharacters: 10_000,
    shards: () => ({ count: 1, held: isLocal ? [0] : [] }),
    serve: (one) =>
      Effect.sync(() => {
        receiver = one
      }),
  }
  const stores = probe.wrap(store)
  const base = yield* Effect.provideContext(Placement.make({ nodeId: "this" }), stores)
  const placement: PlacementService = { ...base, routing }
  const layer = Engine.layer().pipe(Layer.provide(Layer.succeed(Placement, placement)), Layer.provide(Layer.succeedContext(stores)))
  const engine = Context.get(yield* Layer.build(Layer.fresh(layer)), Engine)
  yield* engine.register(Job)
  const answers: Array<RemoteAnswer> = []
  const receive = (request: RemoteRequest) =>
    Effect.suspend(() => receiver?.receive(key, [request], (_, answer) => answers.push(answer)) ?? Effect.void)
  /** All instances leave, as when the node has lost its lease; and come back. */
  const lose = Effect.suspend(() => {
    isLocal = false
    return receiver?.leave(() => true, "lost") ?? Effect.void
  })
  const gain = Effect.sync(() => {
    isLocal = true
    receiver?.gained()
  })
  return { engine, journal: Context.get(stores, Journal), node: base.node, probe, requested, answers, receive, lose, gain }
})

/** A machine that decides by an Effect, which waits until the test lets it through. */
const pondering = Effect.gen(function* () {
  const reached = yield* Deferred.make<void>()
  const through = yield* Deferred.make<void>()
  const P = State({ Open: {} })
  const V = Event({ Ponder: {} })
  const machine = Machine.make({ name: "ponderer", state: P, event: V, initial: P.Open() }).on(P.Open, V.Ponder, P.Open, () =>
    Effect.as(Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(through)), P.Open()),
  )
  return { machine, event: V.Ponder(), reached: Deferred.await(reached), letThrough: Deferred.succeed(through, undefined) }
})

/** A machine whose only state has work, and how often the work has begun and ended. */
const working = () => {
  const log: Array<"begins" | "ends"> = []
  const W = State({ Working: {} })
  const machine = Machine.make({ name: "worker", state: W, event: Event({ Never: {} }), initial: W.Working() }).spawn(W.Working, () =>
    Effect.andThen(
      Effect.sync(() => log.push("begins")),
      Effect.onInterrupt(Effect.never, () => Effect.sync(() => log.push("ends"))),
    ),
  )
  const until = (count: number) => Effect.repeat(Effect.sleep(5), { until: () => log.length >= count })
  return { machine, log, until }
}

/** The next reading of the journal waits until the test lets it through. */
const holdReading = (probe: StoreProbe) =>
  Effect.gen(function* () {
    const reached = yield* Deferred.make<void>()
    const through = yield* Deferred.make<void>()
    probe.onOpen = (read) => {
      probe.onOpen = (next) => next
      return Effect.tap(Effect.andThen(Deferred.succeed(reached, undefined), read), () => Deferred.await(through))
    }
    return { reached: Deferred.await(reached), letThrough: Deferred.succeed(through, undefined) }
  })

it.live("an event that waits for its instance to be read is not decided where the instance left meanwhile, also when it is back", () =>
  Effect.gen(function* () {
    const { engine, probe, answers, receive, lose, gain } = yield* open
    const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
    yield* engine.release(Job, ["j"])
    const { reached, letThrough } = yield* holdReading(probe)
    const receiving = yield* Effect.forkChild(receive(sent(E.Add({ by: 1 }), "x")))
    yield* reached
    yield* lose
    yield* gain
    yield* letThrough
    yield* Fiber.join(receiving)
    expect(answers).toMatchObject([{ _tag: "Elsewhere" }])
    expect(yield* job.lastSequence).toBe(0)
    yield* receive(sent(E.Add({ by: 1 }), "x"))
    while (answers.length < 2) yield* Effect.sleep(1)
    expect(answers[1]).toMatchObject({ _tag: "Done" })
    expect(yield* job.lastSequence).toBe(1)
  }).pipe(Effect.scoped),
)

it.live("an instance that its node has lost refuses nothing: the event is for the node that has it now", () =>
  Effect.gen(function* () {
    const { engine, probe, answers, receive, lose } = yield* open
    yield* engine.start(Job, "j", S.Idle({ n: 0 }))
    const { reached, letThrough } = yield* holdReading(probe)
    yield* receive(sent(E.Add({ by: 1 }), "x"))
    yield* reached
    const losing = yield* Effect.forkChild(lose)
    yield* Effect.yieldNow
    yield* letThrough
    yield* Fiber.join(losing)
    expect(answers).toMatchObject([{ _tag: "Elsewhere" }])
  }).pipe(Effect.scoped),
)

it.live(
  "an event that a node may have stored before it lost the instance is sent on under its id, and without one its sender gets the error",
  () =>
    Effect.gen(function* () {
      const { engine, probe, requested, lose } = yield* open
      const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
      probe.onCommit = () => Effect.fail(outage())
      const withId = yield* Effect.forkChild(Effect.flip(job.send(E.Add({ by: 1 }), { id: "x" })))
      const without = yield* Effect.forkChild(Effect.flip(job.send(E.Add({ by: 2 }))))
      while (probe.batches.length < 3) yield* Effect.sleep(1)
      yield* lose
      expect(yield* Fiber.join(without)).toMatchObject({ _tag: "PersistenceFailed", operation: "commit" })
      yield* Fiber.join(withId)
      expect(requested).toMatchObject([{ _tag: "Send", id: "x" }])
    }).pipe(Effect.scoped),
)

it.live("an event for an instance that goes to another node while it is read follows it", () =>
  Effect.gen(function* () {
    const { engine, probe, requested, lose } = yield* open
    const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
    yield* engine.release(Job, ["j"])
    const { reached, letThrough } = yield* holdReading(probe)
    const sending = yield* Effect.forkChild(Effect.flip(job.send(E.Add({ by: 1 }), { id: "x" })))
    yield* reached
    yield* lose
    yield* letThrough
    expect(yield* Fiber.join(sending)).toMatchObject({ _tag: "InstanceNotFound" })
    expect(requested).toMatchObject([{ _tag: "Send", id: "x" }])
  }).pipe(Effect.scoped),
)

describe("an event that its instance decides on while it goes to another node follows it, and is not refused", () => {
  for (const id of [undefined, "x"]) {
    it.live(`where the decision is an Effect, ${id === undefined ? "without an id" : "with one"}`, () =>
      Effect.gen(function* () {
        const { engine, requested, lose } = yield* open
        const { machine, event, reached, letThrough } = yield* pondering
        const ponderer = yield* engine.start(machine, "p")
        const sending = yield* Effect.forkChild(Effect.flip(ponderer.send(event, id === undefined ? {} : { id })))
        yield* reached
        const losing = yield* Effect.forkChild(lose)
        yield* Effect.sleep(5)
        yield* letThrough
        yield* Fiber.join(losing)
        expect(yield* Fiber.join(sending)).toMatchObject({ _tag: "InstanceNotFound" })
        expect(requested).toMatchObject([{ _tag: "Send", ...(id === undefined ? {} : { id }) }])
        expect(yield* ponderer.lastSequence).toBe(0)
      }).pipe(Effect.scoped),
    )
  }

  it.live("where its id is looked for before the Effect runs", () =>
    Effect.gen(function* () {
      const { engine, probe, requested, lose } = yield* open
      const { machine, event, letThrough: decide } = yield* pondering
      const ponderer = yield* engine.start(machine, "p")
      const { reached, letThrough } = yield* holdReading(probe)
      const sending = yield* Effect.forkChild(Effect.flip(ponderer.send(event, { id: "x" })))
      yield* reached
      const losing = yield* Effect.forkChild(lose)
      yield* Effect.sleep(5)
      yield* Effect.andThen(letThrough, decide)
      yield* Fiber.join(losing)
      expect(yield* Fiber.join(sending)).toMatchObject({ _tag: "InstanceNotFound" })
      expect(requested).toMatchObject([{ _tag: "Send", id: "x" }])
    }).pipe(Effect.scoped),
  )

  it.live("where the journal is read because its state refuses it", () =>
    Effect.gen(function* () {
      const { engine, probe, requested, lose } = yield* open
      const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
      const { reached, letThrough } = yield* holdReading(probe)
      const sending = yield* Effect.forkChild(Effect.flip(job.send(E.Resume())))
      yield* reached
      const losing = yield* Effect.forkChild(lose)
      yield* Effect.sleep(5)
      yield* letThrough
      yield* Fiber.join(losing)
      expect(yield* Fiber.join(sending)).toMatchObject({ _tag: "InstanceNotFound" })
      expect(requested).toMatchObject([{ _tag: "Send" }])
    }).pipe(Effect.scoped),
  )
})

describe("an event that another node has", () => {
  const id = "@delivery/other/1"

  it.live("sent for the first time, is not looked for in the journal; sent again, it is", () =>
    Effect.gen(function* () {
      const { engine, probe, answers, receive } = yield* open
      yield* engine.start(Job, "j", S.Idle({ n: 0 }))
      const looked: Array<string> = []
      probe.onFindDuplicate = (dedupeId, find) => {
        looked.push(dedupeId)
        return find
      }
      yield* receive(sent(E.Add({ by: 1 }), id, true))
      while (answers.length < 1) yield* Effect.sleep(1)
      expect(answers).toMatchObject([{ _tag: "Refused" }])
      expect(looked).toEqual([])
      yield* receive(sent(E.Add({ by: 1 }), id))
      while (answers.length < 2) yield* Effect.sleep(1)
      expect(looked).toEqual([id])
    }).pipe(Effect.scoped),
  )

  it.live("is stored as one that the journal cannot have, until a commit with it is not confirmed", () =>
    Effect.gen(function* () {
      const { engine, probe, answers, receive } = yield* open
      const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
      probe.onCommit = () => {
        probe.onCommit = (_, commit) => commit
        return Effect.fail(outage())
      }
      yield* receive(sent(E.Add({ by: 1 }), id, true))
      while (answers.length < 1) yield* Effect.sleep(1)
      expect(answers).toMatchObject([{ _tag: "Done" }])
      const records = probe.batches.flat().flatMap(({ events }) => events)
      expect(records.map(({ dedupeId, isFirst = false }) => [dedupeId, isFirst])).toEqual([
        [id, true],
        [id, false],
      ])
      expect(yield* job.lastSequence).toBe(1)
    }).pipe(Effect.scoped),
  )

  it.live("is looked for where its sender chose the id, whatever the request says", () =>
    Effect.gen(function* () {
      const { engine, probe, answers, receive } = yield* open
      yield* engine.start(Job, "j", S.Busy({ n: 0 }))
      yield* receive(sent(E.Add({ by: 1 }), "chosen", true))
      while (answers.length < 1) yield* Effect.sleep(1)
      expect(probe.batches.flat().flatMap(({ events }) => events.map(({ isFirst = false }) => isFirst))).toEqual([false])
    }).pipe(Effect.scoped),
  )
})

it.live("work continues where its instance leaves the node and comes back before another node has run it", () =>
  Effect.gen(function* () {
    const { engine, lose, gain } = yield* open
    const { machine, log, until } = working()
    yield* engine.start(machine, "w")
    yield* until(1)
    yield* lose
    yield* until(2)
    yield* gain
    yield* until(3)
    expect(log).toEqual(["begins", "ends", "begins"])
  }).pipe(Effect.scoped),
)

it.live("work of a node that is dead is taken over by the node that has its instance", () =>
  Effect.gen(function* () {
    const { engine, journal, node, lose, gain } = yield* open
    const { machine, until } = working()
    const instance = { machine: "worker", id: "w" }
    yield* engine.start(machine, "w")
    yield* until(1)
    yield* lose
    yield* until(2)
    yield* gain
    yield* until(3)
    yield* lose
    yield* until(4)
    expect(yield* journal.changeOwner([instance], node(), "dead/1")).toHaveLength(1)
    yield* gain
    yield* until(5)
    const [record] = yield* journal.page({ machine: "worker" }, 1)
    expect(record?.owner).toBe(node())
  }).pipe(Effect.scoped),
)

it.live("an instance that goes to another node while its start is stored begins there", () =>
  Effect.gen(function* () {
    const { engine, probe, requested, lose } = yield* open
    const { machine, log } = working()
    yield* engine.register(machine)
    probe.onCommit = (_, commit) => Effect.tap(commit, () => lose)
    yield* engine.start(machine, "w")
    yield* Effect.repeat(Effect.sleep(1), { until: () => requested.length > 0 })
    expect(requested).toEqual([{ _tag: "Wake" }])
    expect(log).toEqual([])
    expect(yield* engine.live).toBe(0)
  }).pipe(Effect.scoped),
)

it.live("a caller that waited on this node while another node had the instance does not make its work run a second time here", () =>
  Effect.gen(function* () {
    const { engine, lose, gain } = yield* open
    const W = State({ Working: { round: Schema.Int } })
    const V = Event({ Next: {} })
    let [running, begun] = [0, 0]
    const machine = Machine.make({ name: "worker", state: W, event: V, initial: W.Working({ round: 0 }) })
      .reenter(W.Working, V.Next, ({ state }) => W.Working({ round: state.round + 1 }))
      .spawn(W.Working, () =>
        Effect.andThen(
          Effect.sync(() => {
            running++
            begun++
          }),
          Effect.onInterrupt(Effect.never, () => Effect.sync(() => running--)),
        ),
      )
    const worker = yield* engine.start(machine, "j")
    yield* lose
    yield* Effect.forkChild(Effect.ignore(worker.awaitFinal))
    const rounds: Array<number> = []
    yield* Effect.forkChild(
      Stream.runForEach(worker.changes, ({ round }) => Effect.sync(() => rounds.push(round))),
      { startImmediately: true },
    )
    yield* Effect.repeat(Effect.sleep(5), { until: () => rounds.length > 0 })
    yield* gain
    yield* Effect.repeat(Effect.sleep(5), { until: () => begun === 2 })
    yield* worker.send(V.Next())
    yield* Effect.repeat(Effect.sleep(5), { until: () => rounds.includes(1) })
    expect(running).toBe(1)
    yield* lose
    expect(running).toBe(0)
  }).pipe(Effect.scoped),
)
