/** How SQLite finds events: by blocks of 32 sequence numbers, whatever was pruned in between; and instances by remembered row keys. */

import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { SafeIntegers, SqlClient } from "effect/sql/SqlClient"
import type { InstanceKey } from "../src/contract/Commit.ts"
import { Journal } from "../src/contract/Journal.ts"
import * as SqliteStore from "../src/SqliteStore.ts"
import { commit, conflict, event, freshKey, snapshot, stored } from "../testing/samples.ts"
import { sqliteLayer } from "./support/Sqlite.ts"

const numbers = (from: number, through: number) => Array.from({ length: through - from + 1 }, (_, index) => from + index)

/** An instance with this many events, of which only some remain. */
const pruned = (key: InstanceKey, last: number, left: ReadonlySet<number>) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const events = numbers(1, last).map((sequence) => event(sequence, left.has(sequence) ? { dedupeId: `sent-${sequence}` } : {}))
    yield* journal.commit([commit(key, -1)])
    yield* journal.commit([commit(key, 0, { sequence: last, events, snapshot: snapshot(last) })])
    assert.strictEqual(yield* journal.prune(key, last), last - left.size)
  })

const sequencesOf = (key: InstanceKey, after: number, limit: number) =>
  Effect.flatMap(Journal, (journal) => Effect.map(journal.events(key, after, limit), (events) => events.map(({ sequence }) => sequence)))

const last = 400

const Page = Schema.Struct({
  left: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: last }))),
  after: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: last + 1 })),
  limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: last * 2 })),
})

describe("events on SQLite", () => {
  it.live.prop(
    "a page has the next events there are, however far apart pruning left them",
    [Arbitrary.schema(Page)],
    ([{ left, after, limit }]) =>
      Effect.gen(function* () {
        const key = yield* freshKey
        yield* pruned(key, last, new Set(left))
        const expected = numbers(1, last).filter((sequence) => sequence > after && left.includes(sequence))
        assert.deepStrictEqual(yield* sequencesOf(key, after, limit), expected.slice(0, limit))
      }).pipe(Effect.provide(sqliteLayer)),
    { arbitrary: { runs: 50 } },
  )

  it.live("pages of any size put together are the journal", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const key = yield* freshKey
      yield* journal.commit([commit(key, -1)])
      yield* journal.commit([commit(key, 0, { sequence: 200, events: numbers(1, 200).map((sequence) => event(sequence)) })])
      for (const limit of [1, 31, 32, 33, 64, 200, 1_000_000]) {
        const read: Array<number> = []
        for (let page = yield* sequencesOf(key, 0, limit); page.length > 0; page = yield* sequencesOf(key, read.length, limit)) {
          assert.isAtMost(page.length, limit)
          read.push(...page)
        }
        assert.deepStrictEqual(read, numbers(1, 200))
      }
    }).pipe(Effect.provide(sqliteLayer)),
  )

  it.live("what is written while a page is put together leaves no hole in it", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const key = yield* freshKey
      yield* pruned(key, 300, new Set([2, 290]))
      let last = 300
      const write = Effect.suspend(() => {
        const next = commit(key, last, { sequence: last + 40, events: numbers(last + 1, last + 40).map((sequence) => event(sequence)) })
        last += 40
        return journal.commit([next])
      })
      for (let round = 0; round < 20; round++) {
        const [read] = yield* Effect.all([sequencesOf(key, 0, round % 2 === 0 ? 100 : 10_000), write], { concurrency: 2 })
        assert.deepStrictEqual(read, [2, 290, ...numbers(301, 298 + read.length)])
      }
    }).pipe(Effect.provide(sqliteLayer)),
  )

  it.live("any numbers are answered at once", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const key = yield* freshKey
      const farOff = 2 ** 31
      yield* journal.commit([commit(key, -1)])
      yield* journal.commit([commit(key, 0, { sequence: 2, events: [event(1), event(2)] })])
      yield* journal.commit([commit(key, 2, { sequence: farOff, events: [event(3), event(farOff)] })])
      for (const after of [Number.NEGATIVE_INFINITY, -1e8, -1, 0, 0.5])
        assert.deepStrictEqual(yield* sequencesOf(key, after, 10), [1, 2, 3, farOff])
      assert.deepStrictEqual(yield* sequencesOf(key, Number.MAX_SAFE_INTEGER, 10), [])
      for (const limit of [Number.POSITIVE_INFINITY, 1e19, 4.5]) assert.lengthOf(yield* sequencesOf(key, 0, limit), 4)
      assert.deepStrictEqual(yield* sequencesOf(key, 0, 0), [])
      const fork = { ...key, id: `${key.id}-fork` }
      yield* journal.fork(key, Number.MAX_SAFE_INTEGER, commit(fork, -1, { sequence: farOff }))
      assert.deepStrictEqual(yield* sequencesOf(fork, 0, 10), [1, 2, 3, farOff])
      yield* journal.saveSnapshot(key, snapshot(farOff))
      assert.strictEqual(yield* journal.prune(key, Number.MAX_SAFE_INTEGER), 4)
      assert.deepStrictEqual(yield* sequencesOf(key, 0, 10), [])
    }).pipe(Effect.provide(sqliteLayer)),
  )

  it.live("are found by their index whatever the statistics say", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const sql = yield* SqlClient
      const key = yield* freshKey
      yield* sql`analyze`
      yield* pruned(key, last, new Set([7, 300]))
      yield* sql`analyze`
      assert.deepStrictEqual(yield* sequencesOf(key, 0, 10), [7, 300])
      assert.isTrue(yield* journal.rewrite(key, event(300, { body: "{}" })))
      assert.deepStrictEqual(yield* sql`select count(*) as blocks from detent_blocks`, [{ blocks: 2 }])
    }).pipe(Effect.provide(sqliteLayer)),
  )
})

