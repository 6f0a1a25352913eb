/** What the store relies on in the driver for SQLite, on real files, beside other processes that write to them. */
import { type ChildProcess, spawn } from "node:child_process"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { BeginTransaction, SafeIntegers, SqlClient } from "effect/sql/SqlClient"
import * as SqliteClient from "../../src/driver/SqliteClient.ts"
import * as SqliteStore from "../../src/SqliteStore.ts"
import { freshFile } from "../support/Sqlite.ts"
import { failureOf, reasonOf } from "./Driver.ts"

const clients = {
  /** As a program opens one for its own tables. */
  SqliteClient: (filename: string) => SqliteClient.layer({ filename }),
  /** As the store opens its file. */
  SqliteStore: (filename: string) => SqliteStore.layer({ filename }),
}

const opened = (layer: (filename: string) => Layer.Layer<SqlClient, unknown>, filename: string) =>
  Effect.map(Layer.build(Layer.fresh(layer(filename))), (context) => Context.get(context, SqlClient))

for (const [name, layer] of Object.entries(clients)) {
  describe(`${name} of SQLite`, () => {
    const withTable = Effect.gen(function* () {
      const filename = yield* freshFile
      const sql = yield* opened(layer, filename)
      yield* sql`create table notes (n integer primary key, of integer references notes (n) deferrable initially deferred)`
      yield* sql`pragma foreign_keys = on`
      const rows = Effect.map(sql<{ readonly n: number }>`select n from notes order by n`, (all) => all.map(({ n }) => n))
      return { filename, sql, insert: (n: number) => sql`insert into notes (n) values (${n})`, rows }
    })

    it.live("values come back as they were sent", () =>
      Effect.gen(function* () {
        const { sql } = yield* withTable
        const bytes = Buffer.from([9, 0, 1, 255, 9]).subarray(1, 4)
        const values = ['ä€😀 "quoted"', "", 1.5, -7, 9007199254740991, null, bytes]
        for (const value of values)
          for (const _ of ["first", "again"]) {
            const [row] = yield* sql<{ readonly value: unknown }>`select ${value} as value`
            assert.deepStrictEqual(
              row?.value instanceof Uint8Array ? [...row.value] : row?.value,
              value instanceof Uint8Array ? [...value] : value,
            )
          }
        const large = 9007199254740993n
        const exact = Effect.provideService(sql`select ${large} as value`, SafeIntegers, true)
        assert.deepStrictEqual(yield* exact, [{ value: large }])
        // Without loss, or not at all.
        assert.isDefined(failureOf(yield* Effect.exit(sql`select ${large} as value`)))
        assert.deepStrictEqual((yield* sql`select 1 as one`)[0], { one: 1 })
      }),
    )

    it.live("values of 16 MiB go both ways", () =>
      Effect.gen(function* () {
        const { sql } = yield* withTable
        const [text, bytes] = ["ab€d".repeat(4 * 1024 * 1024), new Uint8Array(16 * 1024 * 1024).fill(251)]
        const [row] = yield* sql<{ readonly text: string; readonly bytes: Uint8Array }>`select ${text} as text, ${bytes} as bytes`
        assert.isTrue(row?.text === text && Buffer.from(bytes).equals(row.bytes))
      }),
    )

    it.live("failures are typed by their cause", () =>
      Effect.gen(function* () {
        const { sql, insert } = yield* withTable
        yield* sql`create table checked (a text not null unique check (a <> 'bad'))`
        yield* sql`insert into checked values ('a')`
        yield* insert(1)
        const reason = (statement: string, parameters?: ReadonlyArray<unknown>) =>
          Effect.map(Effect.exit(sql.unsafe(statement, parameters)), reasonOf)
        assert.strictEqual(yield* reason("insert into checked values ('a')"), "UniqueViolation")
        assert.strictEqual(yield* reason("insert into checked values (null)"), "ConstraintError")
        assert.strictEqual(yield* reason("insert into checked values ('bad')"), "ConstraintError")
        assert.strictEqual(yield* reason("selec"), "UnknownError")
        assert.strictEqual(yield* reason("select ?", [Symbol("no value")]), "UnknownError")
      }),
    )

    it.live("a constraint that is checked at COMMIT fails typed, and leaves no transaction open", () =>
      Effect.gen(function* () {
        const { sql, insert, rows } = yield* withTable
        const exit = yield* Effect.exit(sql.withTransaction(sql`insert into notes (n, of) values (1, 2)`))
        assert.strictEqual(reasonOf(exit), "ConstraintError")
        yield* sql.withTransaction(insert(3))
        assert.deepStrictEqual(yield* rows, [3])
      }),
    )

    it.live("an interrupted transaction is rolled back, and stays interrupted", () =>
      Effect.gen(function* () {
        const { sql, insert, rows } = yield* withTable
        const written = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkScoped(
          sql.withTransaction(Effect.andThen(insert(1), Effect.andThen(Deferred.succeed(written, undefined), Effect.never))),
        )
        yield* Deferred.await(written)
        const outside = yield* Effect.forkScoped(insert(2))
        const exit = yield* Effect.andThen(Fiber.interrupt(fiber), Fiber.await(fiber))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
        yield* Fiber.join(outside)
        assert.deepStrictEqual(yield* rows, [2])
      }),
    )

    it.live("nested transactions undo their own writes only, and what follows a commit runs after it", () =>
      Effect.gen(function* () {
        const { sql, insert, rows } = yield* withTable
        const seen: Array<ReadonlyArray<number>> = []
        const look = sql.afterCommit(Effect.orDie(Effect.map(rows, (found) => void seen.push(found))))
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* insert(1)
            yield* Effect.ignore(sql.withTransaction(Effect.andThen(insert(2), Effect.fail("undone"))))
            yield* sql.withTransaction(Effect.andThen(insert(3), look))
          }),
        )
        yield* Effect.ignore(sql.withTransaction(Effect.andThen(look, Effect.fail("undone"))))
        assert.deepStrictEqual(seen, [[1, 3]])
      }),
    )

    it.live("statements follow a changed table, and no more of them are kept than the limit", () =>
      Effect.gen(function* () {
        const { sql, insert } = yield* withTable
        yield* insert(1)
        const read = sql`select * from notes`
        assert.deepStrictEqual(
          (yield* read).map((row) => ({ ...row })),
          [{ n: 1, of: null }],
        )
        yield* sql`alter table notes add column b text default 'x'`
        assert.deepStrictEqual(
          (yield* read).map((row) => ({ ...row })),
          [{ n: 1, of: null, b: "x" }],
        )
        for (let n = 0; n < 1000; n++) yield* sql.unsafe(`select ${n}`)
        assert.strictEqual((yield* read).length, 1)
      }),
    )
  })
}

