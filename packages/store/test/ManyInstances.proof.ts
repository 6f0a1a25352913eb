/** On a million instances and half as many timers: what lists, counts and background loops ask is served by an index. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Journal } from "../src/contract/Journal.ts"
import { Timers } from "../src/contract/Timers.ts"
import { postgresLayer } from "./support/Postgres.ts"
import { readByPostgres, statementsOf } from "./support/queries.ts"
import { sqliteLayer } from "./support/Sqlite.ts"

const total = Number(process.env["DETENT_MANY_INSTANCES"] ?? 1_000_000)

/** Of the machine `big`: nine tenths are done, one in 10,000 is held, one in 1,000 has work. `small` has ten instances. */
const instances = (numbers: string, prefix: string, flag: (condition: string) => string) => [
  `insert into ${prefix}instances (machine, id, tag, status, owner, sequence, version, needs_owner, owes, started_at, updated_at)
   select case when n <= 10 then 'small' else 'big' end, 'i-' || n,
     case when n % 10000 = 0 then 'Broken' when n % 10 = 0 then 'Waiting' else 'Done' end,
     case when n % 10000 = 0 then 'held' when n % 10 = 0 then 'running' else 'final' end,
     case when n % 1000 = 10 then 'node-' || (n % 7) end, 3, 1, ${flag("n % 1000 = 10")}, ${flag("n < 0")}, n, n
   from ${numbers}`,
  `insert into ${prefix}timers (instance, machine, name, entry, due)
   select instance, machine, 'wait', 1, 4000000000000 + instance from ${prefix}instances where instance % 2 = 0`,
  `insert into ${prefix}listing (instance, machine, id, tag, status, updated_at)
   select instance, machine, id, tag, status, updated_at from ${prefix}instances`,
  `insert into ${prefix}counts (machine, tag, instances) select machine, tag, count(*) from ${prefix}instances group by machine, tag`,
]

/** Fails the test where a statement reads a large table whole, or sorts what it reads of one. */
type Explain = (statement: string) => Effect.Effect<ReadonlyArray<string>, unknown, SqlClient>

const explainSqlite: Explain = (statement) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(sql.unsafe<{ readonly detail: string }>(`explain query plan ${statement}`), (rows) =>
      rows.map(({ detail }) => detail).filter((detail) => /^SCAN [ilte]$|^SCAN detent_(instances|listing|timers)$/.test(detail)),
    ),
  )

/** A generic plan is the same whatever the parameters are. */
const explainPostgres: Explain = (statement) =>
  Effect.flatMap(SqlClient, (sql) => {
    const parameters = new Set(statement.match(/\$\d+/g)).size
    const explained = sql.unsafe<{ readonly "QUERY PLAN": string }>(
      `explain (generic_plan) ${statement}`,
      Array.from({ length: parameters }, () => null),
    )
    return Effect.map(explained, (rows) =>
      rows.map((row) => row["QUERY PLAN"]).filter((line) => /Seq Scan on (instances|listing|timers)/.test(line)),
    )
  })

/** Runs an operation, and fails the test where it reads many rows or entries of an index. SQLite does not count them. */
type Measure = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, unknown, R | SqlClient>

/** The largest page has 500 rows, and reads as many of the index and of the table behind it. */
const mostRead = 5_000

const measurePostgres: Measure = (what, effect) =>
  Effect.map(readByPostgres(effect), ([result, read]) => {
    assert.isAtMost(read, mostRead, what)
    return result
  })

const asking =
  (explain: Explain, measure: Measure) =>
  <A, E, R>(what: string, effect: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const [result, statements] = yield* statementsOf(measure(what, effect))
      const explained = [...statements].filter((statement) => /^\s*(select|with)/i.test(statement))
      assert.isNotEmpty(explained, what)
      for (const statement of explained) assert.deepStrictEqual(yield* explain(statement), [], `${what}: ${statement}`)
      return result
    })

