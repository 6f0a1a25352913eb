/** Three nodes in one process, on one PostgreSQL: every call works on every node, and each instance is on one. */
import { Engine, type EngineService, Placement } from "@detent/durable"
import * as PgClient from "@detent/durable/PgClient"
import { Event, Machine, reply, State, stay } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { freePort } from "../../store/test/support/freePort.ts"
import { freshDatabase } from "../../store/test/support/Postgres.ts"
import { resetMany, upgrading } from "../../store/test/support/resets.ts"
import { Cluster, type ClusterService } from "../src/index.ts"
import { layerNode, token } from "./support/nodes.ts"

const S = State({ Counting: { count: Schema.Finite }, Working: {}, Late: {}, Done: { count: Schema.Finite } })
const E = Event({ Add: { by: Schema.Finite }, HowMany: Event.reply({}, Schema.Finite), Work: {}, Finish: {} })

const Counter = Machine.make({
  name: "counter",
  state: S,
  event: E,
  initial: ({ count }: { readonly count: number }) => S.Counting({ count }),
})
  .on(S.Counting, E.Add, S.Counting, ({ state, event }) => S.Counting({ count: state.count + event.by }))
  .on(S.Counting, E.HowMany, stay, ({ state }) => reply(state.count))
  .on(S.Counting, E.Finish, S.Done, ({ state }) => S.Done({ count: state.count }))
  .on(S.Counting, E.Work, S.Working, () => S.Working())
  .timeout(S.Working, "300 millis", S.Late)
  .final(S.Done)

interface Node {
  readonly port: number
  readonly context: Context.Context<Placement>
  readonly engine: EngineService
  readonly cluster: ClusterService
  /** Whether it has a counter. */
  readonly has: (id: string) => boolean
  readonly stop: Effect.Effect<void>
}

/** The next version: a state has a label more, and the answer is a text. */
const S2 = State({ Counting: { count: Schema.Finite, label: Schema.String } })
const E2 = Event({ Add: { by: Schema.Finite }, HowMany: Event.reply({}, Schema.String) })
const Newer = Machine.make({
  name: "counter",
  version: 2,
  state: S2,
  event: E2,
  initial: ({ count }: { readonly count: number }) => S2.Counting({ count, label: "counter" }),
})
  .on(S2.Counting, E2.Add, S2.Counting, ({ state, event }) => S2.Counting({ count: state.count + event.by, label: state.label }))
  .on(S2.Counting, E2.HowMany, stay, ({ state }) => reply(`${state.count} of ${state.label}`))

const registerNewer = (engine: EngineService) =>
  engine.register(Newer, { upcasters: { 1: { state: (state) => ({ ...state, label: "counter" }) } } })

const B = State({ Open: { numbers: Schema.Array(Schema.Finite) } })
const N = Event({ Note: { number: Schema.Finite } })
/** Has the numbers that were sent to it, in the order in which they came. */
const Ledger = Machine.make({ name: "ledger", state: B, event: N, initial: B.Open({ numbers: [] }) }).on(
  B.Open,
  N.Note,
  B.Open,
  ({ state, event }) => B.Open({ numbers: [...state.numbers, event.number] }),
)

const G = State({ Boiling: {}, Boiled: {} })
const Egg = Machine.make({ name: "egg", state: G, event: Event({ Turn: {} }), initial: G.Boiling() }).timeout(G.Boiling, "1 hour", G.Boiled)

const startNode = (
  url: string,
  register: (engine: EngineService) => Effect.Effect<void, unknown> = (engine) => engine.register(Counter),
): Effect.Effect<Node, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const port = yield* freePort
    const context = yield* Layer.buildWithScope(layerNode(url, `127.0.0.1:${port}`), scope)
    const engine = Context.get(context, Engine)
    yield* register(engine)
    const { routing } = Context.get(context, Placement)
    return {
      port,
      context,
      engine,
      cluster: Context.get(context, Cluster),
      has: (id) => routing?.isLocal({ machine: Counter.name, id }) === true,
      stop: Scope.close(scope, Exit.void),
    }
  })

const untilShared = (nodes: ReadonlyArray<Node>) =>
  Effect.repeat(Effect.sleep(50), {
    until: () =>
      nodes.every(({ cluster }) => cluster.shards() > 0) && nodes.reduce((sum, { cluster }) => sum + cluster.shards(), 0) === 300,
  })

