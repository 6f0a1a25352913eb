/** What a cluster refuses, and how it says so: each error has its next step, and the nodes that run keep what they have. */
import { createServer } from "node:http"
import { connect, createServer as createTcpServer, type Server } from "node:net"
import { Engine } from "@detent/durable"
import * as PgClient from "@detent/durable/PgClient"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { Event, Machine, State } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { freePort } from "../../store/test/support/freePort.ts"
import { freshDatabase } from "../../store/test/support/Postgres.ts"
import { Cluster, ClusterMisconfigured, type ClusterOptions } from "../src/index.ts"
import { layerNode, token } from "./support/nodes.ts"

const S = State({ Counting: { count: Schema.Finite } })
const E = Event({ Add: { by: Schema.Finite } })
const Counter = Machine.make({ name: "counter", state: S, event: E, initial: S.Counting({ count: 0 }) }).on(
  S.Counting,
  E.Add,
  S.Counting,
  ({ state, event }) => S.Counting({ count: state.count + event.by }),
)

const start = (url: string, address: string, options: Partial<ClusterOptions> = {}) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(layerNode(url, address, options))
    const engine = Context.get(context, Engine)
    const cluster = Context.get(context, Cluster)
    yield* engine.register(Counter)
    return { engine, cluster }
  })

const untilAll = (cluster: Context.Service.Shape<typeof Cluster>) =>
  Effect.repeat(Effect.sleep(20), { until: () => cluster.shards() === 300 })

/** Why a node does not start. */
const refusalOf = (node: Effect.Effect<unknown, unknown, never>) =>
  Effect.map(Effect.exit(node), (exit) => {
    const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
    assert.instanceOf(error, ClusterMisconfigured)
    return (error as ClusterMisconfigured).message
  })

const localAddress = Effect.map(freePort, (port) => `127.0.0.1:${port}`)

const execute = (url: string, statement: string) =>
  Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(statement)).pipe(
    Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })),
  )

