/** The driver behind PgBouncer, which lends its connections to the server for one transaction: without prepared statements. */
import { spawn, spawnSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { inject } from "vitest"
import { freePort } from "../support/freePort.ts"
import { unless } from "../support/skipping.ts"
import { failureOf, freshName, observer, open, ownDriver, pidOf, sessions, until } from "./Driver.ts"

const program = ["pgbouncer", "/usr/sbin/pgbouncer", "/opt/homebrew/bin/pgbouncer"].find(
  (path) => spawnSync(path, ["--version"]).status === 0,
)

/** PgBouncer does not run as root. */
const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}

const pooler = Effect.gen(function* () {
  const port = yield* freePort
  const server = new URL(inject("postgresUrl"))
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const folder = mkdtempSync(join(tmpdir(), "detent-pooler-"))
      chmodSync(folder, 0o755)
      const settings = {
        listen_addr: "127.0.0.1",
        listen_port: port,
        unix_socket_dir: "",
        auth_type: "any",
        pool_mode: "transaction",
        default_pool_size: 2,
        max_client_conn: 50,
      }
      const target = `host=${server.hostname} port=${server.port} dbname=postgres user=${server.username} password=${server.password}`
      const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
      const path = join(folder, "pgbouncer.ini")
      writeFileSync(path, `[databases]\npooled = ${target}\n\n[pgbouncer]\n${lines.join("\n")}\n`)
      return { folder, child: spawn(program ?? "", ["-q", path], { stdio: "ignore", ...nobody }) }
    }),
    ({ folder, child }) =>
      Effect.callback<void>((resume) => {
        const end = () => {
          rmSync(folder, { recursive: true, force: true })
          resume(Effect.void)
        }
        if (child.exitCode !== null) return end()
        child.once("exit", end)
        child.kill("SIGKILL")
      }),
  )
  const url = `postgres://anybody@127.0.0.1:${port}/pooled`
  yield* Effect.retry(Effect.scoped(Effect.flatMap(open(ownDriver, { url, prepare: false }), (sql) => sql`select 1`)), { times: 400 })
  return url
})

describe("PgClient behind PgBouncer in transaction mode", unless(program === undefined ? "PgBouncer is not installed" : undefined), () => {
  it.live("more connections than the pooler has run transactions with savepoints, and none sees another's", () =>
    Effect.gen(function* () {
      const sql = yield* open(ownDriver, { url: yield* pooler, maxConnections: 10, prepare: false })
      const table = freshName()
      yield* sql.unsafe(`create table ${table} (n integer)`)
      const one = (n: number) =>
        sql.withTransaction(
          Effect.gen(function* () {
            const pid = yield* pidOf(sql)
            yield* sql`insert into ${sql(table)} values (${n})`
            yield* Effect.ignore(sql.withTransaction(Effect.andThen(sql`insert into ${sql(table)} values (${-1})`, sql`select 1 / 0`)))
            assert.strictEqual(yield* pidOf(sql), pid)
            if (n % 5 === 0) return yield* Effect.fail("undone")
          }),
        )
      yield* Effect.all(
        Array.from({ length: 50 }, (_, n) => Effect.ignore(one(n))),
        { concurrency: 10 },
      )
      const rows = yield* sql<{ readonly n: number }>`select n from ${sql(table)} order by n`
      assert.deepStrictEqual(
        rows.map(({ n }) => n),
        Array.from({ length: 50 }, (_, n) => n).filter((n) => n % 5 !== 0),
      )
    }),
  )

  it.live("an interrupted statement is cancelled through the pooler", () =>
    Effect.gen(function* () {
      const [sql, watching, mark] = [
        yield* open(ownDriver, { url: yield* pooler, maxConnections: 1, prepare: false }),
        yield* observer,
        freshName(),
      ]
      const fiber = yield* Effect.forkScoped(sql.unsafe(`select pg_sleep(60)::text /* ${mark} */`))
      yield* until("it runs", sessions(watching, mark), (all) => all.some(({ state }) => state === "active"))
      yield* Fiber.interrupt(fiber)
      yield* until("it is cancelled", sessions(watching, mark), (all) => all.every(({ state }) => state !== "active"))
      assert.strictEqual((yield* sql`select 1`).length, 1)
    }),
  )

  it.live("prepared statements fail typed, or are prepared again", () =>
    Effect.gen(function* () {
      const sql = yield* open(ownDriver, { url: yield* pooler, maxConnections: 6 })
      const asking = Effect.forEach(
        Array.from({ length: 200 }, (_, n) => n),
        (n) =>
          Effect.map(Effect.exit(sql.unsafe<{ readonly n: number }>("select $1::integer as n", [n])), (exit) => {
            if (exit._tag === "Success") assert.strictEqual(exit.value[0]?.n, n)
            else assert.isDefined(failureOf(exit))
          }),
        { concurrency: 12, discard: true },
      )
      yield* asking
    }),
  )
})
