/** A database written by the version before opens, and all that is in it works: instances, timers, commands, and tables of the user's own. */
import { readFileSync } from "node:fs"
import { Event, Machine, Slot, State } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import * as Activity from "effect/workflow/Activity"
import * as DurableClock from "effect/workflow/DurableClock"
import * as Workflow from "effect/workflow/Workflow"
import * as CommandQueue from "../src/command/CommandQueue.ts"
import * as CommandWorker from "../src/command/CommandWorker.ts"
import * as DurableWorkflow from "../src/DurableWorkflow.ts"
import * as PgClient from "../src/driver/PgClient.ts"
import * as SqliteClient from "../src/driver/SqliteClient.ts"
import { Engine } from "../src/Engine.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import { migrateTables as migratePostgres } from "../src/postgres/migrate.ts"
import { initial as initialPostgres } from "../src/postgres/migrations/0001_initial.ts"
import { commands as commandsPostgres } from "../src/postgres/migrations/0002_commands.ts"
import { rounds as roundsPostgres } from "../src/postgres/migrations/0003_rounds.ts"
import { vacuum } from "../src/postgres/migrations/0004_vacuum.ts"
import * as SqliteStore from "../src/SqliteStore.ts"
import { migrateTables as migrateSqlite } from "../src/sqlite/migrate.ts"
import { initial as initialSqlite } from "../src/sqlite/migrations/0001_initial.ts"
import { commands as commandsSqlite } from "../src/sqlite/migrations/0002_commands.ts"
import { rounds as roundsSqlite } from "../src/sqlite/migrations/0003_rounds.ts"
import { blocks } from "../src/sqlite/migrations/0004_blocks.ts"
import { Commands } from "../src/store/Commands.ts"
import { Journal } from "../src/store/Journal.ts"
import { Timers } from "../src/store/Timers.ts"
import { command, enqueue, eventually, type StoreServices } from "../testing/command/CommandKit.ts"
import { commit, stored } from "../testing/samples.ts"
import { freshDatabase } from "./support/Postgres.ts"
import { freshFile } from "./support/Sqlite.ts"

const key = { machine: "order", id: "o-1" }

const insertOld = (prefix: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const statements = [
      `insert into ${prefix}instances (machine, id, tag, status, sequence, version, resident, started_at, updated_at, origin)
       values ('order', 'o-1', 'Working', 'running', 1, 1, true, 5, 6, '{}')`,
      `insert into ${prefix}events (instance, sequence, at, tag, body) select instance, 1, 6, 'Moved', '{}' from ${prefix}instances`,
      `insert into ${prefix}timers (instance, name, entry, due) select instance, 'late', 1, 10 from ${prefix}instances`,
      `insert into ${prefix}commands (instance, key, queue, slot, parameters, sequence, run_at, enqueued_at)
       select instance, 'order-7', 'mails', 'mail', '{}', 1, 6, 6 from ${prefix}instances`,
      `create view waiting as select key, queue from ${prefix}commands where status = 'pending'`,
      `create index own_slot on ${prefix}commands (slot)`,
    ]
    for (const statement of statements) yield* sql.unsafe(statement)
  })

const check = Effect.gen(function* () {
  const [journal, timers, commands, sql] = [yield* Journal, yield* Timers, yield* Commands, yield* SqlClient]
  assert.deepStrictEqual(yield* journal.owners("order"), [undefined])
  assert.deepStrictEqual(yield* journal.changeOwner([key], undefined, "node-a"), [key])
  assert.strictEqual((yield* journal.page({ machine: "order", owner: "node-a" }, 10)).length, 1)
  assert.strictEqual((yield* journal.events(key, 0, 10)).length, 1)
  assert.deepStrictEqual(yield* timers.unserved([], 0), ["order"])
  const claimed = yield* timers.claim({ machines: ["order"], limit: 5, owner: "node", claimMillis: 1_000 })
  assert.deepStrictEqual(claimed, [{ ...key, name: "late", entry: 1, due: 10, attempts: 1 }])
  const old = yield* commands.get("order-7")
  assert.deepInclude(Option.getOrThrow(old), { queue: "mails", status: "pending", instance: key })
  const tags = (outcomes: ReadonlyArray<{ readonly _tag: string }>) => outcomes.map(({ _tag }) => _tag)
  const again = [command("mails", "", { key: "order-7" }), command("invoices", "", { key: "order-7" })]
  assert.deepStrictEqual(tags(yield* enqueue(...again)), ["Existing", "Enqueued"])
  assert.deepStrictEqual(yield* journal.commit([commit(key, 1, { clearTimers: "all" })]), [stored])
  const waiting = yield* sql<{ readonly queue: string }>`select queue from waiting order by queue`
  assert.deepStrictEqual(
    waiting.map(({ queue }) => queue),
    ["invoices", "mails"],
  )
})

