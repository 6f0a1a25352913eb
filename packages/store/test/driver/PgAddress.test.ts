/** How the driver finds, encrypts and authenticates its connections, on a PostgreSQL with TLS, with passwords by SCRAM, and behind a pooler. */
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { afterAll, beforeAll, inject } from "vitest"
import { StoreNotOpened } from "../../src/contract/StoreNotOpened.ts"
import { resolve } from "../../src/driver/PgAddress.ts"
import * as PgClient from "../../src/driver/PgClient.ts"
import * as PostgresStore from "../../src/PostgresStore.ts"
import { launchPostgres } from "../support/PostgresServer.ts"
import { startProxy } from "../support/Proxy.ts"
import { unless } from "../support/skipping.ts"
import { makeAuthority, makeCertificate } from "./certificates.ts"
import { failureOf, freshName, observer, open, ownDriver, pidOf, reasonOf, until } from "./Driver.ts"

/** A client of these settings, closed with the scope. */
const connected = (config: PgClient.PgClientConfig) =>
  Effect.map(Layer.build(Layer.fresh(PgClient.layer(config))), (context) => Context.get(context, PgClient.PgClient))

const connecting = (config: PgClient.PgClientConfig) =>
  Effect.exit(
    Effect.scoped(
      Effect.flatMap(connected(config), (sql) => sql<{ readonly ssl: boolean }>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`),
    ),
  )

let folder = ""
let secured: { readonly url: (host: string, parameters: string) => PgClient.PgClientConfig; readonly stop: () => Promise<void> }
const file = (name: string) => join(folder, name)
const secret = "ä p@ss:w/rd?%"

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "detent-tls-"))
  const [authority, stranger] = [makeAuthority("authority"), makeAuthority("stranger")]
  writeFileSync(file("authority.pem"), authority.cert)
  writeFileSync(file("stranger.pem"), stranger.cert)
  const { url, data, remove } = await launchPostgres({ persistent: false })
  const { cert, key } = makeCertificate(authority, "authority", "localhost")
  const user = makeCertificate(authority, "authority", "holder")
  writeFileSync(file("user.crt"), user.cert)
  writeFileSync(file("user.key"), user.key, { mode: 0o600 })
  const { uid, gid } = statSync(data)
  for (const [name, content] of [
    ["server.crt", cert],
    ["server.key", key],
    ["root.crt", authority.cert],
  ] as const) {
    writeFileSync(join(data, name), content, { mode: 0o600 })
    if (process.getuid?.() === 0) chownSync(join(data, name), uid, gid)
  }
  const rules = [
    "hostssl all holder 127.0.0.1/32 cert",
    "hostnossl all encrypted 127.0.0.1/32 reject",
    "host all all 127.0.0.1/32 scram-sha-256",
    "host all all ::1/128 scram-sha-256",
  ]
  writeFileSync(join(data, "pg_hba.conf"), `${rules.join("\n")}\n`)
  await Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const sql = yield* connected({ url: Redacted.make(url), maxConnections: 1 })
        for (const statement of [
          `create role encrypted login password '${secret}'`,
          "create role holder login",
          "alter system set ssl = on",
          "alter system set ssl_cert_file = 'server.crt'",
          "alter system set ssl_key_file = 'server.key'",
          "alter system set ssl_ca_file = 'root.crt'",
          "select pg_reload_conf()",
        ])
          yield* sql.unsafe(statement)
      }),
    ),
  )
  const { port } = new URL(url)
  secured = {
    url: (host, parameters) => ({
      url: Redacted.make(`postgres://encrypted:${encodeURIComponent(secret)}@${host}:${port}/postgres?${parameters}`),
      maxConnections: 2,
    }),
    stop: remove,
  }
  // The server reads its configuration a moment later.
  await Effect.runPromise(until("TLS is on", connecting(secured.url("127.0.0.1", "sslmode=require")), Exit.isSuccess))
})

