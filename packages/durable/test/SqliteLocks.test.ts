/** What other processes do to a SQLite file while it is open: lock it, delete it, replace it. */
import { copyFileSync, renameSync, rmSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { Journal, Leases, Timers } from "@detent/store"
import * as SqliteStore from "@detent/store/SqliteStore"
import { command, enqueue } from "@detent/store/testing/CommandKit"
import { commit, freshKey, stored } from "@detent/store/testing/samples"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import { freshFile } from "../../store/test/support/Sqlite.ts"
import { Engine } from "../src/Engine.ts"
import { E, Job, S } from "../testing/engine/Machines.ts"

/** Holds the write lock of the file. The lock ends by a timer: a process that waits for it by blocking would never see its end. */
const lockFor = (filename: string, millis: number, mode: "immediate" | "exclusive" = "immediate") =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const other = new DatabaseSync(filename)
      other.exec(`begin ${mode}`)
      let isOpen = true
      const end = () => {
        if (isOpen) other.close()
        isOpen = false
      }
      return { end, isHeld: () => isOpen, timer: setTimeout(end, millis) }
    }),
    ({ end, timer }) =>
      Effect.sync(() => {
        clearTimeout(timer)
        end()
      }),
  )

/** The longest time that the event loop was blocked. */
const longestGap = Effect.acquireRelease(
  Effect.sync(() => {
    let [last, longest] = [performance.now(), 0]
    const interval = setInterval(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }, 10)
    return { interval, read: () => longest }
  }),
  ({ interval }) => Effect.sync(() => clearInterval(interval)),
)

