/**
 * Many nodes on one PostgreSQL, each instance on exactly one of them. A program changes one layer:
 *
 *     Engine.layer().pipe(
 *       Layer.provide(Cluster.layer({ address: "10.0.0.7:7700", token })),
 *       Layer.provide(PostgresStore.layer({ url })),
 *     )
 *
 * Instances belong to shards, and shards to nodes. Effect's cluster decides which node should have which shard, from the nodes
 * that are alive; this layer acquires and releases them, forwards requests to the nodes that have the instances, and proves by the
 * fence of the node's lease, in every commit, that the node still has the instance.
 *
 *     acquired    its instances are opened here when they have something to do, and their timers fire here
 *     leaving     requests for its instances wait; accepted events are stored, their work ends
 *     released    another node may acquire it
 *
 * A node that does not extend its lease loses all shards together, and stops its work before anything else.
 */

import { createHash, randomUUID, timingSafeEqual } from "node:crypto"
import { createServer } from "node:http"
import { Leases, Placement, type PlacementService } from "@detent/durable"
import { defaultLease, makeShardOf, nodeLeasePrefix, type Routing } from "@detent/durable/internal"
import { explainWithFrames } from "@detent/machine/internal"
import { forkLoop } from "@detent/store"
import { listenerOf } from "@detent/store/internal"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeWS from "@effect/platform-node/NodeWS"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as MessageStorage from "effect/cluster/MessageStorage"
import { RunnerAddress } from "effect/cluster/RunnerAddress"
import * as RunnerHealth from "effect/cluster/RunnerHealth"
import { RunnerStorage } from "effect/cluster/RunnerStorage"
import * as Runners from "effect/cluster/Runners"
import * as Sharding from "effect/cluster/Sharding"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpRouter from "effect/http/HttpRouter"
import type { ServeError } from "effect/http/HttpServerError"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import * as Socket from "effect/socket/Socket"
import type { MigrationError } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import {
  type ClusterTables,
  findClusterTables,
  makeClusterTables,
  type NodeRow,
  type NodeSettings,
  type SharedSettings,
  shardCount,
} from "./ClusterTables.ts"
import { Delivery, defaultOutgoing } from "./Delivery.ts"
import { DeliveryServer } from "./DeliveryServer.ts"
import { Peers } from "./Peers.ts"
import { callIn, NoMessage, type Progress, path, progressMessage, requestCharacters } from "./Protocol.ts"
import { Shards } from "./Shards.ts"

export interface ClusterOptions {
  /** Host and port at which other nodes reach this one: `10.0.0.7:7700`. */
  readonly address: string
  /** Host and port on which it listens, if they differ from `address`. Default: `address`. */
  readonly listen?: string
  /** The secret that the nodes of a cluster share. At least 16 characters. */
  readonly token: string | Redacted.Redacted
  /** How long a node keeps its shards without a heartbeat. Default: 10 seconds. */
  readonly lease?: Duration.Input
  /** How long a request waits for a node that owns its instance before it fails. Default: three leases. */
  readonly patience?: Duration.Input
  /** The schema of the tables, the same as the store's. Default: `detent`. */
  readonly schema?: string
  /** Bounds of the requests of this node that another node has not answered. The next sender gets `Overloaded`. */
  readonly outgoing?: {
    /** Requests to one node. Default: 100,000. */
    readonly requests?: number
    /** Characters of their events and states as JSON. Default: 128,000,000. */
    readonly characters?: number
  }
}

/** A cluster cannot be made with these options. */
export class ClusterMisconfigured extends Schema.TaggedError<ClusterMisconfigured>()("ClusterMisconfigured", {
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    return `${this.problem}; ${this.nextStep}`
  }
}

/** A node of the cluster as `detent cluster status` shows it. */
export interface ClusterNode {
  readonly address: string
  /** Its name, new with every start. The rows of its instances contain it. */
  readonly node: string
  readonly startedAt: number
  readonly shards: number
  /** Running instances and executions whose work it has. */
  readonly working: number
  /** Milliseconds until its lease ends, unless it extends it. */
  readonly leaseMillis: number
  /** How long the oldest overdue timer of its instances has been due. 0: none is late. */
  readonly lagMillis: number
  /** It gives its shards to other nodes and takes no new ones. */
  readonly draining: boolean
}