afterAll(async () => {
  await secured?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const ssl = (host: string, parameters: string) =>
  Effect.map(connecting(secured.url(host, parameters)), (exit) => (Exit.isSuccess(exit) ? exit.value[0]?.ssl : reasonOf(exit)))

describe("TLS of PostgreSQL", () => {
  it.live("sslmode=disable does not encrypt, and the server may refuse that", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* ssl("127.0.0.1", "sslmode=disable"), "AuthenticationError")
      assert.strictEqual(yield* ssl("127.0.0.1", ""), "AuthenticationError")
    }),
  )

  it.live("sslmode=require encrypts without a check of the certificate, unless an authority is named", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* ssl("127.0.0.1", "sslmode=require"))
      assert.isTrue(yield* ssl("127.0.0.1", `sslmode=require&sslrootcert=${file("authority.pem")}`))
      assert.strictEqual(yield* ssl("127.0.0.1", `sslmode=require&sslrootcert=${file("stranger.pem")}`), "ConnectionError")
    }),
  )

  it.live("sslmode=verify-ca checks the authority, and not the name of the host", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* ssl("127.0.0.1", `sslmode=verify-ca&sslrootcert=${file("authority.pem")}`))
      assert.strictEqual(yield* ssl("127.0.0.1", `sslmode=verify-ca&sslrootcert=${file("stranger.pem")}`), "ConnectionError")
      assert.strictEqual(yield* ssl("127.0.0.1", "sslmode=verify-ca"), "UnknownError")
    }),
  )

  it.live("sslmode=verify-full also refuses a certificate of another host, and an unknown authority", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* ssl("localhost", `sslmode=verify-full&sslrootcert=${file("authority.pem")}`))
      assert.strictEqual(yield* ssl("127.0.0.1", `sslmode=verify-full&sslrootcert=${file("authority.pem")}`), "ConnectionError")
      assert.strictEqual(yield* ssl("localhost", `sslmode=verify-full&sslrootcert=${file("stranger.pem")}`), "ConnectionError")
      assert.strictEqual(yield* ssl("localhost", "sslmode=verify-full"), "ConnectionError")
    }),
  )

  it.live("sslmode=prefer encrypts if the server can, and connects without TLS if it cannot", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* ssl("127.0.0.1", "sslmode=prefer"))
      const plain = inject("postgresUrl")
      const without = yield* connecting({ url: Redacted.make(`${plain}?sslmode=prefer`) })
      assert.isTrue(Exit.isSuccess(without) && without.value[0]?.ssl === false)
      assert.strictEqual(reasonOf(yield* connecting({ url: Redacted.make(`${plain}?sslmode=require`) })), "ConnectionError")
      const wrong = new URL(plain)
      wrong.password = "wrong"
      assert.strictEqual(reasonOf(yield* connecting({ url: Redacted.make(`${wrong}?sslmode=prefer`) })), "AuthenticationError")
    }),
  )

  it.live("a certificate of the client is presented", () =>
    Effect.gen(function* () {
      const { url } = secured.url("localhost", `sslmode=verify-full&sslrootcert=${file("authority.pem")}`)
      const own = new URL(Redacted.value(url ?? Redacted.make("")))
      own.username = "holder"
      own.password = ""
      assert.isTrue(Exit.isFailure(yield* connecting({ url: Redacted.make(own.href) })))
      own.searchParams.set("sslcert", file("user.crt"))
      own.searchParams.set("sslkey", file("user.key"))
      const exit = yield* connecting({ url: Redacted.make(own.href) })
      assert.isTrue(Exit.isSuccess(exit), String(exit))
    }),
  )

  it.live("options of the program go before those of the address", () =>
    Effect.gen(function* () {
      const exit = yield* connecting({ ...secured.url("127.0.0.1", "sslmode=disable"), ssl: { rejectUnauthorized: false } })
      assert.isTrue(Exit.isSuccess(exit) && exit.value[0]?.ssl === true)
      // Checked as browsers do.
      assert.strictEqual(reasonOf(yield* connecting({ ...secured.url("localhost", "sslmode=require"), ssl: true })), "ConnectionError")
    }),
  )

  it.live("an interrupted statement is cancelled over TLS", () =>
    Effect.gen(function* () {
      const sql = yield* connected({ ...secured.url("127.0.0.1", "sslmode=require"), maxConnections: 1 })
      const fiber = yield* Effect.forkScoped(sql`select pg_sleep(60)`)
      yield* Effect.sleep("300 millis")
      yield* Effect.timeout(Fiber.interrupt(fiber), "4 seconds")
      assert.strictEqual((yield* sql`select 1`).length, 1)
    }),
  )

  it.live("a store names the next step when the certificate is refused", () =>
    Effect.gen(function* () {
      const opening = (host: string, parameters: string) => {
        const { url } = secured.url(host, parameters)
        return Effect.exit(Effect.scoped(Layer.build(PostgresStore.layer({ url: url ?? "" }))))
      }
      const problemOf = (exit: Exit.Exit<unknown, unknown>) => {
        const failure = failureOf(exit)
        return failure instanceof StoreNotOpened ? failure.message : String(failure)
      }
      assert.include(problemOf(yield* opening("localhost", "sslmode=verify-full")), "sslrootcert")
      assert.include(
        problemOf(yield* opening("127.0.0.1", `sslmode=verify-full&sslrootcert=${file("authority.pem")}`)),
        "name the host as its certificate does",
      )
      assert.include(problemOf(yield* opening("localhost", "sslmode=verify")), "sslmode is not one of")
      assert.include(
        problemOf(yield* opening("localhost", `sslmode=verify-ca&sslrootcert=${file("missing.pem")}`)),
        "the file of sslrootcert cannot be read",
      )
      assert.notInclude(problemOf(yield* opening("localhost", "sslmode=verify")), "p@ss")
    }),
  )
})