describe("a SQLite file that others use", () => {
  it.live("a file whose tables are as they should be is opened while another process writes", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const opened = Effect.scoped(Layer.build(SqliteStore.layer({ filename })))
      yield* opened
      const lock = yield* lockFor(filename, 20_000)
      yield* opened
      assert.isTrue(lock.isHeld())
    }),
  )

  it.live("a file that another process has locked for itself, as one does that makes it, is opened once it is free", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const other = new DatabaseSync(filename)
      other.exec("create table notes (text text)")
      other.close()
      yield* lockFor(filename, 300, "exclusive")
      const key = yield* freshKey
      const outcomes = Effect.flatMap(Journal, (journal) => journal.commit([commit(key, -1)]))
      assert.deepStrictEqual(yield* Effect.provide(outcomes, SqliteStore.layer({ filename })), [stored])
    }),
  )

  it.live(
    "26 while another process holds the write lock the event loop stays free, reads are answered, and writes succeed afterwards",
    () =>
      Effect.gen(function* () {
        const filename = yield* freshFile
        yield* Effect.gen(function* () {
          const [journal, timers, leases, sql, key] = [yield* Journal, yield* Timers, yield* Leases, yield* SqlClient, yield* freshKey]
          yield* sql`create table notes (text text)`
          yield* journal.commit([commit(key, -1, { setTimers: [{ name: "t", entry: 0, due: 5 }] })])
          const gap = yield* longestGap
          const began = performance.now()
          const lock = yield* lockFor(filename, 2_000)
          const writing = Effect.all(
            [
              journal.commit([commit(key, 0)]),
              timers.claim({ machines: [key.machine], limit: 1, owner: "node", claimMillis: 1_000 }),
              leases.acquire(key.id, "node", 1_000),
              enqueue(command("mails", "a")),
              sql`insert into notes (text) values ('mine')`,
            ],
            { concurrency: "unbounded" },
          )
          const reading = Effect.gen(function* () {
            yield* Effect.sleep("100 millis")
            yield* journal.open(key)
            return lock.isHeld()
          })
          const [[committed, claimed, lease, enqueued], wasHeld] = yield* Effect.all([writing, reading], { concurrency: "unbounded" })
          assert.deepStrictEqual(committed, [stored])
          assert.strictEqual(claimed.length, 1)
          assert.strictEqual(lease._tag, "Acquired")
          assert.strictEqual(enqueued[0]?._tag, "Enqueued")
          assert.isAtLeast(performance.now() - began, 1_900)
          assert.isTrue(wasHeld, "a read does not wait for a writer")
          assert.isBelow(gap.read(), 1_500, "the event loop was blocked for as long as the lock was held")
        }).pipe(Effect.provide(SqliteStore.layer({ filename })))
      }),
  )

  it.live("26 a write that waits for the lock of another process is not undone with a transaction that begins here meanwhile", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      yield* Effect.gen(function* () {
        const [leases, sql] = [yield* Leases, yield* SqlClient]
        yield* sql`create table notes (text text)`
        const lock = yield* lockFor(filename, 20_000)
        const names = Array.from({ length: 20 }, (_, index) => `shard-${index}`)
        const acquiredBy = (node: string) =>
          Effect.forEach(names, (name) => leases.acquire(name, node, 60_000), { concurrency: "unbounded" })
        const waiting = yield* Effect.forkChild(
          Effect.zip(acquiredBy("one"), sql`insert into notes values ('mine')`, { concurrent: true }),
          {
            startImmediately: true,
          },
        )
        const undone = sql.withTransaction(Effect.andThen(Effect.sleep("300 millis"), Effect.fail("undone")))
        const undoing = yield* Effect.forkChild(Effect.exit(undone), { startImmediately: true })
        yield* Effect.sleep("100 millis")
        lock.end()
        const [first] = yield* Fiber.join(waiting)
        yield* Fiber.join(undoing)
        assert.deepStrictEqual(new Set(first.map(({ _tag }) => _tag)), new Set(["Acquired"]))
        assert.deepStrictEqual(new Set((yield* acquiredBy("two")).map(({ _tag }) => _tag)), new Set(["Busy"]), "two nodes hold one lease")
        assert.deepStrictEqual(yield* sql`select text from notes`, [{ text: "mine" }])
      }).pipe(Effect.provide(SqliteStore.layer({ filename })))
    }),
  )

  it.live("26 a lock that does not end is a failure, not a wait without end", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      yield* Effect.gen(function* () {
        const [journal, key] = [yield* Journal, yield* freshKey]
        yield* lockFor(filename, 20_000)
        const failed = yield* Effect.flip(journal.commit([commit(key, -1)]))
        assert.match(failed.message, /locked/)
      }).pipe(Effect.provide(SqliteStore.layer({ filename })))
    }),
  )

  it.live.each<readonly [string, (filename: string) => void]>([
    ["its log is deleted", (filename) => rmSync(`${filename}-wal`)],
    [
      "its log is replaced",
      (filename) => {
        copyFileSync(`${filename}-wal`, `${filename}-copy`)
        renameSync(`${filename}-copy`, `${filename}-wal`)
      },
    ],
  ])("28 nothing is acknowledged once %s", ([, damage]) =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      yield* Effect.gen(function* () {
        const [journal, sql, key] = [yield* Journal, yield* SqlClient, yield* freshKey]
        assert.deepStrictEqual(yield* journal.commit([commit(key, -1)]), [stored])
        damage(filename)
        const failed = yield* Effect.flip(journal.commit([commit(key, 0)]))
        assert.match(failed.message, /-wal was deleted or replaced .* restore the file/)
        assert.match((yield* Effect.flip(journal.open(key))).message, /deleted or replaced/, "a read must not confirm it")
        assert.match((yield* Effect.flip(enqueue(command("mails", "a")))).message, /deleted or replaced/)
        assert.strictEqual((yield* Effect.exit(sql`select 1`))._tag, "Failure")
      }).pipe(Effect.provide(SqliteStore.layer({ filename })))
    }),
  )

  it.live("28 nothing is acknowledged once the file is replaced, also in a transaction of the user's own", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      yield* Effect.gen(function* () {
        const [journal, sql, key] = [yield* Journal, yield* SqlClient, yield* freshKey]
        yield* sql`create table notes (text text)`
        yield* journal.commit([commit(key, -1)])
        copyFileSync(filename, `${filename}-copy`)
        renameSync(`${filename}-copy`, filename)
        const exit = yield* Effect.exit(sql.withTransaction(sql`insert into notes (text) values ('lost')`))
        assert.strictEqual(exit._tag, "Failure")
        assert.match((yield* Effect.flip(journal.commit([commit(key, 0)]))).message, /store\.db was deleted or replaced/)
      }).pipe(Effect.provide(SqliteStore.layer({ filename })))
    }),
  )

  it.live.each<readonly [string, string]>([
    ["the log", "-wal"],
    ["the file", ""],
  ])("28 of two sends the second is not acknowledged where %s is replaced between them", ([, suffix]) =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      yield* Effect.gen(function* () {
        const engine = yield* Engine
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        yield* job.send(E.Add({ by: 1 }))
        copyFileSync(`${filename}${suffix}`, `${filename}-copy`)
        renameSync(`${filename}-copy`, `${filename}${suffix}`)
        const failed = yield* Effect.flip(job.send(E.Add({ by: 1 })))
        assert.match(failed.message, /was deleted or replaced while it was open/)
      }).pipe(Effect.provide(Engine.layer({ storeTimeout: 0 }).pipe(Layer.provide(SqliteStore.layer({ filename })))))
    }),
  )

  it.live("28 a file that stays where it is is written to by several processes without complaint", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const [first, second] = [SqliteStore.layer({ filename }), SqliteStore.layer({ filename })]
      const key = yield* freshKey
      const write = (expected: number) => Effect.flatMap(Journal, (journal) => journal.commit([commit(key, expected)]))
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* write(-1), [stored])
        // Another process opens the file, writes and ends; the first one's log stays.
        assert.deepStrictEqual(yield* Effect.provide(write(0), second, { local: true }), [stored])
        const sql = yield* SqlClient
        yield* sql`pragma wal_checkpoint(truncate)`
        assert.deepStrictEqual(yield* write(1), [stored])
        yield* sql`vacuum`
        assert.deepStrictEqual(yield* write(2), [stored])
        assert.strictEqual(Option.getOrThrow(yield* Effect.flatMap(Journal, (journal) => journal.open(key))).record.sequence, 3)
      }).pipe(Effect.provide(first))
    }),
  )
})
