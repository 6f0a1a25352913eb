/** The behaviour of the journal beyond that of the journal in memory. */
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Entry, EventJournal, EventJournalError, makeEntryIdUnsafe, makeRemoteIdUnsafe, RemoteEntry } from "effect/eventlog/EventJournal"
import { StoreId } from "effect/eventlog/EventLogMessage"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { EventFeed } from "../src/journal/EventFeed.ts"
import * as SqlEventJournal from "../src/SqlEventJournal.ts"
import { clientOf, type Database, onEachDatabase } from "./Databases.ts"

type Services = EventJournal | EventFeed | SqlClient

/** Opens programs on one database; they live until the scope ends. */
const programsOn = (database: Database) =>
  Effect.gen(function* () {
    const address = yield* database.address
    const scope = yield* Effect.scope
    return (options: SqlEventJournal.JournalOptions = {}): Effect.Effect<Context.Context<Services>, unknown> =>
      Layer.buildWithMemoMap(SqlEventJournal.layer(options).pipe(Layer.provideMerge(clientOf(address))), Layer.makeMemoMapUnsafe(), scope)
  })

const write = (journal: EventJournal["Service"], event: string, primaryKey = "a", payload: Uint8Array = new Uint8Array([1])) =>
  journal.write({ event, primaryKey, payload, effect: (entry) => Effect.succeed(entry) })

const numbered = (count: number) => Array.from({ length: count }, (_, n) => `Event${n}`)