describe("passwords of PostgreSQL", () => {
  it.live("are proved by SCRAM, with any characters; a wrong one is an authentication error", () =>
    Effect.gen(function* () {
      const config = secured.url("127.0.0.1", "sslmode=require&channel_binding=require")
      assert.isTrue(Exit.isSuccess(yield* connecting(config)))
      assert.strictEqual(reasonOf(yield* connecting({ ...config, password: Redacted.make("wrong") })), "AuthenticationError")
      assert.strictEqual(reasonOf(yield* connecting({ ...config, username: "unknown" })), "AuthenticationError")
    }),
  )
})

describe("addresses of PostgreSQL", () => {
  const read = (url: string, more: Partial<PgClient.PgClientConfig> = {}) => resolve({ url: Redacted.make(url), ...more })

  it("have their parts decoded, and settings of the program go before them", () => {
    const { host, port, database, user, password, options } = read("postgres://a%40b:p%3Aq@[::1]:6543/my%20db?options=-c%20geqo%3Doff")
    assert.deepStrictEqual(
      { host, port, database, user, password, options },
      { host: "::1", port: 6543, database: "my db", user: "a@b", password: "p:q", options: "-c geqo=off" },
    )
    const own = read("postgres://h/d?application_name=theirs", { username: "me", database: "mine", applicationName: "ours" })
    assert.deepStrictEqual([own.user, own.database, own.application_name], ["me", "mine", "ours"])
    assert.strictEqual(read("postgres:///d?user=u&host=/run/postgresql").host, "/run/postgresql")
  })

  it("that are not valid are refused without being repeated", () => {
    for (const url of [
      "no address with secret",
      "postgres://u:secret@h:99999/d",
      "postgres://u:secret@a,b/d",
      "postgres://u:secret%zz@h/d",
    ])
      assert.throws(() => read(url), /^(?!.*secret)/)
    assert.throws(() => read("postgres://u:secret@h/d?sslmode=yes"), /^(?!.*secret)/)
  })
})

describe("spans of PgClient", () => {
  it.live("name the server, its port and the database", () =>
    Effect.gen(function* () {
      const url = new URL(inject("postgresUrl"))
      const spans: Array<Tracer.NativeSpan> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        },
      })
      const sql = yield* connected({ url: Redacted.make(url.href), maxConnections: 1 })
      yield* Effect.withTracer(sql.withTransaction(sql`select 1`), tracer)
      const expected = {
        "db.system.name": "postgresql",
        "db.namespace": "postgres",
        "server.address": "127.0.0.1",
        "server.port": Number(url.port),
      }
      for (const name of ["postgres", "sql.transaction"])
        assert.deepInclude(Object.fromEntries(spans.find((span) => span.name === name)?.attributes ?? []), expected, name)
    }),
  )
})

const tcpTable = "/proc/net/tcp"

describe("connections of PgClient", unless(existsSync(tcpTable) ? undefined : `the system has no ${tcpTable}`), () => {
  it.live("are watched by the system, so that a server that has disappeared ends its statements", () =>
    Effect.gen(function* () {
      const sql = yield* connected({ url: Redacted.make(inject("postgresUrl")), maxConnections: 1 })
      const [row] = yield* sql<{ readonly port: number }>`select inet_client_port() as port`
      const port = (row?.port ?? 0).toString(16).toUpperCase().padStart(4, "0")
      const timers = Effect.sync(() =>
        readFileSync(tcpTable, "utf8")
          .split("\n")
          .map((line) => line.trim().split(/\s+/))
          .filter(([, local]) => local?.endsWith(`:${port}`))
          .map((fields) => fields[5]?.slice(0, 2)),
      )
      // The timer of a connection: 01 waits for a confirmation, 02 asks for a sign of life.
      yield* until("the system asks for a sign of life", timers, ([timer, ...others]) => timer === "02" && others.length === 0)
    }),
  )
})