/** A process of the version before stores timers without their machine; they are found all the same. */
const checkTimerWithoutMachine = (prefix: string) =>
  Effect.gen(function* () {
    const [timers, sql] = [yield* Timers, yield* SqlClient]
    yield* sql.unsafe(`insert into ${prefix}timers (instance, name, entry, due) select instance, 'unmarked', 2, 20 from ${prefix}instances`)
    assert.isTrue(Option.isSome(yield* timers.nextDue(["order"])))
    assert.isTrue(Option.isNone(yield* timers.nextDue(["other"])))
    const claimed = yield* timers.claim({ machines: ["order"], limit: 5, owner: "node", claimMillis: 1_000 })
    assert.deepStrictEqual(
      claimed.map(({ name }) => name),
      ["unmarked"],
    )
  })

/** The tables as the version before made them. */
const tablesOfSqlite = migrateSqlite("detent_migrations", {
  "0001_initial": initialSqlite,
  "0002_commands": commandsSqlite,
  "0003_rounds": roundsSqlite,
  "0004_blocks": blocks,
})
const tablesOfPostgres = migratePostgres("detent", "migrations", {
  "0001_initial": initialPostgres("detent"),
  "0002_commands": commandsPostgres("detent"),
  "0003_rounds": roundsPostgres("detent"),
  "0004_vacuum": vacuum("detent"),
})

describe("databases of the version before", () => {
  it.live("SQLite", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      yield* Effect.provide(Effect.andThen(tablesOfSqlite, insertOld("detent_")), SqliteClient.layer({ filename }))
      const checked = Effect.gen(function* () {
        yield* check
        yield* checkTimerWithoutMachine("detent_")
        const sql = yield* SqlClient
        assert.strictEqual((yield* sql`select 1 from sqlite_master where name = 'own_slot' and tbl_name = 'detent_commands'`).length, 1)
      })
      yield* Effect.provide(checked, SqliteStore.layer({ filename }))
    }),
  )

  it.live("PostgreSQL", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const old = Effect.andThen(tablesOfPostgres, insertOld("detent."))
      yield* Effect.provide(old, PgClient.layer({ url: Redacted.make(url), maxConnections: 2 }))
      yield* Effect.provide(Effect.andThen(check, checkTimerWithoutMachine("detent.")), PostgresStore.layer({ url, maxConnections: 2 }))
    }),
  )
})

// ---- rows that an engine of the version before stored, taken from its tables

const S = State({ Open: { total: Schema.Number }, Working: { total: Schema.Number }, Done: { total: Schema.Number }, Late: {} })
const E = Event({ Add: { by: Schema.Number }, Begin: {}, Finish: {} })
const effects = Slot.Effects({ mail: { total: Schema.Number } })

/** The definitions that wrote the rows, with what they do listed. */
const definitions = () => {
  const done: Array<string> = []
  const note = (what: string) => Effect.sync(() => void done.push(what))
  const Order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Open({ total: 0 }) })
    .on(S.Open, E.Add, S.Open, ({ state, event }) => S.Open({ total: state.total + event.by }))
    .on(S.Open, E.Begin, S.Working, ({ state, effects }) => {
      effects.mail({ total: state.total })
      return S.Working({ total: state.total })
    })
    .on(S.Working, E.Add, S.Working, ({ state, event }) => S.Working({ total: state.total + event.by }))
    .on(S.Working, E.Finish, S.Done, ({ state }) => S.Done({ total: state.total }))
    .timeout(S.Open, "30 days", S.Late)
    .final(S.Done)
    .spawn(S.Working, ({ state }) => Effect.andThen(note(`work on ${state.total}`), Effect.never))
    .build({ mail: ({ total }) => note(`mail ${total}`) })
  const Mails = CommandQueue.make("mails", { payload: Schema.Struct({ to: Schema.String }) })
  const Reminder = Workflow.make("Reminder", { payload: { id: Schema.String }, success: Schema.String, idempotencyKey: ({ id }) => id })
  const step = (name: string, id: string) =>
    Activity.make({ name, success: Schema.String, execute: Effect.as(note(`${name} ${id}`), `${name} ${id}`) })
  const reminders = Reminder.toLayer(({ id }) =>
    Effect.gen(function* () {
      yield* step("before", id)
      yield* DurableClock.sleep({ name: "wait", duration: "30 days", inMemoryThreshold: 0 })
      return yield* step("after", id)
    }),
  )
  return { done, note, Order, Mails, Reminder, reminders }
}