export interface ClusterService {
  readonly address: string
  /** Nodes that are alive, by address. */
  readonly nodes: Effect.Effect<ReadonlyArray<ClusterNode>, SqlError>
  /** Drains a node, so that it can be stopped without a pause. Returns false if the node does not exist. */
  readonly drain: (node: string) => Effect.Effect<boolean, SqlError>
  /** Whether this node takes part: it holds its lease and is not draining. */
  readonly isReady: () => boolean
  /** How many shards this node has. */
  readonly shards: () => number
}

export type ClusterError = ClusterMisconfigured | MigrationError | SqlError | ServeError

export class Cluster extends Context.Service<Cluster, ClusterService>()("@detent/cluster/Cluster") {
  /** Needs a store on PostgreSQL. */
  static readonly layer = (options: ClusterOptions): Layer.Layer<Cluster | Placement, ClusterError, Leases | SqlClient> =>
    Layer.effectContext(makeCluster(options))
}

const makeCluster = (options: ClusterOptions) =>
  Effect.gen(function* () {
    const { address, listen, token, lease, patienceMillis, schema, outgoing } = yield* checked(options)
    const leaseMillis = Duration.toMillis(lease)
    const context = yield* Effect.context<never>()
    const run = (effect: Effect.Effect<void>) => void Effect.runForkWith(context)(effect)
    const clock = yield* Clock.Clock
    const tables = yield* tablesOn(schema)
    const tokenMark = markOf(token)
    const settings: SharedSettings = { shardCount, tokenMark }
    yield* agreesWithOthers(tables, address.text, settings)
    const server = new DeliveryServer(run)
    const name = randomUUID()
    // Before it acquires the lease of its address, which would end any other process at that address.
    yield* Effect.mapError(listening(listen, token, server, leaseMillis, name), notListening(listen, address))
    const asked = answering(address, token, name)
    const answered = yield* asked
    if (answered === "another process") return yield* taken(address)
    const base = yield* Placement.make({ nodeId: `${nodePrefix}${address.text}`, lease })
    base.onLost(() => run(Effect.logWarning(lostLease(address))))
    base.onRegained(() => run(Effect.logInfo(`the node of the cluster at ${address.text} has a lease again, and takes part again`)))
    yield* forkLoop("processes outside the cluster", yield* warnOfOutsiders(lease))
    const owners = yield* makeOwners(tables)
    const shardOf = makeShardOf(shardCount)
    const peers = yield* makePeers(token, run, leaseMillis)
    const delivery = new Delivery({
      ownerOf: (key) => {
        if (shards.has(key)) return address.text
        const owner = owners.of(shardOf(key))
        // This node is giving the shard up.
        return owner === address.text ? undefined : owner
      },
      refreshOwners: owners.refresh,
      call: (to, parcels, listener) => {
        if (to !== address.text) return peers.call(to, parcels, listener)
        const conversation = server.converse((progress) => {
          for (const [, answers] of progress) listener.progress(answers)
        })
        conversation.take(0, parcels)
      },
      run,
      clock,
      patienceMillis,
      limits: outgoing,
    })
    owners.onChanged(() => delivery.ownersChanged())
    // Nodes that start at the same time do not see each other before they register.
    const admission = Deferred.makeUnsafe<void, ClusterMisconfigured>()
    let refusal: string | undefined
    const shards: Shards = new Shards({
      address: address.text,
      placement: base,
      tables,
      shardOf,
      tokenMark,
      registered: (different) => {
        const refused = different === undefined ? undefined : disagreement(different, settings)
        const isFirst = Deferred.doneUnsafe(admission, refused === undefined ? Effect.void : Effect.fail(refused))
        // It registers again after it lost its lease, and tries once a second.
        if (!isFirst && refused !== undefined && refused.message !== refusal) run(Effect.logError(refused.message))
        refusal = refused?.message
      },
      receivers: server.receivers,
      run,
      leaveTimeout: lease,
      changed: () => delivery.ownersChanged(),
    })
    yield* Effect.logInfo(`this process is a node of a cluster: other nodes reach it at ${address.text}`)
    const joining = Effect.andThen(sharding(address, shards, lease), Deferred.await(admission))
    const joiningLater = Effect.andThen(
      untilReached(address, asked),
      Effect.catch(joining, ({ message }) => Effect.logError(message)),
    )
    yield* answered === "this node" ? joining : Effect.forkScoped(joiningLater)
    yield* Effect.addFinalizer(() => Effect.sync(() => delivery.close()))

    let isDraining = false
    /** Waits until other nodes have all shards. If there is no other node, or it takes too long, the lease ends. */
    const drainSelf = Effect.suspend(() => {
      if (isDraining) return Effect.void
      isDraining = true
      const empty = Effect.repeat(Effect.sleep(20), { until: () => shards.isEmpty && delivery.size === 0 })
      const drained = Effect.andThen(tables.drain(base.node(), true), empty)
      return Effect.ignore(Effect.timeoutOption(drained, lease))
    })
    const routing: Routing = {
      isLocal: (key) => shards.has(key),
      isAwaited: (key) => delivery.has(key),
      request: (key, request) => delivery.request(key, request),
      requestCharacters,
      shards: () => shards.filter,
      serve: (receiver) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => server.add(receiver)),
            (remove) => Effect.andThen(drainSelf, Effect.sync(remove)),
          ),
        ),
    }
    const placement: PlacementService = { ...base, routing }
    const service: ClusterService = {
      address: address.text,
      nodes: Effect.map(tables.nodes, (nodes) => nodes.map(nodeOf)),
      drain: (node) => tables.drain(node, true),
      isReady: () => !isDraining && base.fence() !== undefined && shards.size > 0,
      shards: () => shards.size,
    }
    return Context.make(Placement, placement).pipe(Context.add(Cluster, service))
  })

