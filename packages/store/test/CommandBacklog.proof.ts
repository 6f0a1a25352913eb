/** A long history slows neither claims, which read as many pages with hundreds of thousands of finished commands as without, nor counts and lists. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Commands } from "../src/contract/Commands.ts"
import { Journal } from "../src/contract/Journal.ts"
import { openCommands as postgresCommands } from "../src/postgres/exchangeFunction.ts"
import { openCommands as sqliteCommands } from "../src/sqlite/commandStatements.ts"
import { claimNames, command, enqueue } from "../testing/CommandKit.ts"
import { commit } from "../testing/samples.ts"
import { postgresLayer } from "./support/Postgres.ts"
import { readByPostgres, statementsOf } from "./support/queries.ts"
import { sqliteLayer } from "./support/Sqlite.ts"

/** So many that a scan of them reads more pages than any of these questions may. */
const history = 1_000_000

const ready = Effect.forEach([0, 1, 2, 3], (part) =>
  enqueue(...Array.from({ length: 250 }, (_, index) => command("jobs", `${part}-${index}`))),
)

/** The pages that PostgreSQL read, and its plan. */
const explained = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql.unsafe("vacuum analyze detent.commands")
  yield* sql.unsafe("set enable_seqscan = off")
  const statement = postgresCommands("detent", "'jobs'", "0", "100")
  const rows = yield* sql.unsafe<{ readonly "QUERY PLAN": string }>(`explain (analyze, buffers, timing off, summary off) ${statement}`)
  const plan = rows.map((row) => row["QUERY PLAN"])
  const buffers = plan.find((line) => line.includes("Buffers: shared")) ?? ""
  const pages = [...buffers.matchAll(/(?:hit|read)=(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0)
  return { plan: plan.join("\n"), pages }
})

/** The parts of a statement's plan that read all commands. */
type Explain = (statement: string) => Effect.Effect<ReadonlyArray<string>, unknown, SqlClient>

const explainSqlite: Explain = (statement) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(sql.unsafe<{ readonly detail: string }>(`explain query plan ${statement}`), (rows) =>
      rows.map(({ detail }) => detail).filter((detail) => /^SCAN (c|detent_commands)$/.test(detail)),
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
    return Effect.map(explained, (rows) => rows.map((row) => row["QUERY PLAN"]).filter((line) => line.includes("Seq Scan on commands")))
  })

const asking =
  (explain: Explain) =>
  <A, E, R>(what: string, effect: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const [result, statements] = yield* statementsOf(effect)
      assert.isNotEmpty([...statements], what)
      for (const statement of statements) assert.deepStrictEqual(yield* explain(statement), [], `${what}: ${statement}`)
      return result
    })

/** What metrics, readiness and lists ask about commands. */
const ask = (explain: Explain) =>
  Effect.gen(function* () {
    const asked = asking(explain)
    const commands = yield* Commands
    const open = [
      { queue: "errands", status: "pending", count: 200 },
      { queue: "jobs", status: "pending", count: 998 },
      { queue: "jobs", status: "processing", count: 2 },
    ] as const
    assert.deepStrictEqual(yield* asked("the backlog", commands.backlog), open)
    assert.deepStrictEqual(yield* asked("counts", commands.counts), [
      open[0],
      { queue: "jobs", status: "completed", count: history },
      ...open.slice(1),
    ])
    const pending = yield* asked("a list of what is pending", commands.list({ status: "pending" }, 10))
    assert.strictEqual(pending.commands.length, 10)
    const processing = yield* asked("a list of what is executed", commands.list({ machine: "errand", status: "processing" }, 1))
    assert.deepStrictEqual(processing.commands, [])
    assert.strictEqual((yield* asked("dead letters", commands.list({ status: "failed" }, 10))).commands.length, 0)
    assert.strictEqual(yield* asked("how many would be retried", commands.countRetries({ queue: "jobs" })), 0)
  })

const errands = Effect.gen(function* () {
  const instances = Array.from({ length: 200 }, (_, index) => ({ machine: "errand", id: `e-${index}` }))
  const { commit: commitAll } = yield* Journal
  yield* commitAll(instances.map((instance) => commit(instance, -1)))
  yield* enqueue(...instances.map((instance) => command("errands", instance.id, { instance, ordered: true })))
  return instances
})