const ask = (explain: Explain, measure: Measure) =>
  Effect.gen(function* () {
    const asked = asking(explain, measure)
    const rare = total / 10_000
    const [journal, timers] = [yield* Journal, yield* Timers]
    const oldest = yield* asked("the oldest of a machine", journal.list({ machine: "big" }, 50))
    assert.strictEqual(oldest.instances[0]?.id, "i-11")
    const newest = yield* asked("the newest of a machine", journal.list({ machine: "big", order: "newest" }, 50))
    assert.strictEqual(newest.instances[0]?.id, `i-${total}`)
    const next = yield* asked("the page after", journal.list({ machine: "big", order: "newest" }, 50, newest.next))
    assert.strictEqual(next.instances[0]?.id, `i-${total - 50}`)
    const all = yield* asked("the newest of all", journal.list({ order: "newest" }, 50))
    assert.strictEqual(all.instances.length, 50)
    const broken = yield* asked("a rare state", journal.list({ machine: "big", tag: "Broken" }, 50))
    assert.strictEqual(broken.instances.length, Math.min(50, rare))
    const held = yield* asked("a status", journal.list({ machine: "big", status: "held", order: "newest" }, 50))
    assert.strictEqual(held.instances.length, Math.min(50, rare))
    assert.strictEqual(
      (yield* asked("a status of all machines", journal.list({ status: "held" }, 50))).instances.length,
      Math.min(50, rare),
    )
    assert.strictEqual((yield* asked("an id prefix", journal.page({ machine: "big", idPrefix: `i-${total / 10 - 1}` }, 50))).length, 11)
    assert.strictEqual((yield* asked("held by id", journal.page({ machine: "big", status: "held" }, 500))).length, rare)
    assert.strictEqual(
      (yield* asked("with work", journal.page({ machine: "big", needsOwner: true }, 500))).length,
      Math.min(500, total / 1000 - 1),
    )
    assert.strictEqual((yield* asked("the work of a node", journal.page({ machine: "big", owner: "node-3" }, 20))).length, 20)
    assert.strictEqual((yield* asked("owners", journal.owners("big"))).length, 7)
    const taken = yield* asked(
      "work that is taken over",
      journal.takeOver({ machine: "big", owner: "node-3", newestVersion: 1 }, "node-4", 20),
    )
    assert.strictEqual(taken.opened.length, 20)
    assert.strictEqual((yield* asked("ended, with parents to notify", journal.page({ machine: "big", owes: true }, 500))).length, 0)
    assert.strictEqual((yield* asked("any work at all", journal.list({ needsOwner: true, status: "running" }, 1))).instances.length, 1)
    const counts = yield* asked("counts by state", journal.count("big"))
    assert.deepStrictEqual(Object.fromEntries([...counts].sort()), { Broken: rare, Done: 0.9 * total - 9, Waiting: total / 10 - rare - 1 })
    const due = yield* asked("the next timer of a machine with few", timers.nextDue(["small"]))
    assert.isTrue(due._tag === "Some")
    // What `/health/ready` asks.
    assert.strictEqual((yield* asked("an instance that does not exist", journal.standings([{ machine: "", id: "" }]))).length, 1)
    // What is asked to warn of machines that no process has registered.
    yield* asked("machines with overdue timers", timers.unserved([], 0))
    yield* asked("a claim", timers.claim({ machines: ["small"], limit: 10, owner: "node", claimMillis: 1_000 }))
  })

describe(`${total.toLocaleString("en")} instances`, () => {
  it.live("158 SQLite answers lists, counts, owners and timers without a scan", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const numbers = `(with recursive c (n) as (select 1 union all select n + 1 from c where n < ${total}) select n from c)`
      for (const statement of instances(numbers, "detent_", (condition) => condition)) yield* sql.unsafe(statement)
      yield* ask(explainSqlite, (_, effect) => effect)
    }).pipe(Effect.provide(Layer.fresh(sqliteLayer))),
  )

  it.live("158 PostgreSQL answers lists, counts, owners and timers without a scan", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const numbers = `generate_series(1, ${total}) as s (n)`
      for (const statement of instances(numbers, "detent.", (condition) => `(${condition})`)) yield* sql.unsafe(statement)
      yield* sql`analyze`
      yield* ask(explainPostgres, measurePostgres)
    }).pipe(Effect.provide(Layer.fresh(postgresLayer))),
  )
})
