/** What is particular to SQLite: the file, the processes that share it, the one connection. */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { promisify } from "node:util"
import { PersistenceFailed } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import { SqlError, UnknownError } from "effect/sql/SqlError"
import { Journal } from "../src/contract/Journal.ts"
import * as SqliteStore from "../src/SqliteStore.ts"
import { commit, event, freshKey, snapshot, stored } from "../testing/samples.ts"
import { freshFile, sqliteLayer } from "./support/Sqlite.ts"

describe("SQLite file", () => {
  it.live("what was stored is there when the file is opened again, and migrations are not repeated", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const key = yield* freshKey
      const opened = Effect.provide(
        Effect.gen(function* () {
          const journal = yield* Journal
          const sql = yield* SqlClient
          const before = yield* journal.open(key)
          yield* journal.commit([commit(key, Option.isNone(before) ? -1 : before.value.record.sequence)])
          return yield* sql`select migration_id from detent_migrations`
        }),
        Layer.suspend(() => SqliteStore.layer({ filename })),
        { local: true },
      )
      const first = yield* opened
      assert.deepStrictEqual(yield* opened, first)
      assert.deepStrictEqual(yield* opened, first)
      const { record } = Option.getOrThrow(
        yield* Effect.provide(
          Effect.flatMap(Journal, (journal) => journal.open(key)),
          SqliteStore.layer({ filename }),
        ),
      )
      assert.strictEqual(record.sequence, 2)
    }),
  )

  it.live("by default nothing is lost when the power fails: WAL, fully synchronous", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      assert.deepStrictEqual(yield* sql`pragma journal_mode`, [{ journal_mode: "wal" }])
      assert.deepStrictEqual(yield* sql`pragma synchronous`, [{ synchronous: 2 }])
    }).pipe(Effect.provide(sqliteLayer)),
  )

  it.live("several processes may begin and write at once", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const script = join(import.meta.dirname, "support", "sqliteWriter.ts")
      const writer = (id: string) => Effect.promise(() => promisify(execFile)("node", [script, filename, id]))
      const outputs = yield* Effect.all(["a", "b", "c"].map(writer), { concurrency: "unbounded" })
      assert.deepStrictEqual(outputs.map(({ stdout }) => stdout.trim()).sort(), ["Conflict", "Conflict", "Stored"])
    }),
  )

  it.live("a file that another process keeps busy is a clear failure, and works again after", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      yield* Effect.gen(function* () {
        const journal = yield* Journal
        const sql = yield* SqlClient
        const key = yield* freshKey
        yield* sql`pragma busy_timeout = 50`
        const other = new DatabaseSync(filename)
        other.exec("begin immediate")
        const failure = yield* Effect.flip(journal.commit([commit(key, -1)]))
        assert.instanceOf(failure, PersistenceFailed)
        assert.include(failure.message, "database is locked")
        other.exec("rollback")
        other.close()
        assert.deepStrictEqual(yield* journal.commit([commit(key, -1)]), [stored])
      }).pipe(Effect.provide(SqliteStore.layer({ filename })))
    }),
  )

  it.live("is waited for while another process upgrades it, also where that takes longer than SQLite waits", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const other = yield* Effect.acquireRelease(
        Effect.sync(() => new DatabaseSync(filename)),
        (database) => Effect.sync(() => database.close()),
      )
      other.exec("pragma journal_mode = wal; begin immediate; create table theirs (value integer)")
      yield* Effect.forkScoped(
        Effect.andThen(
          Effect.sleep("6 seconds"),
          Effect.sync(() => other.exec("commit")),
        ),
      )
      const key = yield* freshKey
      const opened = Effect.provide(
        Effect.flatMap(Journal, (journal) => journal.commit([commit(key, -1)])),
        SqliteStore.layer({ filename }),
      )
      assert.deepStrictEqual(yield* opened, [stored])
    }),
  )

  it.live("73 a fault at any statement of a commit leaves nothing of it", () =>
    Effect.gen(function* () {
      const faults = { after: Number.POSITIVE_INFINITY }
      const store = Layer.provide(
        SqliteStore.layerSql,
        Layer.effect(
          SqlClient,
          Effect.map(SqlClient, (sql) => faulty(sql, faults)),
        ),
      )
      yield* Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        yield* journal.commit([commit(key, -1, { setTimers: [{ name: "old", entry: 0, due: 5 }] })])
        const before = yield* journal.open(key)
        const everything = commit(key, 0, {
          events: [event(1, { dedupeId: "sent-1" })],
          snapshot: snapshot(1),
          clearTimers: "all",
          setTimers: [{ name: "new", entry: 1, due: 10 }],
          commands: [{ key: key.id, slot: "notify", parameters: "{}", sequence: 1 }],
        })
        let failures = 0
        for (; ; failures++) {
          faults.after = failures
          const written = yield* Effect.result(journal.commit([everything]))
          faults.after = Number.POSITIVE_INFINITY
          if (written._tag === "Success") break
          assert.instanceOf(written.failure, PersistenceFailed)
          assert.deepStrictEqual(yield* journal.open(key), before)
          assert.deepStrictEqual(yield* journal.events(key, 0, 10), [])
        }
        // begin, dedupe ids, instance, event, snapshot, timers cleared and set, command, moves, commit
        assert.strictEqual(failures, 10)
        assert.strictEqual(Option.getOrThrow(yield* journal.open(key)).record.sequence, 1)
      }).pipe(Effect.provide(Layer.provideMerge(store, sqliteLayer)))
    }),
  )

  it.live("two files in one program are two stores", () =>
    Effect.gen(function* () {
      const key = yield* freshKey
      const memo = yield* Layer.makeMemoMap
      const scope = yield* Effect.scope
      for (const filename of [yield* freshFile, yield* freshFile]) {
        const store = yield* Layer.buildWithMemoMap(SqliteStore.layer({ filename }), memo, scope)
        assert.deepStrictEqual(yield* Context.get(store, Journal).commit([commit(key, -1)]), [stored])
      }
    }),
  )

  it.live("a commit inside a transaction of the user's is undone with it", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const sql = yield* SqlClient
      const key = yield* freshKey
      yield* sql`create table mine (value integer)`
      const both = Effect.andThen(sql`insert into mine values (1)`, journal.commit([commit(key, -1)]))
      yield* Effect.ignore(sql.withTransaction(Effect.andThen(both, Effect.fail("undo"))))
      assert.isTrue(Option.isNone(yield* journal.open(key)))
      yield* sql.withTransaction(both)
      assert.isTrue(Option.isSome(yield* journal.open(key)))
      assert.deepStrictEqual(yield* sql`select value from mine`, [{ value: 1 }])
    }).pipe(Effect.provide(sqliteLayer)),
  )
})

/** A client whose reserved connections fail after a number of statements. */
const faulty = (sql: SqlClient, faults: { after: number }): SqlClient => {
  const problem = new SqlError({ reason: new UnknownError({ cause: new Error("the disk is gone"), operation: "execute" }) })
  let run = 0
  const fails = (statement: string) => statement !== "ROLLBACK" && run++ === faults.after
  const reserve = Effect.map(sql.reserve, (connection) => {
    run = 0
    return {
      ...connection,
      execute: (...call: Parameters<typeof connection.execute>) => (fails(call[0]) ? Effect.fail(problem) : connection.execute(...call)),
      executeRaw: (...call: Parameters<typeof connection.executeRaw>) =>
        fails(call[0]) ? Effect.fail(problem) : connection.executeRaw(...call),
    }
  })
  const client: SqlClient = new Proxy(sql, {
    get(target, property) {
      if (property === "reserve") return reserve
      return property === "withoutTransforms" ? () => client : Reflect.get(target, property, target)
    },
  })
  return client
}
