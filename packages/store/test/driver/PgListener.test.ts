/** The listener of the store while its sessions are killed: each message arrives, or the subscriber is called to read what it may have missed. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { inject } from "vitest"
import { makeListener } from "../../src/postgres/PgListener.ts"
import { freshName, kill, observer, open, ownDriver, sessions, until } from "./Driver.ts"

describe("the listener of PostgreSQL", () => {
  it.live("loses no message without a signal when its session is killed again and again", () =>
    Effect.gen(function* () {
      const [sql, watching, channel] = [yield* open(ownDriver, { maxConnections: 2 }), yield* observer, freshName()]
      yield* sql.unsafe(`create table ${channel} (n integer)`)
      const seen = new Set<number>()
      let connections = 0
      const subscribe = yield* makeListener(sql)
      const run = Effect.runForkWith(yield* Effect.context<never>())
      const catchUp = Effect.map(sql.unsafe<{ readonly n: number }>(`select n from ${channel}`), (rows) => {
        for (const { n } of rows) seen.add(n)
      })
      const reading: Array<Fiber.Fiber<void, unknown>> = []
      subscribe(channel, {
        heard: (payload) => seen.add(Number(payload)),
        connected: () => {
          connections++
          reading.push(run(catchUp))
        },
      })
      yield* until(
        "it listens",
        Effect.sync(() => connections),
        (count) => count > 0,
      )
      const sending = Effect.forEach(
        Array.from({ length: 600 }, (_, n) => n),
        (n) =>
          Effect.andThen(
            sql.withTransaction(Effect.andThen(sql.unsafe(`insert into ${channel} values (${n})`), sql.notify(channel, String(n)))),
            Effect.sleep("5 millis"),
          ),
        { discard: true },
      )
      const killing = Effect.forEach(
        Array.from({ length: 6 }, (_, turn) => turn),
        () =>
          Effect.gen(function* () {
            const [listening] = yield* until(
              "it listens again",
              watching<{ readonly pid: number }>`
                select pid from pg_stat_activity where application_name = 'detent listener' and query like ${`listen "${channel}"%`}`,
              (all) => all.length > 0,
            )
            yield* kill(watching, listening?.pid ?? 0)
            yield* Effect.sleep("200 millis")
          }),
        { discard: true },
      )
      yield* Effect.all([sending, killing], { concurrency: 2 })
      yield* until(
        "all are seen",
        Effect.sync(() => seen.size),
        (size) => size === 600,
      )
      yield* Effect.forEach(reading, (fiber) => Fiber.join(fiber), { discard: true })
      assert.isAtLeast(connections, 7)
    }),
  )

  it.live("hears messages of a client that can listen on connections of its pool only", () =>
    Effect.gen(function* () {
      const [sql, channel] = [yield* open(ownDriver, { maxConnections: 4 }), freshName()]
      const { listen, notify } = sql
      const heard: Array<string> = []
      let isConnected = false
      const subscribe = yield* makeListener({ listen, notify })
      subscribe(channel, {
        heard: (payload) => heard.push(payload),
        connected: () => {
          isConnected = true
        },
      })
      yield* until(
        "it listens",
        Effect.sync(() => isConnected),
        Boolean,
      )
      yield* sql.notify(channel, "hello")
      yield* until(
        "it is heard",
        Effect.sync(() => heard),
        (all) => all.includes("hello"),
      )
      const watching = yield* observer
      assert.isAbove((yield* sessions(watching, channel)).length, 0, inject("postgresUrl").slice(0, 8))
    }),
  )
})