describe("remembered row keys", () => {
  it.live("of an instance that was undone is not taken for the one that has its row now", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const sql = yield* SqlClient
      const [undone, other] = [yield* freshKey, yield* freshKey]
      yield* Effect.ignore(sql.withTransaction(Effect.andThen(journal.commit([commit(undone, -1)]), Effect.fail("undo"))))
      assert.deepStrictEqual(yield* journal.commit([commit(other, -1)]), [stored])
      assert.deepStrictEqual(yield* journal.commit([commit(undone, 0)]), [conflict(-1)])
      assert.deepStrictEqual(yield* journal.commit([commit(undone, -1)]), [stored])
      assert.deepStrictEqual(yield* journal.commit([commit(undone, 0), commit(other, 0)]), [stored, stored])
      for (const key of [undone, other]) {
        assert.strictEqual(Option.getOrThrow(yield* journal.open(key)).record.sequence, 1)
        assert.deepStrictEqual(yield* journal.events(key, 0, 10), [event(1)])
      }
    }).pipe(Effect.provide(sqliteLayer)),
  )

  it.live("of an instance that got another row since is found anew", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const sql = yield* SqlClient
      const key = yield* freshKey
      yield* journal.commit([commit(key, -1)])
      yield* journal.commit([commit(key, 0)])
      yield* sql`update detent_events set instance = instance + 1000`
      yield* sql`update detent_instances set instance = instance + 1000`
      assert.deepStrictEqual(yield* journal.commit([commit(key, 1)]), [stored])
      assert.deepStrictEqual(yield* journal.commit([commit(key, 1)]), [conflict(2)])
      assert.deepStrictEqual(yield* journal.events(key, 0, 10), [event(1), event(2)])
    }).pipe(Effect.provide(sqliteLayer)),
  )

  it.live("are not used where the client does not say how many rows were changed", () =>
    Effect.gen(function* () {
      const silent = Layer.effect(
        SqlClient,
        Effect.map(SqlClient, (sql) => {
          const reserve = Effect.map(sql.reserve, (connection) => ({
            ...connection,
            executeRaw: (...call: Parameters<typeof connection.executeRaw>) => Effect.as(connection.executeRaw(...call), []),
          }))
          const client: SqlClient = new Proxy(sql, {
            get(target, property) {
              if (property === "reserve") return reserve
              return property === "withoutTransforms" ? () => client : Reflect.get(target, property, target)
            },
          })
          return client
        }),
      )
      yield* Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        for (const expected of [-1, 0, 1]) assert.deepStrictEqual(yield* journal.commit([commit(key, expected)]), [stored])
        assert.deepStrictEqual(yield* journal.commit([commit(key, 1)]), [conflict(2)])
      }).pipe(Effect.provide(Layer.provideMerge(Layer.provide(SqliteStore.layerSql, silent), sqliteLayer)))
    }),
  )

  it.live("are used where numbers come as bigint, too", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const key = yield* freshKey
      for (const expected of [-1, 0, 1]) assert.deepStrictEqual(yield* journal.commit([commit(key, expected)]), [stored])
      assert.strictEqual(Option.getOrThrow(yield* journal.open(key)).record.sequence, 2)
    }).pipe(Effect.provideService(SafeIntegers, true), Effect.provide(sqliteLayer)),
  )
})
