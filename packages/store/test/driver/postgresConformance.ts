/**
 * What the stores rely on in a driver for PostgreSQL. A driver that passes can be given to `PostgresStore.layerSql`: types, failures, transactions,
 * cancellation, sessions that end, prepared statements, notifications and the pool.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import { BeginTransaction, type SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { inject } from "vitest"
import { startProxy } from "../support/Proxy.ts"
import { type Driver, failureOf, freshName, kill, observer, open, pidOf, reasonOf, sessions, until } from "./Driver.ts"

const mebibyte = 1024 * 1024

export const postgresConformance = (driver: Driver): void => {
  describe(`${driver.name}: values`, () => {
    const at = new Date("2026-02-03T04:05:06.789Z")
    const bytes = Uint8Array.from([0, 1, 127, 128, 255, 92])
    /** Some bytes in the middle of a larger buffer, as parts of uploads are. */
    const part = Buffer.from([9, 9, ...bytes, 9]).subarray(2, 8)
    const values: ReadonlyArray<readonly [type: string, value: unknown, answer?: unknown]> = [
      ["text", 'ä€😀 "quoted" \\ back\nline'],
      ["text", ""],
      ["smallint", 7],
      ["integer", -2147483648],
      ["bigint", 9007199254740993n],
      ["bigint", 1, 1n],
      ["bigint", 4294967296, 4294967296n],
      ["double precision", 0.1],
      ["double precision", 1e300],
      ["double precision", Number.POSITIVE_INFINITY],
      ["numeric", "12345678901234567890.123"],
      ["boolean", true],
      ["boolean", false],
      ["bytea", bytes],
      ["bytea", part, bytes],
      ["bytea", new Uint8Array(0)],
      ["timestamptz", at],
      ["uuid", "0197c3a0-1111-7222-8333-444455556666"],
      ["text[]", ["a", "", null, "NULL", 'q"uote', "back\\slash", "{brace}", "com,ma"]],
      ["integer[]", [1, null, -3]],
      ["bigint[]", [1n, null, 9007199254740993n]],
      ["bigint[]", [1, 4294967296], [1n, 4294967296n]],
      ["double precision[]", [1, 1.5]],
      ["boolean[]", [true, false, null]],
      ["timestamptz[]", [at]],
      ["integer[]", []],
    ]
    const plain = (value: unknown): unknown => (value instanceof Uint8Array ? [...value] : value)

    it.live("come back as they were sent, in a prepared statement too", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1 })
        for (const [type, value, answer = value] of values)
          for (const turn of ["first", "again"]) {
            const [row] = yield* sql.unsafe<{ readonly value: unknown }>(`select $1::${type} as value`, [value])
            assert.deepStrictEqual(plain(row?.value), plain(answer), `${type} ${turn}`)
          }
        for (const type of new Set(values.map(([type]) => type))) {
          const [row] = yield* sql.unsafe<{ readonly value: unknown }>(`select $1::${type} as value`, [null])
          assert.isNull(row?.value, type)
        }
      }),
    )

    it.live("JSON keeps every character, and numbers, nesting and null", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver)
        const value = { text: 'ä"\\ \u2028', list: [1, 1.5, null, true, { deep: [] }], nothing: null }
        const [row] = yield* sql<{ readonly value: unknown; readonly text: string }>`
          select ${sql.json(value)}::jsonb as value, ${JSON.stringify(value)}::jsonb ->> 'text' as text`
        assert.deepStrictEqual(row, { value, text: value.text })
      }),
    )

    it.live("counts and sums are bigint, and a parameter without a type gets the one of its column", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver)
        const table = freshName()
        yield* sql.unsafe(`create table ${table} (n integer, big bigint, ratio double precision, at timestamptz, ids text[])`)
        yield* sql`insert into ${sql(table)} ${sql.insert([
          { n: 1, big: 2, ratio: 3, at, ids: ["a"] },
          { n: 2, big: null, ratio: null, at: null, ids: null },
        ])}`
        const [row] =
          yield* sql<object>`select count(*) as count, sum(n) as sum, max(at) as at from ${sql(table)} where n in ${sql.in([1, 2, 3])}`
        assert.deepStrictEqual(row, { count: 2n, sum: 3n, at })
        assert.strictEqual((yield* sql`select n from ${sql(table)} where n = any(${[1, 7]})`).length, 1)
      }),
    )

    it.live("of 16 MiB go both ways, as text, bytes and JSON", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxMessageSize: 64 * mebibyte })
        const text = "ab€d".repeat(4 * mebibyte - 64)
        const large = new Uint8Array(16 * mebibyte - 64).map((_, index) => index % 251)
        const [row] = yield* sql<{ readonly text: string; readonly bytes: Uint8Array; readonly json: { readonly text: string } }>`
          select ${text}::text as text, ${large}::bytea as bytes, ${sql.json({ text })}::jsonb as json`
        assert.isTrue(row?.text === text && row.json.text === text, "the text")
        assert.isTrue(Buffer.from(large).equals(row?.bytes ?? large.subarray(1)), "the bytes")
      }),
    )

    it.live("longer than the client reads fail the statement as unreadable, and the next statement works", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1, maxMessageSize: mebibyte })
        const exit = yield* Effect.exit(sql`select repeat('a', ${2 * mebibyte}) as text`)
        const failure = failureOf(exit)
        assert.isDefined(failure)
        if (failure !== undefined && sql.isUnreadable !== undefined) assert.isTrue(sql.isUnreadable(failure))
        assert.deepStrictEqual(yield* sql`select 1 as one`, [{ one: 1 }])
      }),
    )
  })

  describe(`${driver.name}: failures`, () => {
    it.live("of statements are typed by their cause, and the connection stays", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1 })
        const table = freshName()
        yield* sql.unsafe(
          `create table ${table} (id integer primary key, n integer not null check (n > 0), of integer references ${table})`,
        )
        yield* sql.unsafe(`insert into ${table} values (1, 1, null)`)
        const pid = yield* pidOf(sql)
        const reason = (statement: string) => Effect.map(Effect.exit(sql.unsafe(statement)), reasonOf)
        assert.strictEqual(yield* reason(`insert into ${table} values (1, 1, null)`), "UniqueViolation")
        assert.strictEqual(yield* reason(`insert into ${table} values (2, null, null)`), "ConstraintError")
        assert.strictEqual(yield* reason(`insert into ${table} values (2, 0, null)`), "ConstraintError")
        assert.strictEqual(yield* reason(`insert into ${table} values (2, 1, 9)`), "ConstraintError")
        assert.strictEqual(yield* reason("selec"), "SqlSyntaxError")
        assert.strictEqual(yield* reason(`select * from ${table}_missing`), "SqlSyntaxError")
        assert.strictEqual(yield* reason("select 1 / 0"), "UnknownError")
        yield* sql`set statement_timeout = 50`
        assert.strictEqual(yield* reason("select pg_sleep(30)"), "StatementTimeoutError")
        assert.strictEqual(yield* pidOf(sql), pid)
        const failure = failureOf(yield* Effect.exit(sql.unsafe(`insert into ${table} values (1, 1, null)`)))
        assert.strictEqual(failure?.reason._tag === "UniqueViolation" ? failure.reason.constraint : undefined, `${table}_pkey`)
      }),
    )

    it.live("of parameters that cannot be sent are typed, and the connection stays", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1 })
        const pid = yield* pidOf(sql)
        assert.isDefined(failureOf(yield* Effect.exit(sql.unsafe("select $1::text", [Symbol("no value")]))))
        assert.isDefined(failureOf(yield* Effect.exit(sql.unsafe("select $1::text", ["a\u0000b"]))))
        assert.isDefined(failureOf(yield* Effect.exit(sql.unsafe("select $1::integer", []))))
        assert.strictEqual(yield* pidOf(sql), pid)
      }),
    )

    it.live("of a constraint that is checked at COMMIT are typed, and the connection is used again", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1 })
        const table = freshName()
        yield* sql.unsafe(`create table ${table} (id integer primary key, of integer references ${table} deferrable initially deferred)`)
        const pid = yield* pidOf(sql)
        const exit = yield* Effect.exit(sql.withTransaction(sql.unsafe(`insert into ${table} values (1, 2)`)))
        assert.strictEqual(reasonOf(exit), "ConstraintError")
        assert.strictEqual(yield* pidOf(sql), pid)
        assert.deepStrictEqual(yield* sql.unsafe(`select * from ${table}`), [])
      }),
    )

    it.live("of serializable transactions are typed, also at COMMIT, so that they can be tried again", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 2 })
        const table = freshName()
        yield* sql.unsafe(`create table ${table} (who integer primary key, on_call boolean)`)
        yield* sql.unsafe(`insert into ${table} values (1, true), (2, true)`)
        const hasRead = [yield* Deferred.make<void>(), yield* Deferred.make<void>()] as const
        const leave = (who: 1 | 2) =>
          sql
            .withTransaction(
              Effect.gen(function* () {
                const present = yield* sql.unsafe(`select who from ${table} where on_call`)
                yield* Deferred.succeed(hasRead[who - 1] as Deferred.Deferred<void>, undefined)
                yield* Effect.forEach(hasRead, (each) => Deferred.await(each))
                if (present.length > 1) yield* sql.unsafe(`update ${table} set on_call = false where who = ${who}`)
              }),
            )
            .pipe(Effect.provideService(BeginTransaction, "BEGIN ISOLATION LEVEL SERIALIZABLE"))
        const exits = yield* Effect.all([Effect.exit(leave(1)), Effect.exit(leave(2))], { concurrency: 2 })
        assert.deepStrictEqual(exits.map(reasonOf).sort(), ["SerializationError", undefined])
        yield* Effect.retry(leave(1), { times: 3, while: (error) => error.reason._tag === "SerializationError" })
        assert.strictEqual((yield* sql.unsafe(`select who from ${table} where on_call`)).length, 1)
      }),
    )

    it.live("of deadlocks are typed for one of both, and the other commits", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 2 })
        const table = freshName()
        yield* sql.unsafe(`create table ${table} (id integer primary key, n integer)`)
        yield* sql.unsafe(`insert into ${table} values (1, 0), (2, 0)`)
        const latches = [yield* Deferred.make<void>(), yield* Deferred.make<void>()] as const
        const both = (first: 1 | 2) =>
          sql.withTransaction(
            Effect.gen(function* () {
              yield* sql.unsafe(`update ${table} set n = n + 1 where id = ${first}`)
              yield* Deferred.succeed(latches[first - 1] as Deferred.Deferred<void>, undefined)
              yield* Effect.forEach(latches, (each) => Deferred.await(each))
              yield* sql.unsafe(`update ${table} set n = n + 1 where id = ${3 - first}`)
            }),
          )
        const exits = yield* Effect.all([Effect.exit(both(1)), Effect.exit(both(2))], { concurrency: 2 })
        assert.deepStrictEqual(exits.map(reasonOf).sort(), ["DeadlockError", undefined])
        assert.deepStrictEqual(yield* sql.unsafe(`select n from ${table} order by id`), [{ n: 1 }, { n: 1 }])
      }),
    )

    it.live("that a transaction ignores do not let it report a commit", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1 })
        const table = freshName()
        yield* sql.unsafe(`create table ${table} (n integer)`)
        const ignoring = Effect.andThen(sql.unsafe(`insert into ${table} values (1)`), Effect.ignore(sql.unsafe("select 1 / 0")))
        assert.isDefined(failureOf(yield* Effect.exit(sql.withTransaction(ignoring))))
        assert.deepStrictEqual(yield* sql.unsafe(`select * from ${table}`), [])
      }),
    )
  })

  describe(`${driver.name}: transactions`, () => {
    const counted = (sql: SqlClient, table: string) =>
      Effect.map(sql<{ readonly n: number }>`select n from ${sql(table)} order by n`, (rows) => rows.map(({ n }) => n))
    const withTable = (options?: Parameters<typeof open>[1]) =>
      Effect.gen(function* () {
        const sql = yield* open(driver, options)
        const table = freshName()
        yield* sql.unsafe(`create table ${table} (n integer)`)
        return { sql, table, insert: (n: number) => sql`insert into ${sql(table)} values (${n})`, rows: counted(sql, table) }
      })

    it.live("a nested one that fails undoes its own writes only, at any depth, and its name can be used again", () =>
      Effect.gen(function* () {
        const { sql, insert, rows } = yield* withTable()
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* insert(1)
            for (const n of [2, 3]) yield* Effect.ignore(sql.withTransaction(Effect.andThen(insert(n), Effect.fail("undone"))))
            yield* sql.withTransaction(
              Effect.gen(function* () {
                yield* insert(4)
                yield* Effect.ignore(sql.withTransaction(Effect.andThen(insert(5), sql`select 1 / 0`)))
                yield* insert(6)
              }),
            )
          }),
        )
        assert.deepStrictEqual(yield* rows, [1, 4, 6])
      }),
    )

    it.live("nested ones of concurrent fibers do not mix", () =>
      Effect.gen(function* () {
        const { sql, insert, rows } = yield* withTable()
        const one = (n: number) =>
          Effect.ignore(sql.withTransaction(Effect.andThen(insert(n), n % 2 === 0 ? Effect.fail("undone") : Effect.void)))
        const all = Array.from({ length: 20 }, (_, n) => one(n))
        yield* sql.withTransaction(Effect.all(all, { concurrency: "unbounded" }))
        assert.deepStrictEqual(yield* rows, [1, 3, 5, 7, 9, 11, 13, 15, 17, 19])
      }),
    )

    it.live("statements of concurrent fibers in one transaction all run", () =>
      Effect.gen(function* () {
        const { sql, insert, rows } = yield* withTable({ maxConnections: 1 })
        const all = Array.from({ length: 50 }, (_, n) => insert(n))
        yield* sql.withTransaction(Effect.all(all, { concurrency: "unbounded" }))
        assert.strictEqual((yield* rows).length, 50)
      }),
    )

    it.live("equal statements of concurrent fibers in one transaction all get their rows", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1 })
        const all = Array.from({ length: 5 }, (_, n) => sql.unsafe<{ readonly n: number }>("select $1::integer as n", [n]))
        const answers = yield* sql.withTransaction(Effect.all(all, { concurrency: "unbounded" }))
        assert.deepStrictEqual(answers.flat(), [{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }])
      }),
    )

    it.live("what is to run after the commit runs then, and not at all after a rollback", () =>
      Effect.gen(function* () {
        const { sql, insert, rows } = yield* withTable()
        const seen: Array<ReadonlyArray<number>> = []
        const look = sql.afterCommit(Effect.orDie(Effect.map(rows, (found) => void seen.push(found))))
        yield* sql.withTransaction(Effect.andThen(look, insert(1)))
        yield* Effect.ignore(sql.withTransaction(Effect.andThen(look, sql`select 1 / 0`)))
        yield* sql.withTransaction(
          Effect.andThen(Effect.ignore(sql.withTransaction(Effect.andThen(look, Effect.fail("undone")))), insert(2)),
        )
        assert.deepStrictEqual(seen, [[1]])
      }),
    )

    it.live("one that is interrupted is rolled back, and its connection is used again", () =>
      Effect.gen(function* () {
        const { sql, insert, rows } = yield* withTable({ maxConnections: 1 })
        const written = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkScoped(
          sql.withTransaction(Effect.andThen(insert(1), Effect.andThen(Deferred.succeed(written, undefined), Effect.never))),
        )
        yield* Deferred.await(written)
        const pid = yield* sql.withTransaction(Effect.void).pipe(Effect.andThen(pidOf(sql)), Effect.timeoutOption("10 millis"))
        assert.strictEqual(pid._tag, "None", "the only connection is in use")
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* rows, [])
      }),
    )

    it.live("one that its user leaves open does not reach the next user of the connection", () =>
      Effect.gen(function* () {
        const { sql, table, insert, rows } = yield* withTable({ maxConnections: 1 })
        const watching = yield* observer
        yield* Effect.scoped(
          Effect.gen(function* () {
            const connection = yield* sql.reserve
            yield* connection.executeRaw("BEGIN", [])
            yield* connection.executeRaw(`insert into ${table} values (1)`, [])
          }),
        )
        yield* insert(2)
        assert.deepStrictEqual(yield* rows, [2])
        yield* until("no transaction is open", sessions(watching, table), (all) =>
          all.every(({ state }) => state?.includes("in transaction") !== true),
        )
      }),
    )

    for (const [where, inner] of [
      ["a transaction", false],
      ["a nested transaction", true],
    ] as const)
      it.live(`a session that the server ends in ${where} is one typed failure, and the next transaction works`, () =>
        Effect.gen(function* () {
          const { sql, insert, rows } = yield* withTable({ maxConnections: 1 })
          const watching = yield* observer
          const spoilt = Effect.gen(function* () {
            yield* insert(1)
            yield* kill(watching, yield* pidOf(sql))
            yield* insert(2)
          })
          const exit = yield* Effect.exit(sql.withTransaction(inner ? sql.withTransaction(spoilt) : spoilt))
          assert.strictEqual(reasonOf(exit), "ConnectionError")
          // A failure of the program stays what it was, although the transaction cannot be rolled back.
          const failing = Effect.andThen(
            Effect.flatMap(pidOf(sql), (pid) => kill(watching, pid)),
            Effect.fail("mine" as const),
          )
          const own = yield* Effect.exit(sql.withTransaction(inner ? sql.withTransaction(failing) : failing))
          assert.strictEqual(failureOf(own), "mine")
          yield* sql.withTransaction(insert(3))
          assert.deepStrictEqual(yield* rows, [3])
        }),
      )

    it.live("a session that the server ends before COMMIT is a typed failure", () =>
      Effect.gen(function* () {
        const { sql, insert, rows } = yield* withTable({ maxConnections: 1 })
        const watching = yield* observer
        const exit = yield* Effect.exit(
          sql.withTransaction(
            Effect.andThen(
              insert(1),
              Effect.flatMap(pidOf(sql), (pid) => kill(watching, pid)),
            ),
          ),
        )
        assert.strictEqual(reasonOf(exit), "ConnectionError")
        assert.deepStrictEqual(yield* rows, [])
      }),
    )
  })

  describe(`${driver.name}: cancellation`, () => {
    const sleeping = (sql: SqlClient, mark: string) => sql.unsafe(`select pg_sleep(60) /* ${mark} */`)
    const running = (watching: SqlClient, mark: string) =>
      until("it runs", sessions(watching, mark), (all) => all.some(({ state }) => state === "active"))
    const gone = (watching: SqlClient, mark: string) =>
      until("it is cancelled", sessions(watching, mark), (all) => all.every(({ state }) => state !== "active"))

    it.live("an interrupted statement ends on the server, and the only connection serves the next one", () =>
      Effect.gen(function* () {
        const [sql, watching, mark] = [yield* open(driver, { maxConnections: 1 }), yield* observer, freshName()]
        const fiber = yield* Effect.forkScoped(sleeping(sql, mark))
        yield* running(watching, mark)
        yield* Fiber.interrupt(fiber)
        yield* gone(watching, mark)
        assert.deepStrictEqual(yield* sql`select 1 as one`, [{ one: 1 }])
      }),
    )

    it.live("an interrupted statement of a transaction rolls the transaction back", () =>
      Effect.gen(function* () {
        const [sql, watching, mark] = [yield* open(driver, { maxConnections: 1 }), yield* observer, freshName()]
        yield* sql.unsafe(`create table ${mark} (n integer)`)
        const fiber = yield* Effect.forkScoped(
          sql.withTransaction(Effect.andThen(sql.unsafe(`insert into ${mark} values (1)`), sleeping(sql, mark))),
        )
        yield* running(watching, mark)
        const exit = yield* Effect.andThen(Fiber.interrupt(fiber), Fiber.await(fiber))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause) && !Cause.hasDies(exit.cause))
        yield* gone(watching, mark)
        assert.deepStrictEqual(yield* sql.unsafe(`select * from ${mark}`), [])
      }),
    )

    it.live("a statement that waits for its turn in a transaction can be interrupted without ending the one before", () =>
      Effect.gen(function* () {
        const [sql, watching, mark] = [yield* open(driver, { maxConnections: 1 }), yield* observer, freshName()]
        const row = yield* sql.withTransaction(
          Effect.gen(function* () {
            const first = yield* Effect.forkScoped(sql.unsafe(`select pg_sleep(1)::text, 1 as one /* ${mark} */`))
            yield* running(watching, mark)
            const second = yield* Effect.forkScoped(sql`select 2 as two`)
            yield* Effect.sleep("50 millis")
            yield* Fiber.interrupt(second)
            return yield* Fiber.join(first)
          }),
        )
        assert.deepStrictEqual(row, [{ pg_sleep: "", one: 1 }])
      }),
    )

    it.live("a hundred statements that are interrupted at any time leave a working pool, and cancel nothing else", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 3 })
        const interrupted = Effect.forEach(
          Array.from({ length: 100 }, (_, index) => index),
          (index) => Effect.timeoutOption(sql.unsafe(`select pg_sleep(${(index % 10) / 200})::text`), `${index % 17} millis`),
          { concurrency: 4, discard: true },
        )
        const others = Effect.forEach(
          Array.from({ length: 100 }, (_, n) => n),
          (n) => sql`select ${n}::integer as n, pg_sleep(0.005)::text`,
          {
            concurrency: 2,
          },
        )
        const [, answers] = yield* Effect.all([interrupted, others], { concurrency: 2 })
        assert.deepStrictEqual(
          answers.map(([row]) => row?.["n"]),
          Array.from({ length: 100 }, (_, n) => n),
        )
      }),
    )

    it.live("the interruption ends also when the server no longer answers", () =>
      Effect.gen(function* () {
        const proxy = yield* Effect.acquireRelease(
          Effect.promise(() => startProxy(inject("postgresUrl"))),
          ({ close }) => Effect.promise(close),
        )
        const sql = yield* open(driver, { url: proxy.url, maxConnections: 1 })
        yield* sql`select 1`
        proxy.block()
        const fiber = yield* Effect.forkScoped(sql`select 2`)
        yield* Effect.sleep("50 millis")
        yield* Effect.timeout(Fiber.interrupt(fiber), "30 seconds")
        proxy.unblock()
        yield* Effect.retry(sql`select 3`, { times: 5 })
      }),
    )
  })

  describe(`${driver.name}: sessions that the server ends`, () => {
    it.live("an idle one is replaced without a failure", () =>
      Effect.gen(function* () {
        const [sql, watching] = [yield* open(driver, { maxConnections: 1 }), yield* observer]
        const pid = yield* pidOf(sql)
        yield* kill(watching, pid)
        yield* Effect.sleep("100 millis")
        assert.notStrictEqual(yield* pidOf(sql), pid)
      }),
    )

    it.live("a statement of one fails as a connection error, and the next statement works", () =>
      Effect.gen(function* () {
        const [sql, watching, mark] = [yield* open(driver, { maxConnections: 1 }), yield* observer, freshName()]
        const fiber = yield* Effect.forkScoped(Effect.exit(sql.unsafe(`select pg_sleep(60) /* ${mark} */`)))
        const [session] = yield* until("it runs", sessions(watching, mark), (all) => all.length > 0)
        yield* kill(watching, session?.pid ?? 0)
        assert.strictEqual(reasonOf(yield* Fiber.join(fiber)), "ConnectionError")
        yield* Effect.retry(sql`select 1`, { times: 2 })
      }),
    )

    it.live("fifty are killed under load, and the pool recovers with no statement answered wrongly", () =>
      Effect.gen(function* () {
        const [sql, watching] = [yield* open(driver, { maxConnections: 4 }), yield* observer]
        const mark = freshName()
        let answered = 0
        const asking = Effect.forEach(
          Array.from({ length: 400 }, (_, n) => n),
          (n) =>
            Effect.map(
              Effect.exit(sql.unsafe<{ readonly n: number }>(`select $1::integer as n, pg_sleep(0.01)::text /* ${mark} */`, [n])),
              (exit) => {
                if (Exit.isSuccess(exit)) {
                  assert.strictEqual(exit.value[0]?.n, n)
                  answered++
                } else assert.strictEqual(reasonOf(exit), "ConnectionError")
              },
            ),
          { concurrency: 8, discard: true },
        )
        const killing = Effect.repeat(
          Effect.andThen(
            watching.unsafe(
              `select pg_terminate_backend(pid) from pg_stat_activity where query like '%${mark}%' and pid <> pg_backend_pid() limit 1`,
            ),
            Effect.sleep("15 millis"),
          ),
          { times: 50 },
        )
        yield* Effect.all([asking, killing], { concurrency: 2 })
        assert.isAbove(answered, 100)
        yield* sql`select 1`
      }),
    )
  })

  describe(`${driver.name}: prepared statements`, () => {
    const prepared = (sql: SqlClient) =>
      Effect.map(sql<{ readonly statement: string }>`select statement from pg_prepared_statements order by prepare_time`, (rows) =>
        rows.map(({ statement }) => statement),
      )

    it.live("are prepared once and reused, one for each list of types", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1 })
        for (let n = 0; n < 5; n++) yield* sql.unsafe("select $1 as reused", [n])
        yield* sql.unsafe("select $1 as reused", ["text"])
        assert.strictEqual((yield* prepared(sql)).filter((text) => text.includes("reused")).length, 2)
      }),
    )

    it.live("are no more than the limit, and the one used last is kept", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1, preparedStatements: 10 })
        for (let n = 0; n < 40; n++) {
          yield* sql.unsafe("select 'kept' as kept")
          yield* sql.unsafe(`select ${n} as number_${n}`)
        }
        const statements = yield* prepared(sql)
        assert.isAtMost(statements.length, 11)
        assert.include(statements, "select 'kept' as kept")
        assert.include(statements.join(), "number_39")
      }),
    )

    it.live("work again after the table has changed, outside and inside a transaction", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1 })
        const table = freshName()
        yield* sql.unsafe(`create table ${table} (a integer)`)
        yield* sql.unsafe(`insert into ${table} values (1)`)
        const read = sql.unsafe(`select * from ${table}`)
        assert.deepStrictEqual(yield* read, [{ a: 1 }])
        yield* sql.unsafe(`alter table ${table} add column b text default 'x'`)
        assert.deepStrictEqual(yield* read, [{ a: 1, b: "x" }])
        assert.deepStrictEqual(yield* read, [{ a: 1, b: "x" }])
        yield* sql.unsafe(`alter table ${table} alter column a type text`)
        // The first statement of a transaction cannot be repeated in it: the transaction fails, and can be tried again.
        assert.deepStrictEqual(yield* Effect.retry(sql.withTransaction(read), { times: 1 }), [{ a: "1", b: "x" }])
        yield* sql.unsafe(`drop table ${table}`)
        yield* sql.unsafe(`create table ${table} (a integer)`)
        assert.deepStrictEqual(yield* read, [])
      }),
    )

    it.live("that the session has lost are prepared again", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1 })
        const read = sql.unsafe("select 1 as one")
        yield* read
        yield* read
        yield* sql.unsafe("deallocate all")
        assert.deepStrictEqual(yield* read, [{ one: 1 }])
        assert.deepStrictEqual(yield* read, [{ one: 1 }])
      }),
    )

    it.live("serve a fiber that waits for the connection when an equal one before it has failed", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1 })
        const exits = yield* Effect.scoped(
          Effect.flatMap(sql.reserve, (connection) =>
            Effect.forEach(["none", "7"], (n) => Effect.exit(connection.execute("select $1::integer as n", [n], undefined)), {
              concurrency: 2,
            }),
          ),
        )
        assert.isDefined(failureOf(exits[0] as Exit.Exit<unknown, SqlError>))
        assert.deepStrictEqual(exits[1], Exit.succeed([{ n: 7 }]))
      }),
    )

    it.live("are no more than the limit when fibers that wait for the connection are interrupted", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1, preparedStatements: 1 })
        yield* sql.withTransaction(
          Effect.gen(function* () {
            for (let n = 0; n < 10; n++) {
              yield* sql.unsafe(`select ${n} as kept_${n}`)
              const sleeping = yield* Effect.forkScoped(sql.unsafe("select pg_sleep(0.05)::text"))
              const waiting = yield* Effect.forkScoped(sql.unsafe(`select ${n} as interrupted_${n}`))
              yield* Effect.yieldNow
              yield* Fiber.interrupt(waiting)
              yield* Fiber.join(sleeping)
            }
          }),
        )
        assert.isAtMost((yield* prepared(sql)).length, 3)
      }),
    )

    it.live("are not used when they are switched off", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1, prepare: false })
        yield* sql.withTransaction(sql`select ${1}::integer`)
        assert.deepStrictEqual(yield* prepared(sql), [])
      }),
    )
  })

  describe(`${driver.name}: notifications`, () => {
    it.live("come in order, after the commit, and only of the channel", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 4 })
        const [one, other] = [freshName(), `${freshName()} "quoted"`]
        const [heard, others] = [yield* sql.listen(one), yield* sql.listen(other)]
        const written = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkScoped(
          sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`select pg_notify(${one}, 'committed')::text`
              yield* Deferred.succeed(written, undefined)
              yield* Effect.sleep("200 millis")
            }),
          ),
        )
        yield* Deferred.await(written)
        yield* Effect.ignore(sql.withTransaction(Effect.andThen(sql`select pg_notify(${one}, 'undone')::text`, Effect.fail("undone"))))
        assert.strictEqual(Queue.sizeUnsafe(heard), 0)
        yield* Fiber.join(fiber)
        yield* sql.notify(other, "ä€")
        for (let n = 0; n < 100; n++) yield* sql.notify(one, String(n))
        const payloads: Array<string> = []
        while (payloads.length < 101) payloads.push((yield* Queue.take(heard)).payload)
        assert.deepStrictEqual(payloads, ["committed", ...Array.from({ length: 100 }, (_, n) => String(n))])
        assert.strictEqual((yield* Queue.take(others)).payload, "ä€")
      }),
    )

    it.live("end with a failure when the session is lost, and can be listened to again", () =>
      Effect.gen(function* () {
        const [sql, watching, channel] = [yield* open(driver, { maxConnections: 2 }), yield* observer, freshName()]
        yield* Effect.scoped(
          Effect.gen(function* () {
            const heard = yield* sql.listen(channel)
            const [session] = yield* until("it listens", sessions(watching, channel), (all) => all.length > 0)
            yield* kill(watching, session?.pid ?? 0)
            const exit = yield* Effect.exit(Effect.timeout(Queue.take(heard), "30 seconds"))
            assert.isTrue(Exit.isFailure(exit))
          }),
        )
        const again = yield* sql.listen(channel)
        yield* sql.notify(channel, "after")
        assert.strictEqual((yield* Queue.take(again)).payload, "after")
      }),
    )

    it.live("are no longer received when the scope of the listener has closed", () =>
      Effect.gen(function* () {
        const [sql, channel] = [yield* open(driver, { maxConnections: 1 }), freshName()]
        yield* Effect.scoped(sql.listen(channel))
        assert.deepStrictEqual(yield* sql`select * from pg_listening_channels() as channel`, [])
      }),
    )
  })

  describe(`${driver.name}: the pool`, () => {
    it.live("opens no more connections than its limit, and serves everybody", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 3 })
        const pids = new Set<number>()
        const work = Effect.forEach(
          Array.from({ length: 30 }, (_, n) => n),
          (n) => (n % 2 === 0 ? sql.withTransaction(pidOf(sql)) : pidOf(sql)),
          { concurrency: "unbounded" },
        )
        for (const pid of yield* work) pids.add(pid)
        assert.isAtMost(pids.size, 3)
      }),
    )

    it.live("closes idle connections down to its minimum", () =>
      Effect.gen(function* () {
        const watching = yield* observer
        const mark = freshName()
        const sql = yield* open(driver, { minConnections: 1, maxConnections: 4, idleTimeout: "200 millis" })
        yield* Effect.all(
          Array.from({ length: 4 }, () => sql.unsafe(`select pg_sleep(0.2)::text /* ${mark} */`)),
          { concurrency: 4 },
        )
        const before = (yield* sessions(watching, mark)).length
        yield* until("idle ones are closed", sessions(watching, mark), (all) => all.length <= 1)
        assert.isAbove(before, 1)
        yield* sql`select 1`
      }),
    )

    it.live("replaces a connection that has reached its age, and not while it is used", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1, connectionTTL: "300 millis", idleTimeout: "1 minute" })
        const first = yield* pidOf(sql)
        const [before, after] = yield* sql.withTransaction(
          Effect.gen(function* () {
            const pid = yield* pidOf(sql)
            yield* sql`select pg_sleep(1)::text`
            return [pid, yield* pidOf(sql)]
          }),
        )
        assert.strictEqual(before, after)
        const later = yield* until("it is replaced", pidOf(sql), (pid) => pid !== first && pid !== after)
        assert.isAbove(later, 0)
      }),
    )

    it.live("closes all connections with its scope", () =>
      Effect.gen(function* () {
        const [watching, mark] = [yield* observer, freshName()]
        yield* Effect.scoped(Effect.flatMap(open(driver, { maxConnections: 2 }), (sql) => sql.unsafe(`select 1 /* ${mark} */`)))
        yield* until("they are closed", sessions(watching, mark), (all) => all.length === 0)
      }),
    )

    it.live("does not lose a place when a fiber that waits for a connection is interrupted", () =>
      Effect.gen(function* () {
        const sql = yield* open(driver, { maxConnections: 1 })
        const held = yield* Deferred.make<void>()
        const holder = yield* Effect.forkScoped(sql.withTransaction(Deferred.await(held)))
        yield* Effect.sleep("50 millis")
        const waiting = Array.from({ length: 10 }, () => Effect.timeoutOption(sql`select 1`, "20 millis"))
        yield* Effect.all(waiting, { concurrency: "unbounded" })
        yield* Deferred.succeed(held, undefined)
        yield* Fiber.join(holder)
        assert.strictEqual((yield* sql.withTransaction(sql`select 1 as one`)).length, 1)
      }),
    )
  })
}
