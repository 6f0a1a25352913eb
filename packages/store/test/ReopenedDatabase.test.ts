/** A database with every kind of row is closed and opened again: the same version reads every row as it was written, and continues. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import { Commands, type Verdict } from "../src/contract/Commands.ts"
import type { Commit, InstanceKey, InstanceSummary } from "../src/contract/Commit.ts"
import { Journal } from "../src/contract/Journal.ts"
import { Leases } from "../src/contract/Leases.ts"
import { Timers } from "../src/contract/Timers.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import * as SqliteStore from "../src/SqliteStore.ts"
import { claim, command } from "../testing/CommandKit.ts"
import { commit, event, snapshot } from "../testing/samples.ts"
import { freshDatabase } from "./support/Postgres.ts"
import { freshFile } from "./support/Sqlite.ts"

const machine = "order"
const queue = "mail"
const farOff = 4_000_000_000_000

const key = (id: string): InstanceKey => ({ machine, id })

const summary = (fields: Partial<InstanceSummary>): InstanceSummary => ({
  tag: "Moving",
  status: "running",
  reason: undefined,
  version: 1,
  needsOwner: false,
  owner: undefined,
  owes: false,
  ...fields,
})

/** An instance of each kind. */
const instances: ReadonlyArray<Commit> = [
  commit(key("new"), -1),
  commit(key("owned"), -1, { summary: summary({ needsOwner: true, owner: "node-1" }) }),
  commit(key("orphaned"), -1, { summary: summary({ needsOwner: true }) }),
  commit(key("final"), -1, { summary: summary({ tag: "Done", status: "final", version: 2 }) }),
  commit(key("stopped"), -1, { summary: summary({ status: "stopped", reason: "asked to" }) }),
  commit(key("owing"), -1, { summary: summary({ tag: "Completed", status: "final", owes: true }) }),
  commit(key("held"), -1),
  commit(key("found"), -1, { fields: JSON.stringify({ customer: "ada", total: 42, paid: true }) }),
  commit(key("rewritten"), -1),
  commit(key("busy"), -1, {
    setTimers: [
      { name: "late", entry: 0, due: 1_000 },
      { name: "dead", entry: 0, due: 900 },
      { name: "far", entry: 0, due: farOff },
    ],
    commands: [
      { key: "requested", slot: "mail", parameters: '{"to":"ada"}', sequence: 0, queue, priority: 3, ordered: true },
      { key: "after", slot: "mail", parameters: "{}", sequence: 0, queue, ordered: true },
    ],
  }),
]

const write = Effect.gen(function* () {
  const [journal, timers, leases, commands] = [yield* Journal, yield* Timers, yield* Leases, yield* Commands]
  for (const outcome of yield* journal.commit(instances)) assert.strictEqual(outcome._tag, "Stored")
  yield* journal.commit([
    commit(key("busy"), 0, {
      sequence: 40,
      events: Array.from({ length: 40 }, (_, index) => event(index + 1, index === 3 ? { dedupeId: "sent" } : {})),
      snapshot: snapshot(40),
    }),
    commit(key("rewritten"), 0),
  ])
  assert.isAbove(yield* journal.prune(key("busy"), 20), 0)
  assert.strictEqual((yield* journal.label(key("found"), { tenant: "acme" }))._tag, "Labelled")
  assert.isTrue(yield* journal.setIndexFill(machine, undefined, { definition: "v1", through: "final", filled: 4, isComplete: false }))
  assert.isTrue(yield* journal.rewrite(key("rewritten"), event(1, { tag: "Turned", body: "{}" })))
  assert.isTrue(yield* journal.setStatus({ ...key("held"), sequence: 0, status: "running" }, "held", "event 1 no longer fits"))
  assert.isTrue(yield* timers.bury({ ...key("busy"), name: "dead", entry: 0, due: 900 }, "it failed"))
  assert.lengthOf(yield* timers.claim({ machines: [machine], limit: 10, owner: "node-1", claimMillis: farOff }), 1)
  yield* leases.acquire("node", "node-1", 3_600_000)
  yield* commands.configure(queue, { concurrency: 100, rate: { limit: 50, intervalMillis: 1_000 } })
  yield* commands.configure("paused", { paused: true })
  yield* commands.configureGroup("paused", "acme", { concurrency: 2, rate: { limit: 10, intervalMillis: 1_000 } })
  for (const name of ["done", "failed", "retried", "handled", "skipped"]) yield* commands.enqueue([command(name, name)])
  yield* finish("done", { _tag: "Completed" })
  yield* finish("failed", { _tag: "Failed", problem: "no such address" })
  yield* finish("retried", { _tag: "Retry", problem: "busy", delayMillis: farOff })
  yield* finish("handled", { _tag: "Handled", problem: "declined" })
  assert.isTrue(yield* commands.skip("skipped-skipped", "not needed", "skipped"))
  assert.lengthOf(yield* claim(queue, { millis: 3_600_000 }), 1)
})

