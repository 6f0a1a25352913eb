/** How processes learn of each other's events on PostgreSQL without polling. */

import * as PgClient from "@detent/store/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { EventJournal } from "effect/eventlog/EventJournal"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as References from "effect/References"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { freshDatabase } from "../../store/test/support/Postgres.ts"
import { EventFeed } from "../src/journal/EventFeed.ts"
import * as SqlEventJournal from "../src/SqlEventJournal.ts"

const open = (url: string, maxConnections: number, options: SqlEventJournal.JournalOptions = {}) =>
  Effect.flatMap(Effect.scope, (scope) =>
    Layer.buildWithMemoMap(
      SqlEventJournal.layer(options).pipe(Layer.provideMerge(PgClient.layer({ url: Redacted.make(url), maxConnections }))),
      Layer.makeMemoMapUnsafe(),
      scope,
    ),
  )

const write = (program: Context.Context<EventJournal>, event: string) =>
  Context.get(program, EventJournal).write({ event, primaryKey: "a", payload: new Uint8Array(), effect: () => Effect.void })

/** Records the events that a program reads from now on. */
const reading = (program: Context.Context<EventFeed>) =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    yield* Effect.forkScoped(
      Stream.runForEach(Context.get(program, EventFeed).stream(), ({ entry }) => Effect.sync(() => seen.push(entry.event))),
    )
    yield* Effect.sleep("100 millis")
    const until = (count: number) =>
      Effect.gen(function* () {
        while (seen.length < count) yield* Effect.sleep("5 millis")
        return seen
      })
    return until
  })

describe("announcements on PostgreSQL", () => {
  it.live("reach readers in other processes, also from inside a transaction once it has ended", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const reader = yield* open(url, 4, { pollInterval: "1 hour" })
      const writer = yield* open(url, 4)
      const until = yield* reading(reader)
      yield* write(writer, "First")
      yield* until(1)
      const sql = Context.get(writer, SqlClient)
      yield* sql.withTransaction(Effect.andThen(write(writer, "Second"), write(writer, "Third")))
      assert.deepStrictEqual(yield* until(3), ["First", "Second", "Third"])
    }),
  )

  it.live("arrive again after the connection was ended, and no event is missed in between", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const reader = yield* open(url, 4, { pollInterval: "1 hour" })
      const writer = yield* open(url, 4)
      const until = yield* reading(reader)
      yield* write(writer, "First")
      yield* until(1)
      const ended = yield* Context.get(writer, SqlClient)`
        select pg_terminate_backend(pid)::text from pg_stat_activity where datname = current_database() and query ilike 'listen%'`
      assert.strictEqual(ended.length, 1)
      yield* write(writer, "Meanwhile")
      yield* until(2)
      yield* write(writer, "After")
      assert.deepStrictEqual(yield* until(3), ["First", "Meanwhile", "After"])
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None")),
  )

  it.live("that cannot be read are ignored", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const reader = yield* open(url, 4, { pollInterval: "1 hour" })
      const until = yield* reading(reader)
      const sql = Context.get(reader, SqlClient)
      for (const payload of ["", "{", "[1,2,3]", '["detent","default","x"]', '["detent","other",9]', '["detent","default",9]'])
        yield* sql`select pg_notify('detent_domain_events', ${payload})::text`
      yield* write(yield* open(url, 4), "First")
      assert.deepStrictEqual(yield* until(1), ["First"])
      assert.strictEqual(yield* Context.get(reader, EventFeed).position, 1)
    }),
  )

  it.live("arrive also where the pool has only one connection, which stays free for statements", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const reader = yield* open(url, 1, { pollInterval: "1 hour" })
      const until = yield* reading(reader)
      yield* write(yield* open(url, 1), "First")
      yield* write(reader, "Second")
      assert.deepStrictEqual(yield* until(2), ["First", "Second"])
    }),
  )
})