/** The nodes of the cluster on a database, read from outside the cluster; empty if there is no cluster. */
export const nodesOf = (schema = "detent"): Effect.Effect<ReadonlyArray<ClusterNode>, SqlError, SqlClient> =>
  Effect.flatMap(
    findClusterTables(schema),
    Option.match({
      onNone: () => Effect.succeed([]),
      onSome: (tables) => Effect.map(tables.nodes, (nodes) => nodes.map(nodeOf)),
    }),
  )

/** Drains a node, given by its address or its name. Returns false if the node does not exist. */
export const drainNode = (node: string, schema = "detent"): Effect.Effect<boolean, SqlError, SqlClient> =>
  Effect.flatMap(
    findClusterTables(schema),
    Option.match({ onNone: () => Effect.succeed(false), onSome: (tables) => tables.drain(node, true) }),
  )

const nodeOf = ({ address, node, startedAt, shards, working, leaseMillis, lagMillis, draining }: NodeRow): ClusterNode => ({
  address,
  node,
  startedAt,
  shards,
  working,
  leaseMillis,
  lagMillis,
  draining,
})

interface Address {
  readonly host: string
  readonly port: number
  readonly text: string
}

const shortestToken = 16

/** The tables of the cluster, which only PostgreSQL can have. */
const tablesOn = (schema: string): Effect.Effect<ClusterTables, ClusterMisconfigured | MigrationError | SqlError, SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    if (sql.onDialectOrElse({ pg: () => true, orElse: () => false })) return yield* makeClusterTables(schema)
    return yield* new ClusterMisconfigured({
      problem: "the store of the cluster is not on PostgreSQL, and a SQLite file belongs to one machine",
      nextStep: "use PostgresStore.layer, or leave the cluster out",
    })
  })

/** A short digest that shows whether two nodes have the same token, without helping to guess it. */
const markOf = (token: Redacted.Redacted): string =>
  digestOf(`detent cluster ${Redacted.value(token)}`)
    .toString("hex")
    .slice(0, 8)

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Why a node cannot take part beside another one, if it cannot: the shards of this node would be unreachable. */
const disagreement = (other: NodeSettings, own: SharedSettings): ClusterMisconfigured | undefined => {
  if (other.shardCount !== own.shardCount) {
    return new ClusterMisconfigured({
      problem: `node ${other.address} divides the instances into ${other.shardCount} shards, and this one into ${own.shardCount}`,
      nextStep: "start the version of Detent that the other nodes run, or stop all nodes before you start another",
    })
  }
  if (other.tokenMark !== own.tokenMark) {
    return new ClusterMisconfigured({
      problem: `node ${other.address} has a different token than this one`,
      nextStep: "give all nodes the same secret (DETENT_CLUSTER_TOKEN); to change it, stop all nodes first",
    })
  }
  return undefined
}

/** Fails if the settings of another node differ. */
const agreesWithOthers = (
  tables: ClusterTables,
  address: string,
  own: SharedSettings,
): Effect.Effect<void, ClusterMisconfigured | SqlError> =>
  Effect.flatMap(tables.nodes, (nodes) => {
    const problems = nodes.filter((node) => node.address !== address).flatMap((node) => disagreement(node, own) ?? [])
    return problems[0] === undefined ? Effect.void : Effect.fail(problems[0])
  })

/** How long a node waits for an answer at its own address. */
const ownAnswer = "2 seconds"