const opensAndContinues = (prefix: string) =>
  Effect.gen(function* () {
    const [journal, sql, store] = [yield* Journal, yield* SqlClient, Layer.succeedContext(yield* Effect.context<StoreServices>())]
    const { done, note, Order, Mails, Reminder, reminders } = definitions()
    const key = (id: string) => ({ machine: "order", id })
    assert.deepStrictEqual(
      yield* journal.count("order"),
      new Map([
        ["Done", 1],
        ["Open", 1],
        ["Working", 1],
      ]),
    )
    yield* Effect.scoped(
      Effect.gen(function* () {
        const engine = Context.get(yield* Layer.build(Engine.layer({ worker: false }).pipe(Layer.provide(store))), Engine)
        yield* engine.register(Order)
        yield* eventually(
          Effect.sync(() => done),
          (all) => all.length > 0,
        )
        assert.deepStrictEqual(done, ["work on 7"], "an instance with work that has no owner is run")
        const open = yield* engine.ensure(Order, "o-open")
        assert.deepStrictEqual(yield* open.state, S.Open({ total: 7 }))
        yield* open.send(E.Add({ by: 5 }), { id: "webhook-1" })
        assert.deepStrictEqual(yield* open.state, S.Open({ total: 7 }), "an event that is stored is answered, not repeated")
        assert.strictEqual((yield* engine.start(Order, "o-new")).id, "o-new")
        const working = yield* engine.ensure(Order, "o-working")
        yield* working.send(E.Add({ by: 1 }))
        assert.deepStrictEqual(yield* working.state, S.Working({ total: 8 }))
        assert.strictEqual((yield* (yield* engine.ensure(Order, "o-done")).snapshot).status, "final")
      }),
    )
    done.length = 0
    yield* sql.unsafe(`update ${prefix}timers set due = 1`)
    const mails = Mails.handler(({ to }, { key }) => note(`${key} to ${to}`))
    const layer = Layer.mergeAll(Engine.layer(), CommandWorker.layer([mails]), reminders.pipe(Layer.provideMerge(DurableWorkflow.layer())))
    const built = yield* Layer.build(layer.pipe(Layer.provide(store)))
    yield* Context.get(built, Engine).register(Order)
    yield* eventually(Effect.map(journal.open(key("o-open")), Option.getOrThrow), ({ record }) => record.tag === "Late")
    yield* Effect.provide(Mails.enqueue({ to: "b@example.org" }, { key: "order-7" }), store)
    assert.strictEqual(yield* Effect.provide(Reminder.execute({ id: "r-1" }), built), "after r-1")
    yield* eventually(
      Effect.sync(() => done),
      (all) => all.length >= 5,
    )
    assert.sameMembers(done, ["work on 8", "mail 7", "mail 0", "order-7 to a@example.org", "after r-1"])
  })

const insertRows = (path: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const text = readFileSync(new URL(path, import.meta.url), "utf8")
    for (const statement of text.split(";\n").filter((line) => line !== "")) yield* sql.unsafe(statement)
  })

describe("what an engine of the version before has stored opens and continues", () => {
  it.live("SQLite", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const old = Effect.andThen(tablesOfSqlite, insertRows("./support/versionBefore.sqlite.sql"))
      yield* Effect.provide(old, SqliteClient.layer({ filename }))
      yield* Effect.provide(opensAndContinues("detent_"), SqliteStore.layer({ filename }))
    }),
  )

  it.live("PostgreSQL", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const old = Effect.andThen(tablesOfPostgres, insertRows("./support/versionBefore.postgres.sql"))
      yield* Effect.provide(old, PgClient.layer({ url: Redacted.make(url), maxConnections: 2 }))
      yield* Effect.provide(opensAndContinues("detent."), PostgresStore.layer({ url }))
    }),
  )
})