describe("transactions of PgClient", () => {
  it.live("lose their locks when their process does nothing any more", () =>
    Effect.gen(function* () {
      const proxy = yield* Effect.acquireRelease(
        Effect.promise(() => startProxy(inject("postgresUrl"))),
        ({ close }) => Effect.promise(close),
      )
      const frozen = yield* connected({ url: Redacted.make(proxy.url), maxConnections: 1, idleTransactionTimeout: "500 millis" })
      const other = yield* open(ownDriver, { maxConnections: 1 })
      const lock = Math.floor(Math.random() * 1e9)
      const locked = yield* Deferred.make<void>()
      yield* Effect.forkScoped(
        frozen.withTransaction(
          Effect.gen(function* () {
            yield* frozen`select pg_advisory_xact_lock(${lock})::text`
            proxy.block()
            yield* Deferred.succeed(locked, undefined)
            return yield* Effect.never
          }),
        ),
      )
      yield* Deferred.await(locked)
      const waited = yield* Effect.timeoutOption(other.withTransaction(other`select pg_advisory_xact_lock(${lock})::text`), "30 seconds")
      proxy.unblock()
      assert.strictEqual(waited._tag, "Some")
    }),
  )

  it.live("whose session the server has ended so fail typed, and the next one works", () =>
    Effect.gen(function* () {
      const sql = yield* connected({ url: Redacted.make(inject("postgresUrl")), maxConnections: 1, idleTransactionTimeout: "100 millis" })
      const idle = sql.withTransaction(Effect.andThen(sql`select 1`, Effect.andThen(Effect.sleep("1 second"), sql`select 2`)))
      assert.strictEqual(reasonOf(yield* Effect.exit(idle)), "ConnectionError")
      assert.strictEqual((yield* sql.withTransaction(sql`select 3`)).length, 1)
    }),
  )
})

describe("the pool of PgClient", () => {
  it.live("fails a statement and a transaction that wait longer for a connection than the limit, and not one that runs long", () =>
    Effect.gen(function* () {
      const sql = yield* connected({ url: Redacted.make(inject("postgresUrl")), maxConnections: 1, acquireTimeout: "200 millis" })
      const release = yield* Deferred.make<void>()
      const taken = yield* Deferred.make<void>()
      const holder = yield* Effect.forkScoped(
        sql.withTransaction(Effect.andThen(Deferred.succeed(taken, undefined), Deferred.await(release))),
      )
      yield* Deferred.await(taken)
      for (const waiting of [sql`select 1`, sql.withTransaction(sql`select 1`)]) {
        const failure = failureOf(yield* Effect.exit(waiting))
        assert.deepStrictEqual([failure?.reason._tag, failure?.reason.operation], ["ConnectionError", "acquire"])
      }
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(holder)
      assert.strictEqual((yield* sql`select pg_sleep(0.5)::text`).length, 1)
    }),
  )

  it.live("fails statements typed when it is closed, also those that wait for a connection", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const sql = yield* Scope.provide(open(ownDriver, { maxConnections: 1 }), scope)
      const [held, taken] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      yield* Effect.forkScoped(sql.withTransaction(Effect.andThen(Deferred.succeed(taken, undefined), Deferred.await(held))))
      yield* Deferred.await(taken)
      const waiting = yield* Effect.forEach([sql`select 1`, sql.withTransaction(sql`select 1`)], (one) =>
        Effect.forkScoped(Effect.exit(one), { startImmediately: true }),
      )
      const closing = yield* Effect.forkScoped(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* Effect.sleep("50 millis")
      yield* Deferred.succeed(held, undefined)
      yield* Fiber.join(closing)
      for (const fiber of waiting) assert.strictEqual(reasonOf(yield* Fiber.join(fiber)), "ConnectionError")
      for (const late of [sql`select 1`, sql.withTransaction(sql`select 1`)])
        assert.strictEqual(reasonOf(yield* Effect.exit(late)), "ConnectionError")
    }),
  )

  it.live("keeps no connection after one was refused, and connects when the server is there", () =>
    Effect.gen(function* () {
      const sql = yield* open(ownDriver, { maxConnections: 1 })
      const watching = yield* observer
      const role = freshName()
      yield* watching.unsafe(`create role ${role} login password 'x' connection limit 1`)
      const url = new URL(inject("postgresUrl"))
      url.username = role
      url.password = "x"
      const config = { url: Redacted.make(url.href), maxConnections: 1 }
      const first = yield* connected(config)
      yield* pidOf(first)
      assert.strictEqual(reasonOf(yield* connecting(config)), "ConnectionError")
      assert.strictEqual((yield* sql`select 1`).length, 1)
    }),
  )
})
