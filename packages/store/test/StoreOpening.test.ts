/** What a program reports when its store cannot be opened: at once, what is wrong, and what to do. */
import { execFile } from "node:child_process"
import { chmodSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { inject, vi } from "vitest"
import * as PgClient from "../src/driver/PgClient.ts"
import { Commands, StoreNotOpened } from "../src/index.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import * as SqliteStore from "../src/SqliteStore.ts"
import { freshDatabase } from "./support/Postgres.ts"
import { within } from "./support/patience.ts"
import { freshFile } from "./support/Sqlite.ts"

const refused = <A, E>(layer: Layer.Layer<A, E>) =>
  Effect.map(Effect.flip(Effect.scoped(Layer.build(layer))), (error) => {
    if (error instanceof StoreNotOpened) return error.message
    return assert.fail(`not what was expected: ${String(error)}`)
  })

describe("a SQLite file", () => {
  const openRefused = (filename: string) => refused(SqliteStore.layer({ filename }))

  it.live("in a folder that does not exist is made together with the folder", () =>
    Effect.gen(function* () {
      const filename = join(dirname(yield* freshFile), "data", "orders", "store.db")
      assert.deepStrictEqual(
        yield* Effect.provide(
          Effect.flatMap(Commands, ({ counts }) => counts),
          SqliteStore.layer({ filename }),
        ),
        [],
      )
      assert.isTrue(existsSync(filename))
    }),
  )

  it.live("in a folder that cannot be made", () =>
    Effect.gen(function* () {
      const file = yield* freshFile
      writeFileSync(file, "")
      const message = yield* openRefused(join(file, "x.db"))
      assert.match(message, /^cannot open .*store\.db.x\.db: its folder cannot be created: .*; create the folder, or name a place/)
    }),
  )

  it.live("that is a folder", () =>
    Effect.gen(function* () {
      const folder = dirname(yield* freshFile)
      assert.strictEqual(
        yield* openRefused(folder),
        `cannot open ${folder}: it is a folder; name a file in it, such as ${folder}/detent.db`,
      )
    }),
  )

  it.live("that is something else, which is left as it is", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      copyFileSync(import.meta.filename, filename)
      // It used to be tried for five seconds, as if another process had it.
      const message = yield* within("3 seconds")(openRefused(filename))
      assert.strictEqual(message, `cannot open ${filename}: it is not a SQLite database; name another file`)
    }),
  )

  it.live("that this user may not write to, or not in that folder", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const folder = dirname(filename)
      yield* Effect.scoped(Layer.build(SqliteStore.layer({ filename })))
      mkdirSync(join(folder, "sealed"))
      copyFileSync(filename, join(folder, "sealed", "store.db"))
      chmodSync(filename, 0o444)
      chmodSync(join(folder, "sealed"), 0o555)
      chmodSync(folder, 0o755)
      // Root may write anywhere.
      const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
      const open = (file: string) =>
        Effect.promise(() => promisify(execFile)(process.execPath, [join(import.meta.dirname, "support", "openSqlite.ts"), file], user))
      const next = "let this user"
      for (const file of [filename, join(folder, "sealed", "store.db"), join(folder, "sealed", "new.db")]) {
        const { stdout } = yield* open(file)
        assert.match(stdout, new RegExp(`^cannot open ${file}: it cannot be (written to|opened); ${next}`))
      }
      chmodSync(join(folder, "sealed"), 0o755)
    }),
  )
})

