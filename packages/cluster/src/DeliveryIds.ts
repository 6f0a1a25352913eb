/**
 * Forgets the ids that nodes gave to events on their way to other nodes. A node sends an event again under its id for as long as its
 * patience lasts; after that the id only takes room in the index of ids, and keeps the event in journals that are pruned.
 *
 * An event is old by its time in the journal, which is that of a node's clock. So that a node whose clock is behind does not have its
 * ids forgotten at once, an event must also have been stored before an earlier turn of this loop: the transaction that stored it is
 * older than all that ran then.
 */
import { DatabaseClock, deliveryPrefix, forkLoop } from "@detent/durable/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"

const keptMillis = 60 * 60 * 1000

const intervalMillis = 60_000

/** How many events one statement changes. */
const batchSize = 1000

/** The first text after all that begin with the prefix, in the order of bytes. */
const afterPrefix = `${deliveryPrefix.slice(0, -1)}0`

/** The index by which old ids are found. It has the ids that are not forgotten yet, and nothing else. */
export const deliveryIndex = (schema: string): string =>
  `create index events_delivery on ${schema}.events (at) where dedupe_id >= '${deliveryPrefix}' and dedupe_id < '${afterPrefix}'`

export interface DeliveryIds {
  /** A moment in the order of transactions: those that end later are not before it. */
  readonly moment: Effect.Effect<string, SqlError>
  /** Forgets ids of events that are older than this and were stored before the moment. Returns how many. */
  readonly forget: (olderThanMillis: number, before: string) => Effect.Effect<number, SqlError>
}

export const makeDeliveryIds = (schema: string): Effect.Effect<DeliveryIds, never, SqlClient> =>
  Effect.gen(function* () {
    const sql = (yield* SqlClient).withoutTransforms()
    const now = yield* (yield* DatabaseClock)(sql)
    const events = sql.literal(`${schema}.events`)
    const isDelivery = sql.literal(`dedupe_id >= '${deliveryPrefix}' and dedupe_id < '${afterPrefix}'`)
    const forgetSome = (olderThanMillis: number, before: string) =>
      sql<{ sequence: number }>`
        update ${events} e set dedupe_id = null
        from (
          select instance, sequence from ${events}
          where ${isDelivery} and at <= ${now} - ${olderThanMillis} and age(xmin) > age(${before}::xid)
          order by at limit ${batchSize} for update skip locked
        ) old
        where e.instance = old.instance and e.sequence = old.sequence
        returning e.sequence`
    return {
      moment: Effect.map(
        sql<{ moment: string }>`select pg_snapshot_xmin(pg_current_snapshot())::xid::text as moment`,
        ([row]) => row?.moment ?? "",
      ),
      forget: (olderThanMillis, before) =>
        Effect.gen(function* () {
          for (let forgotten = 0; ; ) {
            const some = yield* forgetSome(olderThanMillis, before)
            forgotten += some.length
            if (some.length < batchSize) return forgotten
          }
        }),
    }
  })

/** Forgets ids for as long as the scope lasts. `resentMillis`: for how long a node may send an event again. */
export const forgetDeliveryIds = (schema: string, resentMillis: number): Effect.Effect<void, never, Scope.Scope | SqlClient> =>
  Effect.gen(function* () {
    const ids = yield* makeDeliveryIds(schema)
    let earlier: ReadonlyArray<{ readonly at: number; readonly moment: string }> = []
    const turn = Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      earlier = [...earlier, { at, moment: yield* ids.moment }]
      const passed = earlier.filter((one) => at - one.at >= resentMillis)
      const before = passed.at(-1)
      if (before !== undefined) {
        earlier = earlier.slice(passed.length - 1)
        yield* ids.forget(keptMillis, before.moment)
      }
      yield* Effect.sleep(intervalMillis * (0.8 + 0.4 * (yield* Random.next)))
    })
    yield* forkLoop("the ids of deliveries", turn)
  })
