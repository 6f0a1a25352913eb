/** A database written by the version before opens, and all that is in it works: instances, timers, commands, and tables of the user's own. */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/unstable/sql/SqlClient"
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
import { command, enqueue } from "../testing/command/CommandKit.ts"
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

describe("databases of the version before", () => {
  it.live("SQLite", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const migrations = {
        "0001_initial": initialSqlite,
        "0002_commands": commandsSqlite,
        "0003_rounds": roundsSqlite,
        "0004_blocks": blocks,
      }
      const old = Effect.andThen(migrateSqlite("detent_migrations", migrations), insertOld("detent_"))
      yield* Effect.provide(old, SqliteClient.layer({ filename }))
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
      const migrations = {
        "0001_initial": initialPostgres("detent"),
        "0002_commands": commandsPostgres("detent"),
        "0003_rounds": roundsPostgres("detent"),
        "0004_vacuum": vacuum("detent"),
      }
      const old = Effect.andThen(migratePostgres("detent", "migrations", migrations), insertOld("detent."))
      yield* Effect.provide(old, PgClient.layer({ url: Redacted.make(url), maxConnections: 2 }))
      yield* Effect.provide(Effect.andThen(check, checkTimerWithoutMachine("detent.")), PostgresStore.layer({ url, maxConnections: 2 }))
    }),
  )
})
