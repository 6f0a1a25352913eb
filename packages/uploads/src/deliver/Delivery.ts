/**
 * Delivers stored items in batches to a handler of the user, through the outbox: a delivery is stored in the transaction of its items, and
 * is repeated under the same key until its handler succeeds.
 */
import { CommandQueue, type CommandQueue as Queue, Queues } from "@detent/durable"
import type { PersistenceFailed } from "@detent/machine"
import { Commands, type CommandsService } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type DeliverOptions, defaultBatch } from "../kind/DeliverOptions.ts"
import type { ItemOfBatch } from "../store/Dialect.ts"
import type { ItemTable } from "../store/ItemTable.ts"

const Payload = Schema.Struct({
  batchId: Schema.String,
  batch: Schema.Int,
  /** The ids and places of the items: their content is in the table of items. */
  items: Schema.Array(Schema.Tuple([Schema.String, Schema.Int])),
})
type Payload = typeof Payload.Type

/** The queue of the deliveries of a kind. */
export const deliveryQueue = (kind: string): string => `deliver/${kind}`

/** The deliveries of a kind. */
export interface Deliveries {
  /** Stores the deliveries of items, in the transaction that stores the items. */
  readonly enqueue: (batchId: string, items: ReadonlyArray<ItemOfBatch>) => Effect.Effect<void, PersistenceFailed>
  /** Sets the limits of the queue. */
  readonly limit: Effect.Effect<void, PersistenceFailed>
  readonly handler: Queue.QueueHandler<never>
}

export interface DeliverServices {
  readonly table: ItemTable
  readonly decode: (stored: unknown) => object
  readonly commands: CommandsService
}

export const makeDeliveries = (
  kind: string,
  { send, batchSize = defaultBatch, concurrency = 1, rate, retry, timeout }: DeliverOptions<object>,
  { table, decode, commands }: DeliverServices,
): Deliveries => {
  const settings = { ...(retry === undefined ? {} : { retry }), ...(timeout === undefined ? {} : { timeout }) }
  const queue = CommandQueue.make(deliveryQueue(kind), { payload: Payload, ...settings })
  const limits = { concurrency, ...(rate === undefined ? {} : { rate }) }
  return {
    enqueue: (batchId, items) =>
      queue.enqueueAll(batchesOf(items, batchSize).map((some) => payloadOf(batchId, some))).pipe(
        // Such a payload always fits, and no delivery belongs to an instance.
        Effect.catchTags({ InvalidCommand: (error) => Effect.die(error), InstanceNotFound: (error) => Effect.die(error) }),
        Effect.provideService(Commands, commands),
        Effect.asVoid,
      ),
    limit: Effect.provideService(Queues.limit(queue.name, limits), Commands, commands),
    handler: queue.handler(({ batchId, batch, items }: Payload, { key, attempts }) =>
      Effect.gen(function* () {
        const stored = new Map(
          (yield* table.load(
            batch,
            items.map(([id]) => id),
          )).map((one) => [one.id, one]),
        )
        const found = items.flatMap(([id, index]) => {
          const one = stored.get(id)
          return one?.index === index ? [{ id, index, item: decode(one.item) }] : []
        })
        if (found.length === 0) return
        const sent = send({ key, batchId, items: found, attempt: attempts })
        yield* Effect.asVoid(Effect.isEffect(sent) ? sent : Effect.promise(() => sent))
      }),
    ),
  }
}

const batchesOf = (items: ReadonlyArray<ItemOfBatch>, size: number): ReadonlyArray<ReadonlyArray<ItemOfBatch>> =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, place) => items.slice(place * size, (place + 1) * size))

/** An item is stored once in a batch, so that its index names the delivery that begins with it. */
const payloadOf = (batchId: string, items: ReadonlyArray<ItemOfBatch>) => ({
  payload: { batchId, batch: items[0]?.batch ?? 0, items: items.map(({ index, item }) => [item.id, index] as const) },
  key: `${batchId}:${items[0]?.index ?? 0}`,
})
