/** Commands, changed instances and domain events of one process are heard over one connection. */

import { Commands, Journal, LoopHealth } from "@detent/store"
import * as PostgresStore from "@detent/store/PostgresStore"
import { eventually } from "@detent/store/testing/CommandKit"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { EventJournal } from "effect/eventlog/EventJournal"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { freshDatabase } from "../../store/test/support/Postgres.ts"
import { EventFeed } from "../src/journal/EventFeed.ts"
import * as SqlEventJournal from "../src/SqlEventJournal.ts"

/** Two journals that are read by announcements alone, beside a store. */
const processOn = (url: string) => {
  const journal = (name: string) => SqlEventJournal.layer({ journal: name, pollInterval: "1 hour" })
  const store = PostgresStore.layer({ url, maxConnections: 3 })
  const feeds = Layer.effect(
    Feeds,
    Effect.map(Effect.all([feedOf(journal("orders")), feedOf(journal("mails"))]), ([orders, mails]) => ({ orders, mails })),
  )
  return Layer.build(Layer.fresh(feeds.pipe(Layer.provideMerge(store))))
}

type Feed = Context.Context<EventFeed | EventJournal>

const feedOf = (layer: ReturnType<typeof SqlEventJournal.layer>) => Layer.build(layer)

class Feeds extends Context.Service<Feeds, { readonly orders: Feed; readonly mails: Feed }>()("test/Feeds") {}

type Process = Context.Context<Feeds | Journal | Commands | SqlClient | LoopHealth>

/** Subscribes to everything that other processes announce. */
const following = (process: Process) =>
  Effect.gen(function* () {
    const heard = { orders: 0, mails: 0, instances: new Set<string>(), commands: new Set<string>() }
    const { orders, mails } = Context.get(process, Feeds)
    const count = (feed: Feed, name: "orders" | "mails") =>
      Effect.forkScoped(
        Stream.runForEach(Context.get(feed, EventFeed).stream(), () =>
          Effect.sync(() => {
            heard[name]++
          }),
        ),
      )
    yield* count(orders, "orders")
    yield* count(mails, "mails")
    Context.get(process, Journal).changed?.listen((keys) => {
      for (const { id } of keys) heard.instances.add(id)
    })
    Context.get(process, Commands).signal.listen((queues) => {
      for (const queue of queues ?? []) heard.commands.add(queue)
    })
    return heard
  })

const listeners = (process: Process) =>
  Context.get(process, SqlClient)<{ readonly pid: number }>`
    select pid from pg_stat_activity where application_name = 'detent listener' and datname = current_database()`

const write = (feed: Feed) =>
  Context.get(feed, EventJournal).write({ event: "Written", primaryKey: "a", payload: new Uint8Array(), effect: () => Effect.void })

/** Announces until it is heard: a message that is sent before the other process listens is lost. */
const announce = (process: Process, name: string) =>
  Effect.sync(() => {
    Context.get(process, Journal).changed?.notify([{ machine: "order", id: name }])
    Context.get(process, Commands).signal.announce(new Set([name]))
  })

describe("the listener of PostgreSQL", () => {
  it.live("hears commands, instances and domain events over one connection, and again after that was cut", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const [one, other] = [yield* processOn(url), yield* processOn(url)]
      const heard = yield* following(one)
      const { orders, mails } = Context.get(other, Feeds)
      let written = 0
      const isHeard = (name: string) =>
        Effect.gen(function* () {
          yield* write(orders)
          yield* write(mails)
          written++
          const all = eventually(
            Effect.andThen(
              announce(other, name),
              Effect.sync(() => [heard.orders === written, heard.mails === written, heard.instances.has(name), heard.commands.has(name)]),
            ),
            (seen) => seen.every((isSeen) => isSeen),
          )
          assert.deepStrictEqual(yield* all, [true, true, true, true])
        })
      yield* isHeard("first")
      const [connection, ...more] = yield* listeners(other)
      assert.deepStrictEqual(more, [])
      assert.isDefined(connection)
      yield* Context.get(other, SqlClient)`select pg_terminate_backend(${connection?.pid ?? 0})::text`
      // Written before the listener is back: found when it is.
      yield* isHeard("second")
      yield* eventually(listeners(other), (found) => found.length === 1 && found[0]?.pid !== connection?.pid)
      yield* isHeard("third")
      assert.deepStrictEqual(Context.get(one, LoopHealth).outages(), [])
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None")),
  )
})