/** How long a node waits before it asks at its own address again. */
const askedAgain = "1 second"

/** A node that does not reach itself warns once in this many attempts. */
const attemptsPerWarning = 10

type Answering = "this node" | "another process" | "no process"

/** Asks at the address of this node which process answers there. */
const answering = ({ text: address }: Address, token: Redacted.Redacted, name: string): Effect.Effect<Answering> =>
  Effect.gen(function* () {
    const asked = HttpClient.get(`http://${address}${namePath}`, { headers: { authorization: `Bearer ${Redacted.value(token)}` } })
    const answered = Effect.timeout(
      Effect.flatMap(asked, ({ text }) => text),
      ownAnswer,
    )
    const answer = yield* Effect.result(Effect.provide(answered, FetchHttpClient.layer))
    if (answer._tag === "Failure") return "no process"
    return answer.success === name ? "this node" : "another process"
  })

/** Another live process answers at the address of this node: it would lose its shards to this one. */
const taken = ({ text: address }: Address): ClusterMisconfigured =>
  new ClusterMisconfigured({
    problem: `another process answers at ${address}, the address of this node`,
    nextStep: "give each node an address of its own, or stop the other process first",
  })

/** Ends when this node answers at its own address. Until then it takes no shards: other nodes would not reach their instances. */
const untilReached = ({ text: address }: Address, asked: Effect.Effect<Answering>): Effect.Effect<void> =>
  Effect.gen(function* () {
    let answered: Answering = "no process"
    for (let attempt = 0; ; attempt++) {
      if (attempt % attemptsPerWarning === 0) {
        yield* Effect.logWarning(
          `this node takes no instances: ${answered} answers at ${address}, the address at which other nodes reach it; ` +
            "correct the address (--cluster) or where it listens (--cluster-listen), or open the port in the firewall",
        )
      }
      yield* Effect.sleep(askedAgain)
      answered = yield* asked
      if (answered === "this node")
        return yield* Effect.logInfo(`this node answers at ${address} now, and takes its share of the instances`)
    }
  })

/** Why a node does not listen, with the next step where it is known. */
const notListening =
  (listen: Address, address: Address) =>
  (error: ServeError): ClusterMisconfigured | ServeError => {
    const { cause } = error
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined
    if (code === "EADDRINUSE") {
      if (listen.text === address.text) return taken(address)
      return new ClusterMisconfigured({
        problem: `another process listens on ${listen.text}, where this node listens for other nodes`,
        nextStep: "listen on another port (--cluster-listen), or stop the other process first",
      })
    }
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
      return new ClusterMisconfigured({
        problem: `this node cannot listen on ${listen.text}: this machine does not have that address`,
        nextStep: `give the address it listens on as well (--cluster-listen), for instance 0.0.0.0:${listen.port}`,
      })
    }
    return error
  }

const lostLease = ({ text: address }: Address): string =>
  `the node of the cluster at ${address} has lost its lease, and has stopped the work of its instances: it was paused, or PostgreSQL did not ` +
  "answer in time; it takes part again when it has a lease"

/** The prefix of the node ids of a cluster. */
const nodePrefix = "cluster/"

/** How many leases are read to find processes outside the cluster. */
const readLeases = 1000

/**
 * Returns the turn that looks for processes that work on the database and are no nodes. Each is warned of once. A lease that was extended since
 * the last check shows that its process is alive: the lease of a process that was killed ends without that.
 */
const warnOfOutsiders = (lease: Duration.Duration) =>
  Effect.map(Leases, (leases) => {
    let before = new Map<string, { readonly expiresAt: number; readonly isWarnedOf: boolean }>()
    const check = Effect.gen(function* () {
      const held = yield* leases.held(nodeLeasePrefix, readLeases)
      const now: typeof before = new Map()
      for (const { name, owner, expiresAt } of held) {
        if (name.startsWith(`${nodeLeasePrefix}${nodePrefix}`)) continue
        const last = before.get(owner)
        const isExtended = last !== undefined && last.expiresAt < expiresAt
        if (isExtended && !last.isWarnedOf) yield* Effect.logWarning(outside(name.slice(nodeLeasePrefix.length)))
        now.set(owner, { expiresAt, isWarnedOf: isExtended || last?.isWarnedOf === true })
      }
      before = now
    })
    return (works: Effect.Effect<void>) => Effect.andThen(Effect.andThen(check, works), Effect.sleep(lease))
  })

