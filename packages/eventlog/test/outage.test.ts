/** A database that is away for a while: failures are typed, no acknowledged event is lost, and readers and writers continue after it. */
import { DatabaseSync } from "node:sqlite"
import * as PgClient from "@detent/store/PgClient"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { EventJournal, EventJournalError } from "effect/eventlog/EventJournal"
import type { EventLog } from "effect/eventlog/EventLog"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { freshDatabase } from "../../store/test/support/Postgres.ts"
import { startProxy } from "../../store/test/support/Proxy.ts"
import { type RestartableServer, startRestartable } from "../../store/test/support/RestartableServer.ts"
import { freshFile } from "../../store/test/support/Sqlite.ts"
import { EventFeed } from "../src/journal/EventFeed.ts"
import { clientOf } from "./Databases.ts"
import { petClient, petLayer, petRows } from "./Pets.ts"

type Services = EventLog | EventFeed | EventJournal | SqlClient

const names = (count: number, prefix = "p") => Array.from({ length: count }, (_, n) => `${prefix}${n}`)

const create = (program: Context.Context<Services>, pet: string): Effect.Effect<void, EventJournalError> =>
  Effect.provideContext(
    Effect.flatMap(petClient, (write) => write({ event: "PetCreated", payload: { pet, name: pet } })),
    program,
  )

describe("a PostgreSQL that is stopped and started again", () => {
  let server: RestartableServer
  beforeAll(async () => {
    server = await startRestartable()
  })
  afterAll(() => server.remove())

  it.live("fails writes typed while it is away; readers wait, writers continue when it is back, and no stored event is lost", () =>
    Effect.gen(function* () {
      const program = yield* Layer.build(petLayer().pipe(Layer.provideMerge(clientOf({ _tag: "Postgres", url: server.url }))))
      const seen: Array<number> = []
      const feed = Context.get(program, EventFeed)
      // As a server does for a browser that reconnects with the last position it has seen.
      const following = Effect.suspend(() =>
        Stream.runForEach(feed.stream({ after: seen.at(-1) ?? 0 }), ({ position }) => Effect.sync(() => seen.push(position))),
      )
      yield* Effect.forkChild(Effect.retry(following, Schedule.spaced("100 millis")))
      yield* Effect.forEach(names(20), (pet) => create(program, pet), { concurrency: "unbounded" })
      const stored = new Set(names(20))
      const during = yield* Effect.forkChild(
        Effect.forEach(
          names(400, "q"),
          (pet) =>
            Effect.matchEffect(create(program, pet), {
              onSuccess: () => Effect.sync(() => stored.add(pet)),
              onFailure: (error) => Effect.sync(() => assert.instanceOf(error, EventJournalError)),
            }),
          { concurrency: 4 },
        ),
      )
      yield* Effect.promise(() => server.stop())
      const failure = yield* Effect.flip(create(program, "refused"))
      assert.instanceOf(failure, EventJournalError)
      assert.instanceOf(yield* Effect.flip(Context.get(program, EventJournal).entries), EventJournalError)
      yield* Effect.promise(() => server.start())
      yield* Fiber.await(during)
      yield* Effect.retry(create(program, "after"), Schedule.spaced("200 millis"))
      stored.add("after")
      const rows = yield* Effect.provideContext(petRows, program)
      const entries = yield* Context.get(program, EventJournal).entries
      const keys = new Set(entries.map(({ primaryKey }) => primaryKey))
      for (const pet of stored) assert.isTrue(keys.has(pet), pet)
      assert.sameMembers(
        rows.map(({ pet }) => pet),
        [...keys],
      )
      assert.strictEqual(keys.size, entries.length)
      assert.isFalse(keys.has("refused"))
      while (seen.length < entries.length) yield* Effect.sleep("50 millis")
      assert.deepStrictEqual(
        seen,
        entries.map((_, index) => index + 1),
      )
    }),
  )

  it.live("a lost answer is resolved: the event is stored once, and its write succeeds", () =>
    Effect.gen(function* () {
      const proxy = yield* Effect.acquireRelease(
        Effect.promise(() => startProxy(server.url)),
        (proxy) => Effect.promise(() => proxy.close()),
      )
      const layer = petLayer({ journal: "lost", replay: "none" }).pipe(Layer.provideMerge(clientOf({ _tag: "Postgres", url: proxy.url })))
      const program = yield* Layer.build(layer)
      const journal = Context.get(program, EventJournal)
      const write = (event: string) =>
        journal.write({ event, primaryKey: "a", payload: new Uint8Array(), effect: () => Effect.succeed(event) })
      yield* write("First")
      for (let round = 0; round < 3; round++) {
        const cut = proxy.cutAfter(`Lost${round}`)
        assert.strictEqual(yield* write(`Lost${round}`), `Lost${round}`)
        yield* Effect.promise(() => cut)
      }
      assert.deepStrictEqual(
        (yield* journal.entries).map(({ event }) => event),
        ["First", "Lost0", "Lost1", "Lost2"],
      )
    }),
  )
})

describe("a commit whose answer is lost", () => {
  it.live("is resolved: the handler does not run again on its own writes, and its answer is the first one", () =>
    Effect.gen(function* () {
      const proxy = yield* Effect.acquireRelease(
        Effect.flatMap(freshDatabase, (url) => Effect.promise(() => startProxy(url))),
        (proxy) => Effect.promise(() => proxy.close()),
      )
      // Unprepared, so that the proxy can see COMMIT.
      const client = PgClient.layer({ url: Redacted.make(proxy.url), maxConnections: 4, prepare: false })
      const program = yield* Layer.build(petLayer().pipe(Layer.provideMerge(client)))
      const write = yield* Effect.provideContext(petClient, program)
      for (const pet of names(3)) {
        yield* write({ event: "PetCreated", payload: { pet, name: pet } })
        const cut = proxy.cutAfter("COMMIT")
        assert.strictEqual(yield* write({ event: "PetSold", payload: { pet, to: "Ann" } }), `${pet} belongs to Ann`)
        yield* Effect.promise(() => cut)
      }
      assert.strictEqual((yield* Context.get(program, EventJournal).entries).length, 6)
      assert.deepStrictEqual(
        (yield* Effect.provideContext(petRows, program)).map(({ owner, changes }) => [owner, changes]),
        names(3).map(() => ["Ann", 2]),
      )
    }),
  )
})

describe("a SQLite file that another process keeps busy", () => {
  it.live("fails writes typed, and takes them again after", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const program = yield* Layer.build(petLayer().pipe(Layer.provideMerge(clientOf({ _tag: "Sqlite", filename }))))
      yield* create(program, "p1")
      yield* Context.get(program, SqlClient)`pragma busy_timeout = 20`
      const other = new DatabaseSync(filename)
      other.exec("begin immediate")
      const failure = yield* Effect.flip(create(program, "p2"))
      assert.instanceOf(failure, EventJournalError)
      const journal = Context.get(program, EventJournal)
      assert.instanceOf(
        yield* Effect.flip(journal.write({ event: "PetCreated", primaryKey: "p3", payload: new Uint8Array(), effect: () => Effect.void })),
        EventJournalError,
      )
      assert.strictEqual((yield* journal.entries).length, 1)
      other.exec("rollback")
      other.close()
      yield* create(program, "p2")
      assert.deepStrictEqual(
        (yield* Effect.provideContext(petRows, program)).map(({ pet, changes }) => [pet, changes]),
        [
          ["p1", 1],
          ["p2", 1],
        ],
      )
    }),
  )
})