/** A process that holds the write lock of a file again and again, for some milliseconds each, until it is ended. */
const program = `
  const { DatabaseSync } = require("node:sqlite")
  const db = new DatabaseSync(process.argv[1], { timeout: 30000 })
  db.exec("create table if not exists others (n integer)")
  const until = Date.now() + 20000
  const turn = () => {
    db.exec("begin immediate; insert into others values (1)")
    setTimeout(() => {
      db.exec("commit")
      if (Date.now() < until) setTimeout(turn, Math.random() * 4)
    }, Math.random() * 8)
  }
  turn()
  console.log("writing")`

const otherWriter = (filename: string) =>
  Effect.acquireRelease(
    Effect.callback<ChildProcess>((resume) => {
      const child = spawn(process.execPath, ["-e", program, filename], { stdio: ["ignore", "pipe", "inherit"] })
      child.stdout?.once("data", () => resume(Effect.succeed(child)))
    }),
    (child) =>
      Effect.callback<void>((resume) => {
        if (child.exitCode !== null) return resume(Effect.void)
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      }),
  )

describe("a SQLite file that another process writes to", () => {
  it.live("keeps every write that was reported as done, beside transactions that are rolled back", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const sql = yield* opened(clients.SqliteStore, filename)
      yield* sql`create table notes (n integer primary key)`
      yield* otherWriter(filename)
      const done: Array<number> = []
      const writing = (from: number) =>
        Effect.forEach(
          Array.from({ length: 60 }, (_, index) => from + index),
          (n) => Effect.map(sql`insert into notes values (${n})`, () => void done.push(n)),
          { discard: true },
        )
      const rollingBack = Effect.forEach(
        Array.from({ length: 60 }, (_, index) => -1 - index),
        (n) => Effect.ignore(sql.withTransaction(Effect.andThen(sql`insert into notes values (${n})`, Effect.fail("undone")))),
        { discard: true },
      )
      yield* Effect.all([writing(0), writing(1000), writing(2000), rollingBack, rollingBack], { concurrency: "unbounded" })
      const reader = new DatabaseSync(filename, { readOnly: true })
      const stored = reader
        .prepare("select n from notes order by n")
        .all()
        .map((row) => Number(row["n"]))
      reader.close()
      assert.strictEqual(done.length, 180)
      assert.deepStrictEqual(
        stored,
        done.toSorted((a, b) => a - b),
      )
    }),
  )

  it.live("a transaction that reads before it writes can be begun with the write lock, and then never fails for another writer", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const sql = yield* opened(clients.SqliteStore, filename)
      yield* sql`create table counter (n integer)`
      yield* sql`insert into counter values (0)`
      yield* otherWriter(filename)
      const increment = sql.withTransaction(
        Effect.gen(function* () {
          const [row] = yield* sql<{ readonly n: number }>`select n from counter`
          yield* Effect.sleep("2 millis")
          yield* sql`update counter set n = ${(row?.n ?? 0) + 1}`
        }),
      )
      const immediate = Effect.provideService(increment, BeginTransaction, "BEGIN IMMEDIATE")
      yield* Effect.all(
        Array.from({ length: 40 }, () => immediate),
        { concurrency: 4 },
      )
      assert.strictEqual((yield* sql<{ readonly n: number }>`select n from counter`)[0]?.n, 40)
    }),
  )
})