const outside = (node: string): string =>
  `process ${node} works on the database of this cluster and is no node of it, so it may run state work that a node runs too; ` +
  "stop it if it is a server or a worker, and start it again with --cluster HOST:PORT; a command that ends by itself may stay"

const checked = (options: ClusterOptions) =>
  Effect.gen(function* () {
    const token = Redacted.isRedacted(options.token) ? options.token : Redacted.make(options.token)
    const { length } = Redacted.value(token)
    if (length < shortestToken) {
      return yield* new ClusterMisconfigured({
        problem:
          length === 0
            ? "the cluster has no token"
            : `the token of the cluster has ${length} characters, and at least ${shortestToken} are needed`,
        nextStep: "set DETENT_CLUSTER_TOKEN to the same secret on all nodes, for instance one from: openssl rand -hex 32",
      })
    }
    const lease = Duration.fromInputUnsafe(options.lease ?? defaultLease)
    const address = yield* addressOf(options.address)
    if (wildcards.has(address.host)) {
      return yield* new ClusterMisconfigured({
        problem: `other nodes cannot reach this one at ${address.text}, which stands for all addresses of a machine`,
        nextStep: `give the address that they reach, for instance 10.0.0.7:${address.port}, and ${address.text} as the one it listens on (--cluster-listen)`,
      })
    }
    return {
      token,
      lease,
      address,
      listen: options.listen === undefined ? address : yield* addressOf(options.listen),
      patienceMillis: Duration.toMillis(Duration.fromInputUnsafe(options.patience ?? Duration.times(lease, 3))),
      schema: options.schema ?? "detent",
      outgoing: { ...defaultOutgoing, ...options.outgoing },
    }
  })

/** Addresses to listen on that no other node can call. */
const wildcards: ReadonlySet<string> = new Set(["0.0.0.0", "::", "*"])

/** A host name, an IPv4 address, or an IPv6 address in brackets; and a port. */
const addressPattern = /^(?:\[([0-9a-fA-F:.%]+)\]|([^\s:/@[\]]+)):(\d+)$/

const addressOf = (text: string): Effect.Effect<Address, ClusterMisconfigured> => {
  const [, bracketed, plain, digits] = addressPattern.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  return host !== undefined && port > 0 && port < 65536
    ? Effect.succeed({ host, port, text })
    : Effect.fail(
        new ClusterMisconfigured({
          problem: `${text === "" ? "an empty text" : text} is not an address of a node`,
          nextStep: "give host and port, for instance 10.0.0.7:7700 or [fd00::7]:7700, without http://",
        }),
      )
}

/** The owner of each shard, from the tables. Read twice a second, and when a node announces a change. */
const makeOwners = (tables: ClusterTables) =>
  Effect.gen(function* () {
    let owners: ReadonlyMap<number, string> = new Map()
    let changed = () => {}
    const wanted = Latch.makeUnsafe(true)
    const refresh = () => void wanted.openUnsafe()
    const { subscribe } = yield* listenerOf(yield* SqlClient)
    if (subscribe !== undefined) {
      const unsubscribe = subscribe(tables.channel, { heard: refresh, connected: refresh })
      yield* Effect.addFinalizer(() => Effect.sync(unsubscribe))
    }
    const read = Effect.gen(function* () {
      yield* Effect.timeoutOption(wanted.await, 500)
      wanted.closeUnsafe()
      const rows = yield* tables.owners
      owners = new Map(rows.map(({ shard, address }) => [shard, address]))
      changed()
      // Limits reads: many requests that find no node share one.
      yield* Effect.sleep(20)
    })
    yield* forkLoop("the owners of shards", read)
    return {
      of: (shard: number) => owners.get(shard),
      refresh,
      onChanged: (listener: () => void) => {
        changed = listener
      },
    }
  })

const makePeers = (token: Redacted.Redacted, run: (effect: Effect.Effect<void>) => void, silenceMillis: number) =>
  Effect.gen(function* () {
    const make = yield* Socket.WebSocketConstructor
    const withToken =
      (refused: (status: number) => void): typeof make =>
      (url) => {
        const socket = make(url, { headers: { authorization: `Bearer ${Redacted.value(token)}` } })
        if (socket instanceof NodeWS.WebSocket) {
          socket.on("unexpected-response", (_, { statusCode = 0 }) => {
            refused(statusCode)
            socket.terminate()
          })
        }
        // A connection that is closed before it is open emits an error after its last listener is removed, which would end the process.
        socket.addEventListener("error", () => undefined)
        return socket
      }
    return new Peers({
      open: (url, refused) => Effect.provideService(Socket.makeWebSocket(url), Socket.WebSocketConstructor, withToken(refused)),
      run,
      scope: yield* Effect.scope,
      clock: yield* Clock.Clock,
      silenceMillis,
    })
  }).pipe(Effect.provide(NodeWS.layerWebSocketConstructor))