onEachDatabase("event journal", (database) => {
  it.live("events written at once share a few statements, and each has its own position", () =>
    Effect.gen(function* () {
      const program = yield* (yield* programsOn(database))()
      const journal = Context.get(program, EventJournal)
      const sql = Context.get(program, SqlClient)
      yield* countingFlushes(database, sql)
      yield* Effect.forEach(numbered(500), (event) => write(journal, event), { concurrency: "unbounded" })
      const positions = yield* Effect.map(sql`select position from ${sql.literal(database.events)} order by position`, (rows) =>
        rows.map(({ position }) => Number(position)),
      )
      assert.deepStrictEqual(
        positions,
        Array.from({ length: 500 }, (_, n) => n + 1),
      )
      const [{ flushes } = { flushes: 0 }] = yield* sql<{ flushes: number }>`select count(*) as flushes from flushes`
      assert.isBelow(Number(flushes), 10)
    }),
  )

  it.live("changes reach every process, in the order of the positions", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const [one, two] = [Context.get(yield* open(), EventJournal), Context.get(yield* open(), EventJournal)]
      yield* write(one, "Before")
      const subscriptions = yield* Effect.all([one.changes, two.changes])
      for (const event of numbered(30)) yield* write(one, `One${event}`)
      yield* Effect.forEach(numbered(30), (event) => write(two, `Two${event}`), { concurrency: "unbounded" })
      const [seen, seenElsewhere] = yield* Effect.all(subscriptions.map((subscription) => PubSub.takeBetween(subscription, 60, 60)))
      assert.strictEqual(seen?.length, 60)
      assert.deepStrictEqual(
        seen?.map(({ event }) => event),
        seenElsewhere?.map(({ event }) => event),
      )
      assert.deepStrictEqual(
        seen?.slice(0, 30).map(({ event }) => event),
        numbered(30).map((event) => `One${event}`),
      )
    }),
  )

  it.live("events of a transaction reach subscribers when it is committed, and never when it is rolled back", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const [program, other] = [yield* open(), yield* open()]
      const journal = Context.get(program, EventJournal)
      const sql = Context.get(program, SqlClient)
      const subscription = yield* Context.get(other, EventJournal).changes
      yield* Effect.flip(sql.withTransaction(Effect.andThen(write(journal, "Undone"), Effect.fail("no"))))
      yield* sql.withTransaction(Effect.andThen(write(journal, "First"), write(journal, "Second")))
      yield* write(journal, "Third")
      const seen = yield* PubSub.takeBetween(subscription, 3, 3)
      assert.deepStrictEqual(
        seen.map(({ event }) => event),
        ["First", "Second", "Third"],
      )
      const positions = (yield* Context.get(program, EventFeed).read({ after: 0 })).map(({ position }) => position)
      assert.deepStrictEqual(positions, [1, 2, 3])
    }),
  )

  it.live("a reader resumes after the position it has seen, in another process too", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const program = yield* open()
      const journal = Context.get(program, EventJournal)
      yield* Effect.forEach(numbered(1_200), (event) => write(journal, event), { concurrency: "unbounded" })
      const first = yield* Stream.runCollect(Stream.take(Context.get(program, EventFeed).stream(), 700))
      const last = first.at(-1)?.position ?? 0
      assert.strictEqual(last, 700)
      const resumed = yield* Effect.forkChild(
        Stream.runCollect(Stream.take(Context.get(yield* open(), EventFeed).stream({ after: last }), 600)),
      )
      yield* Effect.sleep("50 millis")
      yield* Effect.forEach(numbered(100), (event) => write(journal, `Later${event}`), { concurrency: "unbounded" })
      const rest = yield* Fiber.join(resumed)
      assert.deepStrictEqual(
        [...first, ...rest].map(({ position }) => position),
        Array.from({ length: 1_300 }, (_, n) => n + 1),
      )
      assert.strictEqual(new Set([...first, ...rest].map(({ entry }) => entry.idString)).size, 1_300)
    }),
  )

  it.live("a position that the journal never had is an error, and is not waited for", () =>
    Effect.gen(function* () {
      const program = yield* (yield* programsOn(database))()
      yield* write(Context.get(program, EventJournal), "One")
      const feed = Context.get(program, EventFeed)
      for (const after of [2, 1e9, -1, 0.5, Number.NaN]) {
        for (const failure of [yield* Effect.flip(Stream.runHead(feed.stream({ after }))), yield* Effect.flip(feed.read({ after }))]) {
          assert.strictEqual(failure._tag, "PositionUnknown")
          assert.include(failure.message, "the last one is 1")
        }
      }
      for (const limit of [0, -5, 1e12]) assert.strictEqual((yield* feed.read({ after: 0, limit })).length, 1)
    }),
  )

  it.live("a page of large events is short, whatever limit is asked for", () =>
    Effect.gen(function* () {
      const program = yield* (yield* programsOn(database))()
      const journal = Context.get(program, EventJournal)
      const feed = Context.get(program, EventFeed)
      yield* Effect.forEach(numbered(12), (event) => write(journal, event, "a", new Uint8Array(1024 * 1024).fill(7)))
      assert.isBelow((yield* feed.read({ after: 0 })).length, 6)
      const all = yield* Stream.runCollect(Stream.take(feed.stream(), 12))
      assert.deepStrictEqual(
        all.map(({ entry }) => [entry.event, entry.payload.length, entry.payload[1024 * 1024 - 1]]),
        numbered(12).map((event) => [event, 1024 * 1024, 7]),
      )
      assert.strictEqual((yield* feed.read({ after: 0, limit: 2 })).length, 2)
    }),
  )

  it.live("an event that cannot be stored is refused, and does not disturb those written with it", () =>
    Effect.gen(function* () {
      const program = yield* (yield* programsOn(database))()
      const journal = Context.get(program, EventJournal)
      const attempts = [
        write(journal, "Good"),
        write(journal, "TooLarge", "a", new Uint8Array(8 * 1024 * 1024 + 1)),
        write(journal, "Nul\u0000"),
        write(journal, "HalfACharacter", "\ud800"),
        write(journal, "LongKey", "k".repeat(3_000)),
        write(journal, "Empty", "", new Uint8Array()),
        write(journal, "Quoted", `"'\\; drop table pets; -- 🐟`),
        write(journal, "Largest", "a", new Uint8Array(8 * 1024 * 1024)),
      ]
      const results = yield* Effect.all(attempts.map(Effect.result), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        results.map((result) => (result._tag === "Success" ? "stored" : result.failure.cause instanceof SqlEventJournal.EntryRefused)),
        ["stored", true, true, true, true, "stored", "stored", "stored"],
      )
      const entries = yield* journal.entries
      assert.sameMembers(
        entries.map(({ event, primaryKey, payload }) => `${event} ${primaryKey} ${payload.length}`),
        ["Good a 1", "Empty  0", `Quoted "'\\; drop table pets; -- 🐟 1`, `Largest a ${8 * 1024 * 1024}`],
      )
    }),
  )

  it.live("an event without a payload is stored as one, also alone", () =>
    Effect.gen(function* () {
      const program = yield* (yield* programsOn(database))()
      const journal = Context.get(program, EventJournal)
      yield* write(journal, "Empty", "", new Uint8Array())
      assert.deepStrictEqual(
        (yield* journal.entries).map(({ event, primaryKey, payload }) => [event, primaryKey, payload]),
        [["Empty", "", new Uint8Array()]],
      )
    }),
  )

  it.live("a row that is not an event stops every reader with its position, is never skipped, and can be repaired", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const program = yield* open()
      const journal = Context.get(program, EventJournal)
      const sql = Context.get(program, SqlClient)
      const feed = Context.get(yield* open(), EventFeed)
      for (const event of numbered(3)) yield* write(journal, event)
      const read: Array<string> = []
      const reader = yield* Effect.forkChild(
        Effect.result(Stream.runForEach(feed.stream(), ({ entry }) => Effect.sync(() => read.push(entry.event)))),
      )
      while (read.length < 3) yield* Effect.sleep("5 millis")
      yield* damage(database, sql)
      yield* write(journal, "Event4")
      const failure = yield* Fiber.join(reader)
      assert.strictEqual(failure._tag, "Failure")
      assert.deepStrictEqual(read, numbered(3))
      for (const failure of [
        yield* Effect.flip(journal.entries),
        yield* Effect.flip(journal.withRemoteUncommited(makeRemoteIdUnsafe(), Effect.succeed)),
      ]) {
        assert.instanceOf(failure, EventJournalError)
        assert.instanceOf(failure.cause, SqlEventJournal.EntryUnreadable)
        assert.include(String(failure.cause), "position 4")
      }
      const unreadable = yield* Effect.flip(feed.read({ after: 0 }))
      assert.strictEqual(unreadable._tag, "EntryUnreadable")
      yield* sql`delete from ${sql.literal(database.events)} where position = 4`
      assert.deepStrictEqual(
        (yield* journal.entries).map(({ event }) => event),
        [...numbered(3), "Event4"],
      )
    }),
  )

  it.live("a fiber that holds a lock does not wait for it again, and a failure under the lock rolls back", () =>
    Effect.gen(function* () {
      const program = yield* (yield* programsOn(database))()
      const journal = Context.get(program, EventJournal)
      const locked = journal.withLock(StoreId.make("one"))
      yield* locked(locked(write(journal, "Stored")))
      assert.strictEqual(yield* Effect.flip(locked(Effect.andThen(write(journal, "Undone"), Effect.fail("no" as const)))), "no")
      yield* locked(write(journal, "After"))
      assert.deepStrictEqual(
        (yield* journal.entries).map(({ event }) => event),
        ["Stored", "After"],
      )
    }),
  )

  it.live("of progress only the latest per key is kept, from any process", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const options = { keepLatest: ["Progress"] }
      const journals = [yield* open(options), yield* open(options)].map((program) => Context.get(program, EventJournal))
      yield* Effect.forEach(
        Array.from({ length: 100 }).keys(),
        (n) => {
          const journal = journals[n % 2]
          return journal === undefined
            ? Effect.void
            : write(journal, n % 10 === 0 ? "Step" : "Progress", `batch ${n % 3}`, new Uint8Array([n]))
        },
        { concurrency: 8 },
      )
      const entries = yield* journals[0]?.entries ?? Effect.succeed([])
      const progress = entries.filter(({ event }) => event === "Progress")
      assert.strictEqual(entries.length - progress.length, 10)
      assert.deepStrictEqual(progress.map(({ primaryKey }) => primaryKey).sort(), ["batch 0", "batch 1", "batch 2"])
    }),
  )

  it.live("progress that arrives late from a remote does not replace newer progress", () =>
    Effect.gen(function* () {
      const program = yield* (yield* programsOn(database))({ keepLatest: ["Progress"] })
      const journal = Context.get(program, EventJournal)
      const remoteId = makeRemoteIdUnsafe()
      const now = Date.now()
      const foreign = (remoteSequence: number, primaryKey: string, age: number) =>
        new RemoteEntry({
          remoteSequence,
          entry: new Entry({
            id: makeEntryIdUnsafe({ msecs: now - age }),
            event: "Progress",
            primaryKey,
            payload: new Uint8Array([remoteSequence]),
          }),
        })
      yield* write(journal, "Progress", "written here")
      const entries = [
        foreign(0, "written here", 5_000),
        foreign(1, "from elsewhere", 3_000),
        foreign(2, "from elsewhere", 1_000),
        foreign(3, "from elsewhere", 2_000),
      ]
      yield* journal.writeFromRemote({ remoteId, entries, effect: () => Effect.void })
      assert.deepStrictEqual(
        (yield* journal.entries).map(({ primaryKey, payload }) => [primaryKey, [...payload]]),
        [
          ["from elsewhere", [2]],
          ["written here", [1]],
        ],
      )
      assert.strictEqual(yield* journal.nextRemoteSequence(remoteId), 4)
      // The same events again change nothing.
      yield* journal.writeFromRemote({ remoteId, entries, effect: () => Effect.void })
      assert.strictEqual((yield* journal.entries).length, 2)
    }),
  )

  it.live("journals of different names share nothing", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const [red, blue] = [yield* open({ journal: "red" }), yield* open({ journal: "blue" })]
      yield* write(Context.get(red, EventJournal), "One")
      yield* write(Context.get(blue, EventJournal), "Two")
      yield* Context.get(red, EventJournal).destroy
      assert.deepStrictEqual(yield* Context.get(red, EventJournal).entries, [])
      assert.deepStrictEqual(
        (yield* Context.get(blue, EventFeed).read({ after: 0 })).map(({ position, entry }) => [position, entry.event]),
        [[1, "Two"]],
      )
    }),
  )

  it.live("no reader sees events from before another process emptied the journal", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const [program, other] = [yield* open(), yield* open()]
      for (const event of numbered(3)) yield* write(Context.get(program, EventJournal), event)
      const feed = Context.get(program, EventFeed)
      assert.strictEqual((yield* Stream.runCollect(Stream.take(feed.stream(), 3))).length, 3)
      yield* Context.get(other, EventJournal).destroy
      yield* write(Context.get(other, EventJournal), "New")
      const seen = yield* Stream.runHead(feed.stream())
      assert.deepStrictEqual(seen._tag === "Some" ? [seen.value.position, seen.value.entry.event] : [], [4, "New"])
    }),
  )

  it.live("a reader that begins inside a transaction continues after its end", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const program = yield* open()
      const sql = Context.get(program, SqlClient)
      const journal = Context.get(program, EventJournal)
      const subscription = yield* sql.withTransaction(Effect.andThen(write(journal, "Inside"), journal.changes))
      yield* Effect.sleep("50 millis")
      yield* write(journal, "After")
      yield* write(Context.get(yield* open(), EventJournal), "Elsewhere")
      const seen = yield* PubSub.takeBetween(subscription, 2, 2)
      assert.deepStrictEqual(
        seen.map(({ event }) => event),
        ["After", "Elsewhere"],
      )
    }),
  )

  it.live("an emptied journal keeps its position: no reader takes a new event for an old one", () =>
    Effect.gen(function* () {
      const program = yield* (yield* programsOn(database))()
      const journal = Context.get(program, EventJournal)
      for (const event of numbered(3)) yield* write(journal, event)
      const read: Array<string> = []
      const feed = Stream.tap(Context.get(program, EventFeed).stream({ after: 2 }), ({ entry }) =>
        Effect.sync(() => read.push(entry.event)),
      )
      const reader = yield* Effect.forkChild(Stream.runHead(Stream.drop(feed, 1)))
      while (read.length === 0) yield* Effect.sleep("5 millis")
      yield* journal.destroy
      yield* write(journal, "New")
      const seen = yield* Fiber.join(reader)
      assert.deepStrictEqual(seen._tag === "Some" ? [seen.value.position, seen.value.entry.event] : [], [4, "New"])
    }),
  )

  it.live("accepted events are stored before a journal closes, and no event is accepted after", () =>
    Effect.gen(function* () {
      const address = yield* database.address
      const layer = SqlEventJournal.layer().pipe(Layer.provideMerge(clientOf(address)))
      const closed = yield* Effect.provide(
        Effect.gen(function* () {
          const journal = yield* EventJournal
          for (const event of numbered(50)) Effect.runFork(write(journal, event))
          yield* Effect.yieldNow
          return journal
        }),
        layer,
        { local: true },
      )
      const failure = yield* Effect.flip(write(closed, "Late"))
      assert.include(String(failure.cause), "has been closed")
      const entries = yield* Effect.provide(
        Effect.flatMap(EventJournal, (journal) => journal.entries),
        layer,
        { local: true },
      )
      assert.strictEqual(entries.length, 50)
    }),
  )
})