describe(`${history} finished commands`, () => {
  it.live("on PostgreSQL: the claim reads the index of open commands, and no more pages than without them", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* ready
      const before = yield* explained
      yield* sql.unsafe(`
          insert into detent.commands (key, queue, slot, parameters, sequence, status, run_at, enqueued_at, finished_at)
          select 'old-' || lpad(n::text, 9, '0'), 'jobs', 'work', '{}', -1, 'completed', 0, 0, n from generate_series(1, ${history}) n`)
      const after = yield* explained
      for (const { plan } of [before, after]) {
        assert.match(plan, /Index Scan using commands_open/)
        assert.notMatch(plan, /Seq Scan|Bitmap/)
      }
      assert.isAtMost(after.pages, before.pages * 1.5 + 5, `${before.pages} pages before, ${after.pages} after`)
      assert.deepStrictEqual(yield* claimNames("jobs", { limit: 2 }), ["0-0", "0-1"])
      yield* sql.unsafe("reset enable_seqscan")
      const instances = yield* errands
      // Counts of statements before this transaction may not be reported yet, so the difference counts.
      const scans = Effect.map(
        sql<{ readonly seq_scan: bigint }>`
            select seq_scan from pg_stat_xact_user_tables where schemaname = 'detent' and relname = 'commands'`,
        ([row]) => Number(row?.seq_scan ?? 0),
      )
      const scanned = sql.withTransaction(
        Effect.gen(function* () {
          const earlier = yield* scans
          assert.deepStrictEqual(yield* (yield* Commands).queuesOfNext(instances), new Set(["errands"]))
          return (yield* scans) - earlier
        }),
      )
      assert.strictEqual(yield* scanned, 0, "the next ordered commands are found without a scan")
      const [unserved, read] = yield* readByPostgres(Effect.flatMap(Commands, (commands) => commands.unserved(0)))
      assert.deepStrictEqual(unserved, ["errand"])
      assert.isAtMost(read, 2_000, "machines whose commands wait are found without a scan")
      const finished = yield* sql.unsafe<{ readonly "QUERY PLAN": string }>(
        "explain select id from detent.commands where finished_at < 10 and status in ('completed') limit 1000",
      )
      assert.match(finished.map((row) => row["QUERY PLAN"]).join("\n"), /commands_finished/)
      yield* sql`insert into detent.finished (queue, status, shard, commands) values ('jobs', 'completed', 0, ${history})`
      yield* sql`analyze`
      yield* ask(explainPostgres)
    }).pipe(Effect.provide(postgresLayer)),
  )

  it.live("on SQLite: the claim reads the index of open commands", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* ready
      yield* sql.unsafe(`
          with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${history})
          insert into detent_commands (key, queue, slot, parameters, sequence, status, run_at, enqueued_at, finished_at)
          select printf('old-%09d', n), 'jobs', 'work', '{}', -1, 'completed', 0, 0, n from numbers`)
      yield* sql.unsafe("analyze")
      const plan = yield* sql.unsafe<{ readonly detail: string }>(`explain query plan ${sqliteCommands}`, ["jobs", 0, 100])
      const [first] = plan.map(({ detail }) => detail)
      assert.match(first ?? "", /USING INDEX detent_commands_open \(queue=\? AND group_name=\?\)/)
      assert.isTrue(
        plan.every(({ detail }) => !/SCAN|TEMP B-TREE/.test(detail)),
        plan.map(({ detail }) => detail).join("\n"),
      )
      assert.deepStrictEqual(yield* claimNames("jobs", { limit: 2 }), ["0-0", "0-1"])
      yield* errands
      const [unserved, statements] = yield* statementsOf((yield* Commands).unserved(0))
      assert.deepStrictEqual(unserved, ["errand"])
      for (const statement of statements) {
        const steps = yield* sql.unsafe<{ readonly detail: string }>(`explain query plan ${statement}`)
        const others = steps.filter(
          ({ detail }) => /^SCAN i\b|^(SCAN|SEARCH) o\b/.test(detail) && !/^SEARCH o USING .*detent_commands_(open|waiting)/.test(detail),
        )
        assert.deepStrictEqual(others, [], statement)
      }
      yield* sql`insert into detent_finished (queue, status, commands) values ('jobs', 'completed', ${history})`
      yield* ask(explainSqlite)
    }).pipe(Effect.provide(sqliteLayer)),
  )
})