/** The path that returns the name of a node. */
const namePath = `${path}/name`

/** Serves other nodes that have the token. `name` is the name of this process, by which it recognises itself. */
const listening = ({ host, port }: Address, token: Redacted.Redacted, server: DeliveryServer, leaseMillis: number, name: string) => {
  const expected = digestOf(`Bearer ${Redacted.value(token)}`)
  const guard = HttpRouter.middleware(
    (app) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
        timingSafeEqual(digestOf(headers["authorization"] ?? ""), expected)
          ? app
          : Effect.succeed(HttpServerResponse.text("the token of the cluster is missing or wrong", { status: 401 })),
      ),
    { global: true },
  )
  const calls = HttpRouter.add("GET", path, conversing(server, leaseMillis / 3))
  const naming = HttpRouter.add("GET", namePath, HttpServerResponse.text(name))
  const guarded = Layer.merge(calls, naming).pipe(Layer.provide(guard))
  const http = createServer()
  /** Emitted while it listens, such as when no file descriptor is free for a connection. Open connections remain. */
  const logErrors = Effect.map(Effect.context<never>(), (context) => {
    http.on("error", (cause) =>
      Effect.runForkWith(context)(Effect.logError(`this node could not accept a connection: ${explainWithFrames(cause)}`)),
    )
  })
  return HttpRouter.serve(guarded, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(NodeHttpServer.layer(() => http, { host, port, disablePreemptiveShutdown: true })),
    Layer.build,
    Effect.andThen(logErrors),
  )
}

/** Receives the calls of another node while its connection lasts. While the other node waits for answers, this node sends heartbeats. */
const conversing = (server: DeliveryServer, heartbeatMillis: number) =>
  Effect.gen(function* () {
    const socket = yield* Effect.orDie(Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ upgrade }) => upgrade))
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const writer = yield* socket.writer
    const { pull } = yield* socket.reader
    let isOpen = true
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        isOpen = false
      }),
    )
    // A failed write also ends the reader of the connection.
    const report = (progress: Progress) => {
      if (isOpen) run(Effect.ignore(writer.write(progressMessage(progress))))
    }
    const conversation = server.converse(report)
    const heartbeat = Effect.sync(() => {
      if (conversation.isAwaited) report([])
    })
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(heartbeatMillis), heartbeat)))
    const take = (message: string | Uint8Array) => {
      const { call, parcels } = callIn(message)
      conversation.take(call, parcels)
    }
    const cutOff = ({ message }: NoMessage) =>
      Effect.andThen(
        Effect.logWarning(`closed the connection of a caller that has the cluster's token: ${message}`),
        writer.write(new Socket.CloseEvent(1003, message)),
      )
    const taken = Effect.flatMap(pull, (messages) => Effect.sync(() => messages.forEach(take)))
    yield* Effect.catchDefect(Effect.forever(taken, { disableYield: true }), (defect) =>
      defect instanceof NoMessage ? cutOff(defect) : Effect.die(defect),
    )
    return HttpServerResponse.empty()
  }).pipe(
    Effect.scoped,
    Effect.catchTag("SocketError", () => Effect.succeed(HttpServerResponse.empty())),
  )

/** Effect's cluster: which node should have which shard. It reads the live nodes twice a second. */
const sharding = ({ host, port }: Address, shards: Shards, lease: Duration.Duration) =>
  Sharding.layer.pipe(
    Layer.provide(Runners.layerNoop),
    Layer.provide(RunnerHealth.layerNoop),
    Layer.provide(MessageStorage.layerNoop),
    Layer.provide(Layer.succeed(RunnerStorage, shards.storage)),
    Layer.provide(
      ShardingConfig.layer({
        runnerAddress: Option.some(RunnerAddress.make({ host, port })),
        shardsPerGroup: shardCount,
        // How long an acquisition may take. Shards have no lock that could expire: see Shards.
        shardLockExpiration: Duration.times(lease, 3),
        shardLockRefreshInterval: lease,
        refreshAssignmentsInterval: "500 millis",
        entityMessagePollInterval: "250 millis",
        simulateRemoteSerialization: false,
      }),
    ),
    Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error")),
    Layer.build,
    Effect.asVoid,
  )
