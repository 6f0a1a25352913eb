/** A log on a database: handlers and their tables, replay, refusal, compaction. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as EventGroup from "effect/eventlog/EventGroup"
import type { EventJournal } from "effect/eventlog/EventJournal"
import * as EventLog from "effect/eventlog/EventLog"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { EventFeed } from "../src/journal/EventFeed.ts"
import * as SqlEventJournal from "../src/SqlEventJournal.ts"
import * as SqlEventLog from "../src/SqlEventLog.ts"
import { clientOf, onEachDatabase } from "./Databases.ts"
import { NotForSale, PetHandlers, PetLog, petClient, petLayer, petRows, pets } from "./Pets.ts"

onEachDatabase("event log", (database) => {
  /** Each use is another program on the same database. */
  const programs = Effect.map(database.address, (address) => {
    return <A, E>(
      use: Effect.Effect<A, E, EventLog.EventLog | EventJournal | EventFeed | SqlClient>,
      options: Parameters<typeof petLayer>[0] = {},
    ) => Effect.provide(use, petLayer(options).pipe(Layer.provideMerge(clientOf(address))), { local: true })
  })

  it.live("an event, the writes of its handler and the position are stored together, and the handler's answer is returned", () =>
    Effect.gen(function* () {
      const program = yield* programs
      yield* program(
        Effect.gen(function* () {
          const write = yield* petClient
          yield* write({ event: "PetCreated", payload: { pet: "p1", name: "Rex" } })
          yield* write({ event: "PetRenamed", payload: { pet: "p1", name: "Max" } })
          assert.strictEqual(yield* write({ event: "PetSold", payload: { pet: "p1", to: "Ann" } }), "p1 belongs to Ann")
          assert.deepStrictEqual(yield* petRows, [{ pet: "p1", name: "Max", owner: "Ann", grams: null, changes: 3 }])
          const entries = yield* (yield* EventLog.EventLog).entries
          assert.deepStrictEqual(
            entries.map(({ event, primaryKey }) => [event, primaryKey]),
            [
              ["PetCreated", "p1"],
              ["PetRenamed", "p1"],
              ["PetSold", "p1"],
            ],
          )
          assert.strictEqual(yield* (yield* EventFeed).position, 3)
        }),
      )
    }),
  )

  it.live("an event that its handler refuses is not stored, and does not disturb others in its transaction", () =>
    Effect.gen(function* () {
      const program = yield* programs
      yield* program(
        Effect.gen(function* () {
          const write = yield* petClient
          for (const pet of ["p1", "p2", "p3"]) yield* write({ event: "PetCreated", payload: { pet, name: pet } })
          const exits = yield* Effect.all(
            ["p1", "p2", "p1", "p3", "nobody"].map((pet, index) =>
              Effect.exit(write({ event: "PetSold", payload: { pet, to: `owner ${index}` } })),
            ),
            { concurrency: "unbounded" },
          )
          assert.deepStrictEqual(exits, [
            Exit.succeed("p1 belongs to owner 0"),
            Exit.succeed("p2 belongs to owner 1"),
            Exit.fail(new NotForSale({ pet: "p1" })),
            Exit.succeed("p3 belongs to owner 3"),
            Exit.fail(new NotForSale({ pet: "nobody" })),
          ])
          assert.strictEqual((yield* (yield* EventLog.EventLog).entries).length, 6)
          assert.deepStrictEqual(
            (yield* petRows).map(({ owner, changes }) => [owner, changes]),
            [
              ["owner 0", 2],
              ["owner 1", 2],
              ["owner 3", 2],
            ],
          )
        }),
      )
    }),
  )

  it.live("nor does it disturb very many others in its transaction", () =>
    Effect.gen(function* () {
      const program = yield* programs
      yield* program(
        Effect.gen(function* () {
          const write = yield* petClient
          const names = Array.from({ length: 180 }, (_, index) => `p${index}`)
          const isNobody = (index: number) => [3, 49, 50, 101, 179].includes(index)
          const created = names.filter((_, index) => !isNobody(index))
          yield* Effect.forEach(created, (pet) => write({ event: "PetCreated", payload: { pet, name: pet } }), { concurrency: "unbounded" })
          const exits = yield* Effect.forEach(names, (pet) => Effect.exit(write({ event: "PetSold", payload: { pet, to: "somebody" } })), {
            concurrency: "unbounded",
          })
          exits.forEach((exit, index) => {
            const pet = names[index] ?? ""
            assert.deepStrictEqual(exit, isNobody(index) ? Exit.fail(new NotForSale({ pet })) : Exit.succeed(`${pet} belongs to somebody`))
          })
          const sold = (yield* (yield* EventLog.EventLog).entries).filter(({ event }) => event === "PetSold")
          assert.deepStrictEqual(
            sold.map(({ primaryKey }) => primaryKey),
            created,
          )
          assert.deepStrictEqual(new Set((yield* petRows).map(({ owner, changes }) => `${owner} ${changes}`)), new Set(["somebody 2"]))
        }),
      )
    }),
  )

  it.live("nothing is replayed at a start when the tables have everything", () =>
    Effect.gen(function* () {
      const program = yield* programs
      yield* program(Effect.flatMap(petClient, (write) => write({ event: "PetCreated", payload: { pet: "p1", name: "Rex" } })))
      for (let start = 0; start < 3; start++) {
        const rows = yield* program(
          Effect.gen(function* () {
            const write = yield* petClient
            yield* write({ event: "PetRenamed", payload: { pet: "p1", name: `name ${start}` } })
            return yield* petRows
          }),
        )
        assert.deepStrictEqual(rows, [{ pet: "p1", name: `name ${start}`, owner: null, grams: null, changes: start + 2 }])
      }
    }),
  )

  it.live("a table that was dropped is created and filled by a replay at the next start", () =>
    Effect.gen(function* () {
      const program = yield* programs
      const before = yield* program(
        Effect.gen(function* () {
          const write = yield* petClient
          const each = (count: number, one: (n: number) => Effect.Effect<unknown, unknown>) =>
            Effect.forEach(Array.from({ length: count }).keys(), one, { concurrency: "unbounded" })
          yield* each(400, (n) => write({ event: "PetCreated", payload: { pet: `p${n}`, name: `name ${n}` } }))
          yield* each(400, (n) => write({ event: "PetRenamed", payload: { pet: `p${n}`, name: `new name ${n}` } }))
          yield* each(200, (n) => write({ event: "PetSold", payload: { pet: `p${n}`, to: "Ann" } }))
          const rows = yield* petRows
          yield* (yield* SqlClient)`drop table pets`
          return rows
        }),
      )
      assert.strictEqual(before.length, 400)
      assert.deepStrictEqual(yield* program(petRows), before)
    }),
  )

  it.live("of progress only the latest per key is kept, also of events written at once", () =>
    Effect.gen(function* () {
      const program = yield* programs
      yield* program(
        Effect.gen(function* () {
          const write = yield* petClient
          yield* write({ event: "PetCreated", payload: { pet: "p1", name: "Rex" } })
          yield* write({ event: "PetCreated", payload: { pet: "p2", name: "Max" } })
          for (let grams = 1; grams <= 20; grams++) yield* write({ event: "PetWeighed", payload: { pet: "p1", grams } })
          yield* Effect.all(
            Array.from({ length: 20 }, (_, grams) => write({ event: "PetWeighed", payload: { pet: "p2", grams } })),
            { concurrency: "unbounded" },
          )
          const entries = yield* (yield* EventLog.EventLog).entries
          assert.deepStrictEqual(
            entries.map(({ event, primaryKey }) => `${event} ${primaryKey}`),
            ["PetCreated p1", "PetCreated p2", "PetWeighed p1", "PetWeighed p2"],
          )
          const feed = yield* EventFeed
          assert.deepStrictEqual(
            (yield* Stream.runCollect(Stream.take(feed.stream(), 4))).map(({ entry }) => `${entry.event} ${entry.primaryKey}`),
            ["PetCreated p1", "PetCreated p2", "PetWeighed p1", "PetWeighed p2"],
          )
          assert.deepStrictEqual(
            (yield* petRows).map(({ grams }) => grams),
            [20, 19],
          )
          yield* (yield* SqlClient)`drop table pets`
        }),
      )
      assert.deepStrictEqual(
        (yield* program(petRows)).map(({ grams }) => grams),
        [20, 19],
      )
    }),
  )

  it.live("a write inside a transaction is committed or rolled back with it, in the tables too", () =>
    Effect.gen(function* () {
      const program = yield* programs
      yield* program(
        Effect.gen(function* () {
          const sql = yield* SqlClient
          const write = yield* petClient
          const both = Effect.andThen(
            write({ event: "PetCreated", payload: { pet: "p1", name: "Rex" } }),
            write({ event: "PetRenamed", payload: { pet: "p1", name: "Max" } }),
          )
          yield* Effect.flip(sql.withTransaction(Effect.andThen(both, Effect.fail("no"))))
          assert.deepStrictEqual(yield* petRows, [])
          yield* sql.withTransaction(both)
          yield* write({ event: "PetRenamed", payload: { pet: "p1", name: "Moritz" } })
          assert.deepStrictEqual(
            (yield* petRows).map(({ name, changes }) => [name, changes]),
            [["Moritz", 3]],
          )
          // A refusal inside it rolls back only the refused event.
          const refused = yield* sql.withTransaction(
            Effect.andThen(
              write({ event: "PetRenamed", payload: { pet: "p1", name: "Fritz" } }),
              Effect.exit(write({ event: "PetSold", payload: { pet: "nobody", to: "Ann" } })),
            ),
          )
          assert.deepStrictEqual(refused, Exit.fail(new NotForSale({ pet: "nobody" })))
          assert.deepStrictEqual(
            (yield* (yield* EventLog.EventLog).entries).map(({ event }) => event),
            ["PetCreated", "PetRenamed", "PetRenamed", "PetRenamed"],
          )
        }),
      )
    }),
  )

  it.live("a handler that hangs times out and is rolled back, and the others of its transaction are not", () =>
    Effect.gen(function* () {
      const address = yield* database.address
      const Calls = EventGroup.empty.add({ tag: "Called", primaryKey: (text) => text, payload: Schema.String })
      const handlers = EventLog.group(Calls, (handlers) =>
        handlers.handle("Called", ({ payload }) => (payload === "hangs" ? Effect.never : Effect.void)),
      )
      const log = SqlEventLog.layer(EventLog.schema(Calls), handlers, { handlerTimeout: "100 millis" })
      yield* Effect.gen(function* () {
        const write = yield* EventLog.makeClient(EventLog.schema(Calls))
        const results = yield* Effect.all(
          ["one", "hangs", "two"].map((text) => Effect.result(write({ event: "Called", payload: text }))),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(
          results.map((result) => (result._tag === "Failure" ? result.failure.cause instanceof SqlEventLog.HandlerTimeout : "stored")),
          ["stored", true, "stored"],
        )
        yield* write({ event: "Called", payload: "three" })
        assert.deepStrictEqual(
          (yield* (yield* EventLog.EventLog).entries).map(({ primaryKey }) => primaryKey),
          ["one", "two", "three"],
        )
      }).pipe(Effect.provide(log.pipe(Layer.provide(clientOf(address)))))
    }),
  )

  it.live("is read with its payloads from any position, and stops at an event that does not fit the schema", () =>
    Effect.gen(function* () {
      const program = yield* programs
      yield* program(
        Effect.gen(function* () {
          const write = yield* petClient
          yield* write({ event: "PetCreated", payload: { pet: "p1", name: "Rex" } })
          yield* write({ event: "PetWeighed", payload: { pet: "p1", grams: 900 } })
          yield* write({ event: "PetSold", payload: { pet: "p1", to: "Ann" } })
          const told = Stream.map(SqlEventLog.stream(PetLog, { after: 1 }), (event) => {
            switch (event._tag) {
              case "PetCreated":
              case "PetRenamed":
                return `${event.position} ${event.payload.name}`
              case "PetWeighed":
                return `${event.position} ${event.payload.grams}`
              case "PetSold":
                return `${event.position} ${event.payload.to}`
            }
          })
          assert.deepStrictEqual(yield* Stream.runCollect(Stream.take(told, 2)), ["2 900", "3 Ann"])
        }),
      )
      const failure = yield* program(
        Effect.gen(function* () {
          const sql = yield* SqlClient
          yield* sql`update ${sql.literal(database.events)} set event = 'PetCloned' where position = 3`
          return yield* Effect.flip(Stream.runDrain(SqlEventLog.stream(PetLog)))
        }),
        { replay: "none" },
      )
      assert.strictEqual(failure._tag, "EntryUnreadable")
      assert.include(failure._tag === "EntryUnreadable" && failure.message, "position 3")
    }),
  )

  it.live("Effect's own event log runs on the journal too: the writes of a failed handler are rolled back", () =>
    Effect.gen(function* () {
      const address = yield* database.address
      const identity = Layer.succeed(EventLog.Identity, { publicKey: "one", privateKey: Redacted.make(new Uint8Array(32)) })
      const layer = EventLog.layer(PetLog, PetHandlers).pipe(
        Layer.provideMerge(SqlEventJournal.layer()),
        Layer.provide(identity),
        Layer.provideMerge(clientOf(address)),
      )
      yield* Effect.gen(function* () {
        yield* pets.create
        const write = yield* petClient
        yield* Effect.forEach(["p1", "p2", "p3"], (pet) => write({ event: "PetCreated", payload: { pet, name: pet } }), {
          concurrency: "unbounded",
        })
        assert.strictEqual(yield* write({ event: "PetSold", payload: { pet: "p1", to: "Ann" } }), "p1 belongs to Ann")
        assert.instanceOf(yield* Effect.flip(write({ event: "PetSold", payload: { pet: "p1", to: "Bob" } })), NotForSale)
        assert.strictEqual((yield* (yield* EventLog.EventLog).entries).length, 4)
        assert.deepStrictEqual(
          (yield* petRows).map(({ owner }) => owner),
          ["Ann", null, null],
        )
      }).pipe(Effect.provide(layer))
    }),
  )
})