describe("PostgreSQL", () => {
  it.live("is opened while a dump runs, which holds a lock on every table until it ends", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const opened = Effect.scoped(Layer.build(PostgresStore.layer({ url })))
      yield* opened
      const dump = PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })
      const duringDump = Effect.flatMap(SqlClient, (sql) =>
        sql.withTransaction(Effect.andThen(sql`lock table detent.migrations, detent.instances in access share mode`, opened)),
      )
      yield* within("10 seconds")(Effect.provide(duringDump, dump))
    }),
  )

  const openRefused = (url: string) =>
    Effect.map(refused(PostgresStore.layer({ url, maxConnections: 1 })), (message) => {
      assert.notInclude(message, "secret")
      return message
    })

  const changed = (change: (url: URL) => void) => {
    const url = new URL(inject("postgresUrl"))
    change(url)
    return url.href
  }

  it.live("that does not run", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      assert.strictEqual(
        yield* openRefused(`postgres://ada:secret@127.0.0.1:${port}/orders`),
        `cannot reach PostgreSQL at 127.0.0.1:${port}/orders: ECONNREFUSED; start PostgreSQL there, or correct the address`,
      )
    }),
  )

  it.live("whose address names no user: the real cause is named, with or without a user of the operating system", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      const open = openRefused(`postgres://localhost:${port}/orders`)
      vi.stubEnv("USER", "ada")
      const refused = yield* open
      vi.stubEnv("USER", undefined)
      vi.stubEnv("USERNAME", undefined)
      const nameless = yield* open
      vi.unstubAllEnvs()
      const place = `cannot reach PostgreSQL at localhost:${port}/orders`
      assert.strictEqual(refused, `${place}: ECONNREFUSED; start PostgreSQL there, or correct the address`)
      assert.strictEqual(
        nameless,
        `${place}: the address names no user, and neither does USER; name one, such as postgres://user@localhost:5432/orders`,
      )
    }),
  )

  it.live("on an unknown host", () =>
    Effect.gen(function* () {
      const message = yield* openRefused("postgres://ada:secret@nowhere.invalid/orders")
      assert.match(
        message,
        /^cannot reach PostgreSQL at nowhere\.invalid:5432\/orders: (ENOTFOUND|EAI_AGAIN); correct the name of the host$/,
      )
    }),
  )

  it.live("with a wrong password", () =>
    Effect.gen(function* () {
      const { host, pathname } = new URL(inject("postgresUrl"))
      const url = changed((given) => {
        given.password = "secret"
      })
      assert.strictEqual(
        yield* openRefused(url),
        `cannot reach PostgreSQL at ${host}${pathname}: password authentication failed for user "postgres"; correct the user and the password in the address`,
      )
    }),
  )

  it.live("without that database", () =>
    Effect.gen(function* () {
      const { host } = new URL(inject("postgresUrl"))
      const url = changed((given) => {
        given.pathname = "/no_such_database"
      })
      assert.strictEqual(
        yield* openRefused(url),
        `cannot reach PostgreSQL at ${host}/no_such_database: database "no_such_database" does not exist; create the database, or correct the address`,
      )
    }),
  )

  it.live("where this user may not make a schema", () =>
    Effect.gen(function* () {
      const given = yield* freshDatabase
      const role = `reader_${new URL(given).pathname.slice(6)}`
      const asOwner = (statement: string) => Effect.flatMap(SqlClient, (sql) => sql.unsafe(statement))
      const url = new URL(given)
      url.username = role
      url.password = "secret"
      const owner = Layer.fresh(PostgresStore.layer({ url: given, schema: "others", maxConnections: 1 }))
      yield* Effect.provide(
        Effect.acquireUseRelease(
          asOwner(`create role ${role} login password 'secret'`),
          () => Effect.map(openRefused(url.href), (message) => assert.include(message, "; let the user create a schema in the database")),
          () => Effect.orDie(asOwner(`drop role ${role}`)),
        ),
        owner,
      )
    }),
  )

  it.live("at an address that is none", () =>
    Effect.gen(function* () {
      for (const url of ["ada:secret@localhost", "http://ada:secret@localhost/orders", "postgres://ada:secret@local host/x"])
        assert.match(yield* openRefused(url), /it is not an address of a PostgreSQL server; give one such as postgres:/)
    }),
  )
})

it.live("other failures of a store are reported as they are", () =>
  Effect.gen(function* () {
    const opened = Effect.scoped(Layer.build(PostgresStore.layer({ url: inject("postgresUrl"), schema: "No Schema" })))
    assert.isTrue(Exit.hasDies(yield* Effect.exit(opened)))
  }),
)

/** A port that no process listens on. */
const freePort = Effect.callback<number>((resume) => {
  const probe = createServer()
  probe.listen(0, "127.0.0.1", () => {
    const address = probe.address()
    probe.close(() => resume(Effect.succeed(address === null || typeof address === "string" ? 1 : address.port)))
  })
})