describe("a cluster that is misconfigured", () => {
  it.live("a node with another token than the others does not start, and they keep what they have", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const address = yield* localAddress
      const { engine, cluster } = yield* start(url, address)
      yield* untilAll(cluster)
      const other = Effect.scoped(start(url, yield* localAddress, { token: "another secret of the tests" }))
      assert.strictEqual(
        yield* refusalOf(other),
        `node ${address} has a different token than this one; give all nodes the same secret (DETENT_CLUSTER_TOKEN); to change it, stop all nodes first`,
      )
      assert.strictEqual(cluster.shards(), 300)
      yield* Effect.flatMap(engine.ensure(Counter, "c"), (counter) => counter.send(E.Add({ by: 1 })))
      const stranger = yield* Effect.promise(() => fetch(`http://${address}/cluster/name`, { headers: { authorization: "Bearer no" } }))
      assert.strictEqual(stranger.status, 401)
    }),
  )

  it.live("of two nodes with different tokens that start at the same time one does not start", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const addresses = [yield* localAddress, yield* localAddress]
      const tokens = ["a first secret of the tests", "a second secret of the tests"]
      const starting = addresses.map((address, index) => Effect.exit(start(url, address, { token: tokens[index] as string })))
      const exits = yield* Effect.all(starting, { concurrency: 2 })
      const refused = exits.findIndex(Exit.isFailure)
      const [started] = exits.filter(Exit.isSuccess)
      assert.strictEqual(
        yield* refusalOf(exits[refused] as Exit.Exit<never, unknown>),
        `node ${addresses[1 - refused]} has a different token than this one; give all nodes the same secret (DETENT_CLUSTER_TOKEN); to change it, stop all nodes first`,
      )
      assert.deepStrictEqual(
        (yield* started?.value.cluster.nodes ?? Effect.succeed([])).map(({ address }) => address),
        [addresses[1 - refused]],
      )
    }),
  )

  it.live("a second process under the address of a node does not start, and the node keeps what it has", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const address = yield* localAddress
      const { engine, cluster } = yield* start(url, address)
      yield* untilAll(cluster)
      const elsewhere = Effect.scoped(start(url, address, { listen: yield* localAddress }))
      assert.strictEqual(
        yield* refusalOf(elsewhere),
        `another process answers at ${address}, the address of this node; give each node an address of its own, or stop the other process first`,
      )
      // On the same host the port is taken.
      assert.strictEqual(
        yield* refusalOf(Effect.scoped(start(url, address))),
        `another process answers at ${address}, the address of this node; give each node an address of its own, or stop the other process first`,
      )
      assert.include(
        yield* refusalOf(Effect.scoped(start(url, yield* localAddress, { listen: address }))),
        `another process listens on ${address}, where this node listens for other nodes`,
      )
      assert.strictEqual(cluster.shards(), 300)
      yield* Effect.flatMap(engine.ensure(Counter, "c"), (counter) => counter.send(E.Add({ by: 1 })))
    }),
  )

  it.live("a node that divides the instances into another number of shards than the others does not start", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const address = yield* localAddress
      const { cluster } = yield* start(url, address)
      yield* untilAll(cluster)
      yield* execute(url, "update detent.cluster_nodes set shard_count = 512")
      assert.strictEqual(
        yield* refusalOf(Effect.scoped(start(url, yield* localAddress))),
        `node ${address} divides the instances into 512 shards, and this one into 300; start the version of Detent that the other nodes run, or stop all nodes before you start another`,
      )
    }),
  )

  it.live("a store on SQLite is refused", () =>
    Effect.gen(function* () {
      const address = yield* localAddress
      const layer = Engine.layer().pipe(
        Layer.provideMerge(Cluster.layer({ address, token })),
        Layer.provide(SqliteStore.layer({ filename: ":memory:" })),
      )
      assert.strictEqual(
        yield* refusalOf(Effect.scoped(Layer.build(layer))),
        "the store of the cluster is not on PostgreSQL, and a SQLite file belongs to one machine; use PostgresStore.layer, or leave the cluster out",
      )
    }),
  )

  it.live("a missing or short token, and an address that no node can have, are refused before anything is opened", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const refusal = (address: string, options: Partial<ClusterOptions> = {}) => refusalOf(Effect.scoped(start(url, address, options)))
      const secret = "set DETENT_CLUSTER_TOKEN to the same secret on all nodes, for instance one from: openssl rand -hex 32"
      assert.strictEqual(yield* refusal("127.0.0.1:7700", { token: "" }), `the cluster has no token; ${secret}`)
      assert.strictEqual(
        yield* refusal("127.0.0.1:7700", { token: "short" }),
        `the token of the cluster has 5 characters, and at least 16 are needed; ${secret}`,
      )
      for (const address of ["127.0.0.1", "", "127.0.0.1:0", "http://127.0.0.1:7700", "::1:7700", "127.0.0.1:7700/"])
        assert.include(yield* refusal(address), "give host and port, for instance 10.0.0.7:7700 or [fd00::7]:7700, without http://")
      for (const address of ["0.0.0.0:7700", "[::]:7700"]) assert.include(yield* refusal(address), `${address} as the one it listens on`)
      assert.include(yield* refusal("192.0.2.1:7700"), "this machine does not have that address; give the address it listens on as well")
    }),
  )

  it.live("a node that no other can reach takes no instances and says why, until it is reached", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const { cluster } = yield* start(url, yield* localAddress)
      yield* untilAll(cluster)
      const [address, listen] = yield* Effect.all([localAddress, localAddress])
      const lines: Array<string> = []
      const second = yield* Effect.provide(start(url, address, { listen }), keeping(lines))
      yield* Effect.sleep("2 seconds")
      assert.strictEqual(second.cluster.shards(), 0)
      assert.isFalse(second.cluster.isReady())
      assert.strictEqual(cluster.shards(), 300)
      assert.include(lines.join("\n"), `this node takes no instances: no process answers at ${address}`)
      assert.include(lines.join("\n"), "--cluster-listen")
      yield* Effect.flatMap(second.engine.ensure(Counter, "c"), (counter) => counter.send(E.Add({ by: 1 })))
      yield* forward(address, listen)
      yield* Effect.repeat(Effect.sleep(20), { until: () => second.cluster.shards() === 150 && cluster.shards() === 150 })
    }),
  )

  it.live("a process that works on the database and is no node is warned of, once", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const lines: Array<string> = []
      yield* Effect.provide(start(url, yield* localAddress, { lease: "2 seconds" }), keeping(lines))
      const plain = Layer.fresh(Layer.provide(Engine.layer({ nodeId: "alone", lease: "2 seconds" }), PostgresStore.layer({ url })))
      const engine = Context.get(yield* Layer.build(plain), Engine)
      // A process without state work has no lease, and doubles nothing.
      const Working = Machine.make({ name: "working", state: S, event: E, initial: S.Counting({ count: 0 }) }).spawn(
        S.Counting,
        () => Effect.never,
      )
      yield* engine.register(Working)
      yield* engine.start(Working, "w")
      const warnings = () => lines.filter((line) => line.includes("is no node of it"))
      yield* Effect.repeat(Effect.sleep(50), { until: () => warnings().length > 0 })
      yield* Effect.sleep("5 seconds")
      assert.lengthOf(warnings(), 1)
      assert.include(warnings()[0], "alone works on the database of this cluster")
      assert.include(warnings()[0], "start it again with --cluster HOST:PORT")
    }),
  )
})

