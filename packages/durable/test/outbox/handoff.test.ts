/** Direct handoff on PostgreSQL: a command that is enqueued where a worker waits is stored and claimed by one statement. */

import { Commands } from "@detent/store"
import * as PostgresStore from "@detent/store/PostgresStore"
import { command, eventually, stored } from "@detent/store/testing/CommandKit"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import * as Queues from "../../src/outbox/Queues.ts"
import { jobs, onStore, startWorker } from "../../testing/command/Working.ts"

const queue = jobs("jobs")

interface Watched {
  readonly url: string
  /** Waits until this many were executed, and returns their names. */
  readonly executed: (count: number) => Effect.Effect<ReadonlyArray<string>>
  /** How often the worker asked the store for commands. */
  readonly questions: () => number
  /** The number of notifications. */
  readonly announcements: () => number
}

/** How many connections wait for a lock. */
const waitingForLocks = Effect.flatMap(SqlClient, (sql) =>
  Effect.map(sql`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`, ({ length }) => length),
)

/** A worker that has polled once, found nothing, and does not poll again. */
const withWorker = <E>(body: (watched: Watched) => Effect.Effect<void, E, Commands | SqlClient | Scope.Scope>) =>
  Effect.gen(function* () {
    const url = yield* freshDatabase
    const store = yield* Layer.build(PostgresStore.layer({ url, maxConnections: 5 }))
    const seen: Array<string> = []
    let questions = 0
    let announcements = 0
    const counting = onStore(
      ({ exchange }) => ({
        // So that it does not poll.
        isShared: false,
        exchange: (request) => {
          if (request.finished.length === 0) questions++
          return exchange(request)
        },
      }),
      startWorker(queue, (job) => Effect.sync(() => seen.push(job)), { claimDuration: "1 minute" }),
    )
    const watched = {
      url,
      executed: (count: number) =>
        eventually(
          Effect.sync(() => [...seen]),
          (all) => all.length >= count,
        ),
      questions: () => questions,
      announcements: () => announcements,
    }
    yield* Effect.gen(function* () {
      yield* counting
      const { signal } = yield* Commands
      // Once at its start, and again when it begins to listen.
      yield* eventually(
        Effect.sync(() => questions),
        (count) => count >= 2,
      )
      yield* Effect.sleep(100)
      signal.listen(() => {
        announcements++
      })
      yield* body(watched)
    }).pipe(Effect.provideContext(store))
  })

