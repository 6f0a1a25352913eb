/** Leases, timers and claims follow the database's clock: a node whose own clock is wrong fires nothing early and steals nothing. */
import { Event, Machine, State, stay } from "@detent/machine"
import { Commands, Journal, Leases, Timers } from "@detent/store"
import { countsOf, eventually } from "@detent/store/testing/CommandKit"
import { commit, freshKey } from "@detent/store/testing/samples"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestClock from "effect/testing/TestClock"
import { postgresSchemaLayer } from "../../store/test/support/Postgres.ts"
import { Engine } from "../src/Engine.ts"
import { jobs, onStore, startWorker } from "../testing/command/Working.ts"
import { onClock } from "../testing/onClock.ts"

const hour = 3_600_000

const onNode = <A, E, R>(offset: number, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => onClock(() => offset, effect)

const S = State({ Waiting: {}, Over: {} })
const E = Event({ Remind: {}, Reminded: {} })

/** One deadline by its state, one by a delayed event. */
const deadline = (name: string) =>
  Machine.make({ name, state: S, event: E, initial: S.Waiting })
    .timeout(S.Waiting, "20 minutes", S.Over)
    .on(S.Waiting, E.Remind, stay, ({ after }) => {
      after("reminder", "10 minutes", E.Reminded())
      return stay
    })
    .on(S.Waiting, E.Reminded, S.Over)
    .final(S.Over)

describe("the database's clock", () => {
  it.live("141 deadlines that a node an hour ahead or behind sets are the database's time plus the duration", () =>
    Effect.gen(function* () {
      const timers = yield* Timers
      for (const [node, offset] of [
        ["ahead", hour],
        ["behind", -hour],
      ] as const) {
        const machine = deadline(node)
        const minutes = Effect.map(timers.nextDue([node]), (next) => Math.round(Option.getOrThrow(next) / 60_000))
        const set = Effect.gen(function* () {
          const engine = yield* Engine
          const instance = yield* engine.start(machine, "one", S.Waiting())
          assert.strictEqual(yield* minutes, 20)
          yield* instance.send(E.Remind())
          assert.strictEqual(yield* minutes, 10)
          yield* engine.startAll(machine, [{ id: "two", input: S.Waiting() }])
          assert.strictEqual(yield* minutes, 10)
        })
        yield* onNode(offset, Effect.provide(set, Layer.fresh(Engine.layer({ worker: false }))))
      }
    }).pipe(Effect.provide(Layer.fresh(postgresSchemaLayer))),
  )

  it.live("141 a node an hour ahead or behind claims exactly the timers that are due, and no claim of another", () =>
    Effect.gen(function* () {
      const [journal, timers, { machine }] = [yield* Journal, yield* Timers, yield* freshKey]
      const now = yield* journal.clock
      const timer = (due: number) => [{ name: "t", entry: 0, due }]
      yield* journal.commit([
        commit({ machine, id: "overdue" }, -1, { setTimers: timer(now - hour / 2) }),
        commit({ machine, id: "soon" }, -1, { setTimers: timer(now + hour / 2) }),
      ])
      const claim = (offset: number, owner: string, claimMillis: number) =>
        onNode(
          offset,
          Effect.map(timers.claim({ machines: [machine], limit: 10, owner, claimMillis }), (claimed) => claimed.map(({ id }) => id)),
        )
      assert.deepStrictEqual(yield* claim(hour, "ahead", 0), ["overdue"])
      assert.deepStrictEqual(yield* claim(-hour, "behind", 60_000), ["overdue"])
      assert.deepStrictEqual(yield* claim(hour, "ahead", 60_000), [])
      for (const offset of [hour, -hour]) {
        const next = Option.getOrThrow(yield* onNode(offset, timers.nextDue([machine])))
        assert.isTrue(next > hour / 2 - 60_000 && next <= hour / 2, `next timer in ${next} ms`)
        assert.isTrue(Math.abs((yield* onNode(offset, journal.clock)) - now) < 60_000)
        assert.deepStrictEqual(yield* onNode(offset, timers.unserved([], hour)), [])
        assert.deepStrictEqual(yield* onNode(offset, timers.unserved([], hour / 4)), [machine])
      }
    }).pipe(Effect.provide(Layer.fresh(postgresSchemaLayer))),
  )

  it.live("141 a node an hour ahead takes no lease that is held, and one an hour behind keeps what it holds", () =>
    Effect.gen(function* () {
      const leases = yield* Leases
      const held = yield* onNode(-hour, leases.acquire("node", "behind", 60_000))
      assert.strictEqual(held._tag, "Acquired")
      assert.strictEqual((yield* onNode(hour, leases.acquire("node", "ahead", 60_000)))._tag, "Busy")
      assert.isFalse(yield* onNode(hour, leases.fenceHolder("node")))
      if (held._tag === "Acquired") assert.isTrue(Option.isSome(yield* onNode(-hour, leases.extend(held.lease, 60_000))))
    }).pipe(Effect.provide(Layer.fresh(postgresSchemaLayer))),
  )

  it.live("141 a worker an hour ahead runs no delayed command early, and takes no command that another holds", () =>
    Effect.gen(function* () {
      const commands = yield* Commands
      const command = (key: string, delayMillis: number) => ({
        key,
        queue: "mail",
        slot: "send",
        parameters: "{}",
        instance: undefined,
        priority: 0,
        ordered: false,
        runAt: undefined,
        delayMillis,
      })
      yield* onNode(-hour, commands.enqueue([command("now", 0), command("later", hour / 2)]))
      const claim = (offset: number, worker: string) =>
        onNode(
          offset,
          Effect.map(
            commands.exchange({ worker, finished: [], wants: [{ queue: "mail", limit: 5 }], claimMillis: 60_000 }),
            ({ claimed }) => claimed.map(({ key }) => key),
          ),
        )
      assert.deepStrictEqual(yield* claim(-hour, "behind"), ["now"])
      assert.deepStrictEqual(yield* claim(hour, "ahead"), [])
      assert.strictEqual(yield* onNode(hour, commands.releaseExpired), 0)
    }).pipe(Effect.provide(Layer.fresh(postgresSchemaLayer))),
  )

  it.live("141 a clock that is set an hour forward, then two back, neither ends a handler that runs nor loses its claim", () =>
    Effect.gen(function* () {
      let offset = 0
      let began = 0
      const [ahead, behind] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const queue = jobs("clock")
      yield* queue.enqueue({ name: "one" })
      const set = (to: number) => Effect.sync(() => (offset = to))
      const handle = () =>
        Effect.gen(function* () {
          began++
          yield* set(hour)
          yield* Deferred.await(ahead)
          yield* set(-hour)
          yield* Deferred.await(behind)
        })
      const worker = onStore(
        ({ renew }) => ({
          renew: (...request) => Effect.tap(renew(...request), () => Deferred.succeed(offset > 0 ? ahead : behind, undefined)),
        }),
        startWorker(queue, handle, { claimDuration: "3 seconds", timeout: "20 minutes" }),
      )
      yield* onClock(() => offset, worker)
      yield* eventually(countsOf("clock"), ({ completed }) => completed === 1)
      assert.strictEqual(began, 1)
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(postgresSchemaLayer))),
  )

  it.effect("a test clock that is advanced by a day ends no attempt to connect and no statement", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      // More statements than connections that are kept open: some of them connect first.
      const asking = yield* Effect.forkChild(
        Effect.forEach([1, 2, 3, 4], (number) => sql`select pg_sleep(0.05)::text, ${number}::integer as number`, {
          concurrency: "unbounded",
        }),
        { startImmediately: true },
      )
      yield* TestClock.adjust("1 day")
      const rows = yield* Fiber.join(asking)
      assert.deepStrictEqual(
        rows.flat().map((row) => row["number"]),
        [1, 2, 3, 4],
      )
    }).pipe(Effect.provide(Layer.fresh(postgresSchemaLayer))),
  )
})
