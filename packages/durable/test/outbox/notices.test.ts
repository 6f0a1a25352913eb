/** How workers of other processes learn of commands on PostgreSQL. Their clocks stand still, so that they do not poll. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import type { Commands } from "@detent/store"
import { CommandSignal } from "@detent/store"
import { makeListener, notices } from "@detent/store/internal"
import * as PgClient from "@detent/store/PgClient"
import * as PostgresStore from "@detent/store/PostgresStore"
import { eventually } from "@detent/store/testing/CommandKit"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import * as Queues from "../../src/outbox/Queues.ts"
import { frozen, jobs, startWorker } from "../../testing/command/Working.ts"

const queue = jobs("jobs")

/** Two clients of PostgreSQL, as of two processes. */
const twoStores = Effect.gen(function* () {
  const url = yield* freshDatabase
  const open = Layer.build(Layer.fresh(PostgresStore.layer({ url, maxConnections: 3 })))
  return { one: yield* open, other: yield* open }
})

type Store = Context.Context<Commands | SqlClient>

const on =
  (store: Store) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Commands | SqlClient>> =>
    Effect.provideContext(effect, store)

const listeners = (store: Store) =>
  on(store)(
    Effect.flatMap(
      SqlClient,
      (sql) =>
        sql<{
          readonly pid: number
        }>`select pid from pg_stat_activity where application_name = 'detent listener' and query ilike 'listen%' and datname = current_database()`,
    ),
  )

/** Runs a test with a worker on a store that listens and does not poll. */
const withListener = (
  body: (
    stores: { readonly one: Store; readonly other: Store },
    executed: (count: number) => Effect.Effect<number>,
  ) => Effect.Effect<void, unknown>,
) =>
  Effect.gen(function* () {
    const stores = yield* twoStores
    const seen: Array<string> = []
    yield* on(stores.one)(frozen(startWorker(queue, (job) => Effect.sync(() => seen.push(job)))))
    yield* eventually(listeners(stores.other), (found) => found.length === 1)
    yield* Effect.sleep(100)
    const executed = (count: number) =>
      eventually(
        Effect.sync(() => seen.length),
        (length) => length >= count,
      )
    yield* body(stores, executed)
  })

describe("PostgreSQL, workers in other processes", () => {
  it.live("are notified when commands are enqueued, resumed or retried", () =>
    withListener(({ other }, executed) =>
      Effect.gen(function* () {
        yield* on(other)(queue.enqueue({ name: "a" }))
        assert.strictEqual(yield* executed(1), 1)
        yield* on(other)(Queues.pause("jobs"))
        yield* on(other)(queue.enqueue({ name: "b" }))
        yield* Effect.sleep(100)
        yield* on(other)(Queues.resume("jobs"))
        assert.strictEqual(yield* executed(2), 2)
      }),
    ),
  )

  it.live("are notified of commands enqueued in a transaction when it is committed, the own process too", () =>
    withListener(({ one, other }, executed) =>
      Effect.gen(function* () {
        for (const [store, count] of [
          [other, 1],
          [one, 2],
        ] as const) {
          yield* on(store)(
            Effect.flatMap(SqlClient, (sql) => sql.withTransaction(Effect.andThen(queue.enqueue({ name: "a" }), Effect.sleep(50)))),
          )
          assert.strictEqual(yield* executed(count), count)
        }
      }),
    ),
  )

  it.live("listen again after their connection was cut", () =>
    withListener(({ other }, executed) =>
      Effect.gen(function* () {
        for (let cut = 1; cut <= 2; cut++) {
          const [{ pid }] = (yield* listeners(other)) as [{ readonly pid: number }]
          yield* on(other)(Effect.flatMap(SqlClient, (sql) => sql`select pg_terminate_backend(${pid})::text`))
          yield* eventually(listeners(other), (found) => found.length === 1 && found[0]?.pid !== pid)
          yield* on(other)(queue.enqueue({ name: "a" }))
          assert.strictEqual(yield* executed(cut), cut)
        }
      }),
    ),
  )

  it.live("a process without workers does not listen", () =>
    Effect.gen(function* () {
      const { one, other } = yield* twoStores
      yield* on(one)(queue.enqueue({ name: "a" }))
      yield* Effect.sleep(100)
      assert.deepStrictEqual(yield* listeners(other), [])
    }),
  )

  it.live("notice that their connection is dead without a signal, and listen on another", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const line = yield* Effect.acquireRelease(
        Effect.promise(() => startLine(url)),
        (line) => Effect.promise(() => line.close()),
      )
      const direct = Context.get(yield* Layer.build(clientOf(url)), PgClient.PgClient)
      const through = Context.get(yield* Layer.build(clientOf(line.url)), PgClient.PgClient)
      const signal = new CommandSignal()
      const heard: Array<string> = []
      signal.listen((queues) => heard.push(queues === undefined ? "anything" : [...queues].join()))
      const subscribe = yield* makeListener(through, { every: "100 millis", patience: "200 millis" })
      yield* notices(direct, subscribe, "test_commands", signal)
      const says = (what: string) =>
        eventually(
          Effect.andThen(
            direct`select pg_notify('test_commands', ${JSON.stringify(["other", what])})::text`,
            Effect.sync(() => heard.includes(what)),
          ),
          (isHeard) => isHeard,
        )
      yield* says("before")
      line.silence()
      yield* says("after")
    }),
  )
})

const clientOf = (url: string) => Layer.fresh(PgClient.layer({ url: Redacted.make(url), maxConnections: 2 }))

/** A line to a database whose connections can go silent without being closed. */
const startLine = async (url: string) => {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const silenced = new WeakSet<Socket>()
  const server = createServer((client) => {
    const database = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(from)
      from.on("error", () => undefined)
      from.on("data", (data) => {
        if (!silenced.has(from)) to.write(data)
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const own = new URL(url)
  own.port = String((server.address() as AddressInfo).port)
  return {
    url: own.href,
    silence: () => {
      for (const socket of sockets) silenced.add(socket)
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