/** Notes each change of the journal's row. */
const countingFlushes = ({ isPostgres, journals }: Database, sql: SqlClient) =>
  Effect.gen(function* () {
    yield* sql`create table flushes (n integer)`
    if (!isPostgres)
      return yield* sql.unsafe(`create trigger counting after update on ${journals} begin insert into flushes values (1); end`)
    yield* sql.unsafe(
      `create function counting() returns trigger language plpgsql as $$ begin insert into flushes values (1); return new; end $$`,
    )
    return yield* sql.unsafe(`create trigger counting after update on ${journals} for each row execute function counting()`)
  })

/** A row as a wrong edit by hand leaves it. */
/** In one transaction: a reader must not see the position before the row, as no writer shows it. */
const damage = ({ isPostgres, events, journals }: Database, sql: SqlClient) =>
  Effect.gen(function* () {
    if (isPostgres) yield* sql.unsafe(`alter table ${events} alter column payload drop not null`)
    yield* sql.unsafe(`update ${journals} set position = position + 1`)
    const id = isPostgres ? "gen_random_uuid()" : "randomblob(16)"
    const payload = isPostgres ? "null" : "'a text'"
    yield* sql.unsafe(
      `insert into ${events} (journal, position, id, event, primary_key, payload) values ('default', 4, ${id}, 'Damaged', 'a', ${payload})`,
    )
  }).pipe(sql.withTransaction)
