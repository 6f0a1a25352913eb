/** The order of events for readers on PostgreSQL, where transactions end in another order than they begin. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { EventJournal } from "effect/eventlog/EventJournal"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { EventFeed } from "../src/journal/EventFeed.ts"
import * as SqlEventJournal from "../src/SqlEventJournal.ts"
import { clientOf, postgres } from "./Databases.ts"

const opened = Effect.gen(function* () {
  const address = yield* postgres.address
  const open = Layer.build(SqlEventJournal.layer().pipe(Layer.provideMerge(clientOf(address))))
  // Two programs: writers and readers share only the database.
  return { writer: yield* open, reader: yield* open }
})

const write = (program: Context.Context<EventJournal>, event: string) =>
  Context.get(program, EventJournal).write({ event, primaryKey: "a", payload: new Uint8Array(), effect: () => Effect.void })

describe("positions on PostgreSQL", () => {
  it.live("an event of a transaction that is still open is not overtaken by later ones", () =>
    Effect.gen(function* () {
      const { writer, reader } = yield* opened
      const sql = Context.get(writer, SqlClient)
      const feed = Context.get(reader, EventFeed)
      const seen: Array<string> = []
      yield* Effect.forkChild(
        Stream.runForEach(feed.stream(), ({ position, entry }) => Effect.sync(() => seen.push(`${position} ${entry.event}`))),
      )
      yield* write(writer, "First")
      const later = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* write(writer, "Slow")
          // Another writer, outside of the transaction.
          const later = Effect.runFork(write(writer, "Later"))
          while (seen.length === 0) yield* Effect.sleep("5 millis")
          yield* Effect.sleep("300 millis")
          assert.deepStrictEqual(seen, ["1 First"])
          assert.isUndefined(later.pollUnsafe())
          return later
        }),
      )
      yield* Fiber.join(later)
      while (seen.length < 3) yield* Effect.sleep("5 millis")
      assert.deepStrictEqual(seen, ["1 First", "2 Slow", "3 Later"])
    }),
  )

  it.live("whatever is undone, slow or in between: no reader ever sees a position without all before it", () =>
    Effect.gen(function* () {
      const { writer, reader } = yield* opened
      const sql = Context.get(writer, SqlClient)
      const readerSql = Context.get(reader, SqlClient)
      let isOver = false
      let looks = 0

      const pause = Effect.flatMap(Random.nextIntBetween(0, 12), (millis) => Effect.sleep(millis))
      const one = (event: string) =>
        Effect.gen(function* () {
          const kind = yield* Random.nextIntBetween(0, 3)
          if (kind === 0) {
            yield* write(writer, event)
            return 1
          }
          const slow = Effect.gen(function* () {
            yield* pause
            yield* write(writer, event)
            if (kind === 2) yield* write(writer, `${event} again`)
            yield* pause
            if (kind === 3) return yield* Effect.fail("undone" as const)
            return kind
          })
          return yield* Effect.catchIf(
            sql.withTransaction(slow),
            (error): error is "undone" => error === "undone",
            () => Effect.succeed(0),
          )
        })

      const look = Effect.gen(function* () {
        while (!isOver) {
          const positions = yield* Effect.map(readerSql`select position from detent.domain_events order by position`, (rows) =>
            rows.map(({ position }) => Number(position)),
          )
          assert.deepStrictEqual(
            positions,
            positions.map((_, index) => index + 1),
          )
          looks++
        }
      })
      const followed: Array<number> = []
      const following = yield* Effect.forkChild(
        Stream.runForEach(Context.get(reader, EventFeed).stream(), ({ position }) => Effect.sync(() => followed.push(position))),
      )
      const looking = yield* Effect.forkChild(look)
      const counts = yield* Effect.forEach(Array.from({ length: 150 }).keys(), (n) => one(`Event${n}`), { concurrency: 7 })
      const total = counts.reduce((sum, count) => sum + count, 0)
      isOver = true
      yield* Fiber.join(looking)
      while (followed.length < total) yield* Effect.sleep("20 millis")
      yield* Fiber.interrupt(following)
      assert.isAbove(looks, 5)
      assert.deepStrictEqual(
        followed,
        Array.from({ length: total }, (_, index) => index + 1),
      )
    }),
  )
})