/** Claims the command of a queue and ends it. */
const finish = (name: string, verdict: Verdict) =>
  Effect.gen(function* () {
    const [found] = yield* claim(name)
    assert.isDefined(found)
    if (found === undefined) return
    const finished = [{ number: found.number, claim: found.claim, verdict }]
    yield* (yield* Commands).exchange({ worker: "worker", finished, wants: [], claimMillis: 1_000 })
  })

/** Everything that the services return. */
const read = Effect.gen(function* () {
  const [journal, timers, leases, commands] = [yield* Journal, yield* Timers, yield* Leases, yield* Commands]
  return {
    opened: yield* journal.openAll(instances),
    events: yield* Effect.forEach(instances, (one) => journal.events({ machine, id: one.id }, 0, 100)),
    listed: yield* journal.list({ machine }, 100),
    counts: yield* journal.count(machine),
    owners: yield* journal.owners(machine),
    found: yield* journal.search({ machine, where: [{ name: "customer", isLabel: false, equals: "ada" }] }, 10),
    fill: yield* journal.indexFill(machine),
    owing: yield* journal.page({ machine, owes: true }, 10),
    duplicate: yield* journal.findDuplicate(key("busy"), "sent"),
    dead: yield* timers.dead(10),
    claimable: yield* timers.claim({ machines: [machine], limit: 10, owner: "node-2", claimMillis: 1 }),
    lease: Option.map(yield* leases.get("node"), ({ remainingMillis: _, ...lease }) => lease),
    commands: (yield* commands.list({}, 100)).commands,
    commandCounts: yield* commands.counts,
    queues: yield* commands.queues,
    groups: yield* commands.groups("paused", 10),
  }
})

/** The tables of the store that have no row. */
const emptyTables = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  const tables = yield* sql.onDialectOrElse({
    pg: () => sql<{ name: string }>`select 'detent.' || tablename as name from pg_tables where schemaname = 'detent'`,
    orElse: () => sql<{ name: string }>`select name from sqlite_master where type = 'table' and name like 'detent%'`,
  })
  const found = yield* Effect.forEach(tables, ({ name }) =>
    Effect.map(sql.unsafe(`select 1 as any_row from ${name} limit 1`), (rows) => (rows.length === 0 ? [name] : [])),
  )
  // Instances that changed since the listing was last read; reading it empties the table.
  return found.flat().filter((name) => !name.endsWith("moves"))
})

const reopens = (store: () => Layer.Layer<Journal | Timers | Leases | Commands | SqlClient, unknown>) =>
  Effect.gen(function* () {
    const opened = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, Layer.fresh(store()), { local: true })
    yield* opened(write)
    const [before, empty] = yield* opened(Effect.all([read, emptyTables]))
    assert.deepStrictEqual(empty, [])
    assert.lengthOf(before.opened, instances.length)
    assert.deepStrictEqual(
      before.opened.map(({ record: { id, status, reason, needsOwner, owner, owes, revision } }) => ({
        id,
        status,
        reason,
        needsOwner,
        owner,
        owes,
        revision,
      })),
      instances.map(({ id, summary: { needsOwner, owner, owes, status, reason } }) => ({
        id,
        status: id === "held" ? "held" : status,
        reason: id === "held" ? "event 1 no longer fits" : reason,
        needsOwner,
        owner,
        owes,
        revision: id === "rewritten" ? 1 : undefined,
      })),
    )
    assert.deepStrictEqual(before.commands.map(({ status }) => status).sort(), [
      "completed",
      "failed",
      "handled",
      "pending",
      "pending",
      "processing",
      "skipped",
    ])
    assert.deepStrictEqual(
      before.found.instances.map(({ id, labels }) => ({ id, labels })),
      [{ id: "found", labels: '{"tenant":"acme"}' }],
    )
    assert.deepStrictEqual(
      before.groups.map(({ group, own }) => ({ group, concurrency: own?.concurrency })),
      [{ group: "acme", concurrency: 2 }],
    )
    assert.deepStrictEqual(yield* opened(read), before)
    const continued = Effect.gen(function* () {
      const [journal, commands] = [yield* Journal, yield* Commands]
      assert.deepStrictEqual(yield* journal.commit([commit(key("busy"), 40), commit(key("owned"), 0)]), [
        { _tag: "Stored" },
        { _tag: "Stored" },
      ])
      assert.strictEqual(yield* commands.retry({ queue: "failed" }), 1)
      return yield* read
    })
    const after = yield* opened(continued)
    assert.lengthOf(after.events[instances.findIndex(({ id }) => id === "busy")] ?? [], 22)
  })

describe("a database that is opened again", () => {
  it.live("on SQLite has every row as it was", () =>
    Effect.flatMap(freshFile, (filename) => reopens(() => SqliteStore.layer({ filename }))),
  )

  it.live("on PostgreSQL has every row as it was", () =>
    Effect.flatMap(freshDatabase, (url) => reopens(() => PostgresStore.layer({ url }))),
  )
})