describe("the log of a node", () => {
  it.live("has a line at its start, when it takes over from a dead node, and when it has lost its lease", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const address = yield* localAddress
      const lines: Array<string> = []
      const { cluster } = yield* Effect.provide(start(url, address, { lease: "2 seconds" }), keeping(lines))
      yield* untilAll(cluster)
      assert.deepStrictEqual(lines, [`this process is a node of a cluster: other nodes reach it at ${address}`])
      lines.length = 0
      yield* pretend(url, "127.0.0.1:1")
      yield* Effect.repeat(Effect.sleep(20), { until: () => cluster.shards() === 0 })
      yield* execute(url, `update detent.leases set expires_at = 0 where name = '${peer.lease}'`)
      yield* untilAll(cluster)
      assert.match(lines.join("\n"), new RegExp(`the node of the cluster at ${address} has lost its lease`))
      assert.match(lines.join("\n"), new RegExp(`the node of the cluster at ${address} took over the shards of peer, which no longer runs`))
    }),
  )
})

describe("peers that do not behave", () => {
  const garbage: ReadonlyArray<readonly [string, Parameters<typeof createServer>[1], string]> = [
    ["text", (_, response) => response.end("what?"), "it did not accept the connection (HTTP status 200)"],
    ["nothing at all", () => undefined, "it sent nothing for 2000 ms"],
    ["that the token is wrong", (_, response) => response.writeHead(401).end(), "its token differs from that of this node"],
  ]
  for (const [what, answer, reason] of garbage)
    it.live(`a node that answers ${what}: the caller gets a clear error and nothing is stored; the next owner takes the event`, () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const port = yield* freePort
        const server = createServer({}, answer)
        yield* Effect.acquireRelease(
          Effect.callback<void>((resume) => void server.listen(port, "127.0.0.1", () => resume(Effect.void))),
          () =>
            Effect.sync(() => {
              server.closeAllConnections()
              server.close()
            }),
        )
        const { engine, cluster } = yield* start(url, yield* localAddress, { patience: "2 seconds", lease: "2 seconds" })
        yield* untilAll(cluster)
        yield* engine.start(Counter, "c")
        yield* pretend(url, `127.0.0.1:${port}`)
        yield* Effect.repeat(Effect.sleep(20), { until: () => cluster.shards() === 0 })
        const counter = yield* engine.ensure(Counter, "c")
        const error = yield* Effect.flip(counter.send(E.Add({ by: 1 }), { id: "once" }))
        assert.strictEqual(error._tag, "PersistenceFailed")
        assert.include(error.message, `127.0.0.1:${port}`)
        assert.include(error.message, reason)
        assert.include(error.message, "send it again under the same id")
        yield* execute(url, `update detent.leases set expires_at = 0 where name = '${peer.lease}'`)
        yield* untilAll(cluster)
        yield* counter.send(E.Add({ by: 1 }), { id: "once" })
        assert.deepStrictEqual(yield* counter.state, S.Counting({ count: 1 }))
      }),
    )

  it.live("a caller that sends garbage under the token is refused, and the node continues", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const address = yield* localAddress
      const { engine, cluster } = yield* start(url, address)
      yield* untilAll(cluster)
      const bodies = [
        "",
        "{",
        "[]",
        '{"call":1,"parcels":7}',
        '{"call":1,"parcels":[{"machine":"counter","id":"c","requests":[{"_tag":"Sing"}]}]}',
      ]
      const heard = yield* Effect.promise(() => Promise.all(bodies.map((body) => sayTo(address, body))))
      const [noJson, noCall] = ["a call was expected, and the message is not JSON", "a call was expected, and the message is other JSON"]
      assert.deepStrictEqual(heard, [noJson, noJson, noCall, noCall, noCall])
      const counter = yield* engine.ensure(Counter, "c")
      yield* counter.send(E.Add({ by: 1 }))
      assert.strictEqual(cluster.shards(), 300)
      const second = yield* start(url, yield* localAddress)
      yield* Effect.repeat(Effect.sleep(20), {
        until: () => second.cluster.shards() > 0 && cluster.shards() + second.cluster.shards() === 300,
      })
      for (let index = 0; index < 10; index++)
        yield* Effect.flatMap(second.engine.ensure(Counter, `d-${index}`), (one) => one.send(E.Add({ by: 1 })))
    }),
  )
})