describe("a cluster of three nodes", () => {
  it.live("every call works on every node, and an instance is in memory on one", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const nodes = yield* Effect.all([startNode(url), startNode(url), startNode(url)], { concurrency: 3 })
      yield* untilShared(nodes)
      const at = (index: number): Node => nodes[index % 3] as Node
      const ids = Array.from({ length: 30 }, (_, index) => `c-${index}`)
      yield* Effect.forEach(ids, (id, index) => at(index).engine.start(Counter, id, { count: index }), { concurrency: 10, discard: true })
      for (const { engine } of nodes) {
        yield* Effect.forEach(
          ids,
          (id) => Effect.flatMap(engine.ensure(Counter, id, { count: -1 }), (counter) => counter.send(E.Add({ by: 1 }))),
          { concurrency: 30, discard: true },
        )
      }
      const counts = yield* Effect.forEach(nodes, ({ engine }) =>
        Effect.forEach(ids, (id) => Effect.flatMap(engine.ensure(Counter, id, { count: -1 }), (counter) => counter.ask(E.HowMany())), {
          concurrency: 30,
        }),
      )
      for (const found of counts)
        assert.deepStrictEqual(
          found,
          ids.map((_, index) => index + 3),
        )
      const live = yield* Effect.forEach(nodes, ({ engine }) => engine.live)
      assert.strictEqual(
        live.reduce((sum, one) => sum + one, 0),
        ids.length,
      )
      // Questions are not journaled, from whichever node they come.
      const first = yield* at(0).engine.ensure(Counter, "c-0", { count: -1 })
      assert.strictEqual(yield* first.lastSequence, 3)
      const handles = yield* Effect.forEach(nodes, ({ engine }) => engine.ensure(Counter, "c-5", { count: -1 }))
      const waiting = yield* Effect.forEach(handles, (handle) => Effect.forkChild(handle.awaitFinal))
      const streams = yield* Effect.forEach(handles, (handle) => Effect.forkChild(Stream.runCollect(handle.changes)))
      yield* Effect.sleep(100)
      yield* (handles[0] as (typeof handles)[number]).send(E.Finish())
      for (const fiber of waiting) assert.strictEqual((yield* Fiber.join(fiber))._tag, "Done")
      for (const fiber of streams) assert.strictEqual((yield* Fiber.join(fiber)).at(-1)?._tag, "Done")
      const refusals = yield* Effect.forEach(handles, (handle) => Effect.flip(handle.send(E.Add({ by: 1 }))))
      for (const refusal of refusals) assert.strictEqual(refusal._tag, "MachineStopped")
      // Timers fire on the node that has the instance.
      const timed = yield* Effect.forEach(ids.slice(10), (id) => at(1).engine.ensure(Counter, id, { count: -1 }))
      yield* Effect.forEach(timed, (one) => one.send(E.Work()), { concurrency: 20, discard: true })
      for (const one of timed) assert.strictEqual((yield* one.waitFor(({ _tag }) => _tag === "Late"))._tag, "Late")
    }),
  )

  it.live("a node that stops hands over what it has, and no caller notices", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const nodes = yield* Effect.all([startNode(url), startNode(url), startNode(url)], { concurrency: 3 })
      yield* untilShared(nodes)
      const [first, second, third] = nodes as [Node, Node, Node]
      const ids = Array.from({ length: 20 }, (_, index) => `m-${index}`)
      yield* first.engine.startAll(
        Counter,
        ids.map((id) => ({ id, input: { count: 0 } })),
      )
      let sent = 0
      const add = ({ engine }: Node, id: string) =>
        Effect.gen(function* () {
          const counter = yield* engine.ensure(Counter, id, { count: -1 })
          for (let round = 0; round < 40; round++) {
            yield* counter.send(E.Add({ by: 1 }))
            sent++
          }
        })
      const adding = Effect.forEach([first, second], (node) => Effect.forEach(ids, (id) => add(node, id), { concurrency: "unbounded" }), {
        concurrency: 2,
      })
      const sending = yield* Effect.forkChild(adding)
      yield* Effect.repeat(Effect.sleep(5), { until: () => sent > 400 })
      yield* third.stop
      yield* Fiber.join(sending)
      const fourth = yield* startNode(url)
      const counts = yield* Effect.forEach(ids, (id) =>
        Effect.flatMap(fourth.engine.ensure(Counter, id, { count: -1 }), (one) => one.ask(E.HowMany())),
      )
      assert.deepStrictEqual(
        counts,
        ids.map(() => 80),
      )
    }),
  )
})