describe("a command enqueued where a worker waits", () => {
  it.live("is claimed by the statement that stores it: the worker does not ask, and no other is notified", () =>
    withWorker(({ executed, questions, announcements }) =>
      Effect.gen(function* () {
        const before = questions()
        for (let number = 1; number <= 5; number++) {
          yield* queue.enqueue({ name: `job ${number}` }, { key: `key ${number}` })
          yield* executed(number)
          yield* eventually(stored(`key ${number}`), ({ status }) => status === "completed")
          yield* Effect.sleep(20)
        }
        // A worker that still records the end of the job before asks by itself. Not every time.
        assert.isBelow(announcements(), 5)
        assert.strictEqual(questions() - before, announcements())
        const { attempts, worker, claimedUntil, finishedAt } = yield* stored("key 5")
        assert.deepStrictEqual({ attempts, claimedUntil }, { attempts: 1, claimedUntil: undefined })
        assert.isDefined(worker)
        assert.isDefined(finishedAt)
      }),
    ),
  )

  it.live("does not keep the worker from others while its statement waits for a lock", () =>
    withWorker(({ executed, url }) =>
      Effect.gen(function* () {
        const elsewhere = yield* Layer.build(PostgresStore.layer({ url, maxConnections: 3 }))
        const [isHeld, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const holding = Effect.flatMap(SqlClient, (sql) =>
          sql.withTransaction(
            Effect.gen(function* () {
              yield* queue.enqueue({ name: "held" }, { key: "held" })
              yield* Deferred.succeed(isHeld, undefined)
              yield* Deferred.await(mayEnd)
            }),
          ),
        )
        const held = yield* Effect.forkChild(Effect.provideContext(holding, elsewhere))
        yield* Deferred.await(isHeld)
        const waiting = yield* Effect.forkChild(queue.enqueue({ name: "held" }, { key: "held" }))
        yield* Effect.provideContext(
          eventually(waitingForLocks, (count) => count === 1),
          elsewhere,
        )
        yield* Effect.provideContext(queue.enqueue({ name: "other" }, { key: "other" }), elsewhere)
        assert.deepStrictEqual(yield* executed(1), ["other"])
        yield* Deferred.succeed(mayEnd, undefined)
        yield* Fiber.join(held)
        assert.isFalse((yield* Fiber.join(waiting)).isNew)
        assert.deepStrictEqual(yield* executed(2), ["other", "held"])
      }),
    ),
  )

  it.live("fails alone where it cannot be written, and neither the worker nor other callers wait for it", () =>
    withWorker(({ executed }) =>
      Effect.gen(function* () {
        const { enqueue } = yield* Commands
        const odd = enqueue([command("jobs", "odd", { runAt: 5n as never })])
        const [good, [bad]] = yield* Effect.all([queue.enqueue({ name: "good" }, { key: "good" }), odd], { concurrency: 2 })
        assert.deepStrictEqual([good.isNew, bad?._tag], [true, "PersistenceFailed"])
        assert.deepStrictEqual(yield* executed(1), ["good"])
        assert.strictEqual((yield* odd)[0]?._tag, "PersistenceFailed")
        yield* queue.enqueue({ name: "next" }, { key: "next" })
        assert.deepStrictEqual(yield* executed(2), ["good", "next"])
      }),
    ),
  )

  it.live("waits in a queue that is paused, behind the limit of a queue, and until its time", () =>
    withWorker(({ executed, announcements }) =>
      Effect.gen(function* () {
        yield* Queues.pause("jobs")
        const before = announcements()
        yield* queue.enqueue({ name: "paused" }, { key: "paused" })
        assert.strictEqual((yield* stored("paused")).status, "pending")
        assert.strictEqual(announcements(), before + 1)
        yield* Queues.resume("jobs")
        assert.deepStrictEqual(yield* executed(1), ["paused"])

        yield* queue.enqueue({ name: "later" }, { key: "later", delay: "1 hour" })
        assert.strictEqual((yield* stored("later")).status, "pending")

        yield* Queues.limit("jobs", { concurrency: 1 })
        const all = ["a", "b", "c"]
        yield* queue.enqueueAll(all.map((name) => ({ payload: { name }, key: name })))
        // At one moment: while they are executed one after the other, each is being processed at some time.
        const sql = yield* SqlClient
        const processing = yield* sql`select key from detent.commands where status = 'processing'`
        assert.isAtMost(processing.length, 1)
        assert.deepStrictEqual(yield* executed(4), ["paused", "a", "b", "c"])
      }),
    ),
  )

  it.live("that the database cannot take leaves the others and the worker unharmed", () =>
    withWorker(({ executed }) =>
      Effect.gen(function* () {
        const commands = yield* Commands
        const bad = command("jobs", "bad\u0000key")
        const good = command("jobs", "good", { slot: "jobs", parameters: JSON.stringify({ name: "good" }) })
        const outcomes = yield* commands.enqueue([bad, good])
        assert.deepStrictEqual(
          outcomes.map(({ _tag }) => _tag),
          ["PersistenceFailed", "Enqueued"],
        )
        assert.deepStrictEqual(yield* executed(1), ["good"])
        yield* queue.enqueue({ name: "next" })
        assert.deepStrictEqual(yield* executed(2), ["good", "next"])
      }),
    ),
  )

  it.live("whose connection is cut while it is stored fails for its caller, and the worker continues", () =>
    withWorker(({ executed }) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        // A caller with a key waits for the transaction that has just stored it.
        const locked = yield* Deferred.make<void>()
        const released = yield* Deferred.make<void>()
        const holding = Effect.gen(function* () {
          yield* queue.enqueue({ name: "cut" }, { key: "cut" })
          yield* Deferred.succeed(locked, undefined)
          yield* Deferred.await(released)
          return yield* Effect.fail("undone")
        })
        const holder = yield* Effect.forkChild(Effect.exit(sql.withTransaction(holding)))
        yield* Deferred.await(locked)
        const caller = yield* Effect.forkChild(Effect.exit(queue.enqueue({ name: "cut" }, { key: "cut" })))
        const waiting = sql<{ readonly pid: number }>`
          select pid from pg_stat_activity where query like '%claimable%' and wait_event_type = 'Lock' and datname = current_database()`
        const [{ pid } = { pid: 0 }] = yield* eventually(waiting, (rows) => rows.length === 1)
        yield* sql`select pg_terminate_backend(${pid})::text`
        assert.strictEqual((yield* Fiber.join(caller))._tag, "Failure")
        yield* Deferred.succeed(released, undefined)
        yield* Fiber.join(holder)
        assert.strictEqual((yield* Effect.flatMap(Commands, (commands) => commands.get("cut")))._tag, "None")
        yield* queue.enqueue({ name: "next" }, { key: "cut" })
        assert.deepStrictEqual(yield* executed(1), ["next"])
      }),
    ),
  )

  it.live("of many callers at once is executed once", () =>
    withWorker(({ executed }) =>
      Effect.gen(function* () {
        const names = Array.from({ length: 300 }, (_, number) => `job ${number}`)
        yield* Effect.forEach(names, (name) => Effect.andThen(Effect.sleep(name.length % 3), queue.enqueue({ name })), { concurrency: 16 })
        const all = yield* executed(300)
        yield* Effect.sleep(100)
        assert.strictEqual(all.length, 300)
        assert.strictEqual(new Set(all).size, 300)
      }),
    ),
  )
})