/** Keeps what is logged. */
const keeping = (lines: Array<string>) => Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])

/** Passes connections to one address on to another. */
const forward = (from: string, to: string) =>
  Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const [host, port] = to.split(":")
      const passing = createTcpServer((socket) => {
        const other = connect({ host, port: Number(port) })
        for (const one of [socket, other]) one.on("error", () => undefined)
        socket.pipe(other).pipe(socket)
      })
      passing.listen(Number(from.split(":")[1]), "127.0.0.1", () => resume(Effect.succeed(passing)))
    }),
    (passing) => Effect.sync(() => passing.close()),
  )

/** Opens a connection with the token and says something on it. Returns why the node closes the connection. */
const sayTo = (address: string, body: string): Promise<string> =>
  new Promise((resolve) => {
    const socket = new WebSocket(`ws://${address}/cluster`, { headers: { authorization: `Bearer ${token}` } } as never)
    socket.addEventListener("error", () => resolve("refused"))
    socket.addEventListener("open", () => socket.send(body))
    socket.addEventListener("close", ({ reason }) => resolve(reason))
  })

const peer = { lease: "workflow/node/cluster/peer", node: "cluster/peer/1" }

/** Makes the tables say that a node at this address has all shards. */
const pretend = (url: string, address: string) =>
  execute(
    url,
    `do $$ begin
      insert into detent.leases (name, owner, token, expires_at) values ('${peer.lease}', '${peer.node}', 1, 9000000000000);
      delete from detent.cluster_shards;
      insert into detent.cluster_shards (shard, address, node, lease, token)
        select s, '${address}', '${peer.node}', '${peer.lease}', 1 from generate_series(0, 299) s;
      update detent.leases set token = token + 1000 where name like 'workflow/node/cluster/127.0.0.1:%';
    end $$`,
  )