describe("the nodes of a cluster, as operators see them", () => {
  it.live("show how late the timers of their instances are", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const first = yield* startNode(url)
      yield* untilShared([first])
      assert.deepStrictEqual(
        (yield* first.cluster.nodes).map(({ shards, lagMillis }) => [shards, lagMillis]),
        [[300, 0]],
      )
      yield* first.engine.register(Egg)
      yield* first.engine.start(Egg, "breakfast")
      yield* first.stop
      // This node does not know the machine, so that nothing claims its timer.
      const second = yield* startNode(url)
      yield* untilShared([second])
      const sql = Context.get(yield* Layer.build(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })), PgClient.PgClient)
      yield* sql`update detent.timers set due = due - ${2 * 3_600_000}`
      const [node] = yield* second.cluster.nodes
      assert.isAtLeast(node?.lagMillis ?? 0, 3_600_000 - 60_000)
    }),
  )
})

describe("one sender", () => {
  it.live("does not wait for its answers: its events keep their order, also while their instances move", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const nodes = yield* Effect.all([startNode(url), startNode(url)], { concurrency: 2 })
      for (const { engine } of nodes) yield* engine.register(Ledger)
      yield* untilShared(nodes)
      const [first, second] = nodes as [Node, Node]
      const ids = Array.from({ length: 6 }, (_, index) => `l-${index}`)
      const numbers = Array.from({ length: 150 }, (_, index) => index)
      const sendAll = Effect.fnUntraced(function* (id: string) {
        const ledger = yield* first.engine.ensure(Ledger, id)
        const sending: Array<Fiber.Fiber<void, unknown>> = []
        for (const number of numbers) {
          sending.push(yield* Effect.forkChild(ledger.send(N.Note({ number })), { startImmediately: true }))
          if (number % 5 === 0) yield* Effect.sleep(10)
        }
        for (const one of sending) yield* Fiber.join(one)
      })
      const sending = yield* Effect.forkChild(Effect.forEach(ids, sendAll, { concurrency: "unbounded", discard: true }))
      yield* Effect.sleep(50)
      const third = yield* startNode(url)
      yield* third.engine.register(Ledger)
      yield* second.stop
      yield* Fiber.join(sending)
      for (const id of ids)
        assert.deepStrictEqual((yield* Effect.flatMap(third.engine.ensure(Ledger, id), ({ state }) => state)).numbers, numbers)
    }),
  )
})

const T = State({ Open: { count: Schema.Finite, characters: Schema.Finite } })
const X = Event({ Say: { text: Schema.String } })
/** Counts what it hears, and may hear a lot. */
const Listener = Machine.make({ name: "listener", state: T, event: X, initial: T.Open({ count: 0, characters: 0 }) }).on(
  T.Open,
  X.Say,
  T.Open,
  ({ state, event }) => T.Open({ count: state.count + 1, characters: state.characters + event.text.length }),
)

describe("large events", () => {
  it.live("more than a message between nodes can have are all stored, and small ones beside them; one that is too large fails alone", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const register = (engine: EngineService) => engine.register(Listener)
      const [here, there] = yield* Effect.all([startNode(url, register), startNode(url, register)], { concurrency: 2 })
      yield* untilShared([here, there])
      const ids = Array.from({ length: 300 }, (_, index) => `l-${index}`)
      const distant = ids.filter((id) => Context.get(there.context, Placement).routing?.isLocal({ machine: "listener", id })).slice(0, 4)
      const listeners = yield* Effect.forEach(distant, (id) => here.engine.start(Listener, id))
      const size = 2_500_000
      const large = Array.from({ length: 48 }, (_, index) => index)
      const sending = yield* Effect.forkChild(
        Effect.forEach(large, (index) => Effect.exit(nth(listeners, index).send(X.Say({ text: "é".repeat(size) }))), {
          concurrency: "unbounded",
        }),
        { startImmediately: true },
      )
      const tooLarge = yield* Effect.flip(nth(listeners, 0).send(X.Say({ text: "x".repeat(33_000_000) })))
      assert.strictEqual(tooLarge._tag, "InvalidEvent")
      assert.include(tooLarge.message, "32000000")
      const small = yield* Effect.forEach(large, (index) => Effect.exit(nth(listeners, index).send(X.Say({ text: "x" }))), {
        concurrency: "unbounded",
      })
      for (const exit of [...small, ...(yield* Fiber.join(sending))]) assert.isTrue(Exit.isSuccess(exit))
      const states = yield* Effect.forEach(listeners, ({ state }) => state)
      assert.deepStrictEqual(
        states.map(({ count, characters }) => [count, characters]),
        listeners.map(() => [24, 12 * (size + 1)]),
      )
    }),
  )
})

const nth = <A>(all: ReadonlyArray<A>, index: number): A => all[index % all.length] as A

describe("a cluster that grows", () => {
  it.live("five nodes that start at once on an empty database divide it between them", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const nodes = yield* Effect.all(
        Array.from({ length: 5 }, () => startNode(url)),
        { concurrency: 5 },
      )
      yield* untilShared(nodes)
      const ids = Array.from({ length: 25 }, (_, index) => `f-${index}`)
      yield* Effect.forEach(
        ids,
        (id, index) =>
          Effect.flatMap((nodes[index % 5] as Node).engine.ensure(Counter, id, { count: 0 }), (one) => one.send(E.Add({ by: 1 }))),
        { concurrency: 25, discard: true },
      )
      const counts = yield* Effect.forEach(ids, (id, index) =>
        Effect.flatMap((nodes[(index + 1) % 5] as Node).engine.ensure(Counter, id, { count: -1 }), (one) => one.ask(E.HowMany())),
      )
      assert.deepStrictEqual(
        counts,
        ids.map(() => 1),
      )
    }),
  )

  it.live("two versions of a machine at once: the older node can send to all, and what the newer sends waits until the older is gone", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const [older, newer] = yield* Effect.all([startNode(url), startNode(url, registerNewer)], { concurrency: 2 })
      yield* untilShared([older, newer])
      const numbered = Array.from({ length: 300 }, (_, index) => `v-${index}`)
      const ids = [older, newer].flatMap(({ has }) => numbered.filter(has).slice(0, 6))
      assert.lengthOf(ids, 12)
      yield* Effect.forEach(ids, (id) => older.engine.start(Counter, id, { count: 0 }), { concurrency: 12, discard: true })
      const sendAll = Effect.forEach(
        ids,
        (id) =>
          Effect.flatMap(Effect.orDie(Effect.fromOption(older.engine.find({ machine: "counter", id }))), (one) =>
            one.send(E.Add({ by: 1 })),
          ),
        { concurrency: 12, discard: true },
      )
      yield* sendAll
      yield* sendAll
      // The older node cannot read the instances that the newer one has written, and reaches them.
      yield* Effect.forEach(
        ids,
        (id) => Effect.flatMap(older.engine.ensure(Counter, id, { count: -1 }), (one) => one.send(E.Add({ by: 0 }))),
        {
          concurrency: 12,
          discard: true,
        },
      )
      let answered = 0
      const asking = yield* Effect.forkChild(
        Effect.forEach(
          ids,
          (id) =>
            Effect.tap(
              Effect.flatMap(newer.engine.ensure(Newer, id, { count: -1 }), (one) => one.ask(E2.HowMany())),
              () => Effect.sync(() => answered++),
            ),
          { concurrency: 12 },
        ),
      )
      yield* Effect.repeat(Effect.sleep(20), { until: () => answered >= 6 })
      // A while, in which what waits is tried again.
      yield* Effect.sleep(200)
      assert.strictEqual(answered, 6)
      yield* older.stop
      assert.deepStrictEqual(
        yield* Fiber.join(asking),
        ids.map(() => "2 of counter"),
      )
    }),
  )
})

describe("a node of a cluster", () => {
  it.live("outlives clients that reset their connections after any request, with and without the token", () =>
    Effect.gen(function* () {
      const { port, engine } = yield* startNode(yield* freshDatabase)
      const problems: Array<unknown> = []
      const ended = (problem: unknown) => void problems.push(problem)
      process.on("uncaughtException", ended)
      yield* Effect.addFinalizer(() => Effect.sync(() => process.off("uncaughtException", ended)))
      const requests = [
        upgrading("/cluster"),
        upgrading("/cluster", "another token"),
        upgrading("/elsewhere", token),
        upgrading("/cluster", token),
        `${upgrading("/cluster", token)}\x81`,
        upgrading("/cluster/name", token),
        "what is this?\r\n\r\n",
        "CONNECT elsewhere:443 HTTP/1.1\r\nhost: elsewhere\r\n\r\n",
        "GET /cluster/name HTTP/1.1\r\nhost: 127",
        "POST /cluster/name HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 20\r\n\r\n{",
      ]
      for (const request of requests) yield* resetMany(port, request)
      yield* Effect.sleep("200 millis")
      assert.deepStrictEqual(problems, [])
      yield* Effect.flatMap(engine.ensure(Counter, "c", { count: 1 }), (counter) => counter.send(E.Add({ by: 1 })))
    }),
  )
})
