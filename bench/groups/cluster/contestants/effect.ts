/**
 * Entities of Effect's own cluster, one for each instance. With volatile messages the handler stores the event and the new state in
 * one statement. With persisted messages the cluster stores the message and its reply, and the handler nothing.
 */

import * as PgClient from "@detent/durable/PgClient"
import * as NodeClusterSocket from "@effect/platform-node/NodeClusterSocket"
import * as ClusterSchema from "effect/cluster/ClusterSchema"
import * as Entity from "effect/cluster/Entity"
import { RunnerAddress } from "effect/cluster/RunnerAddress"
import { Sharding } from "effect/cluster/Sharding"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as References from "effect/References"
import * as Rpc from "effect/rpc/Rpc"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { payload } from "../../durable/machines/toggle.ts"
import { sendFor } from "../Senders.ts"
import { hotInstances, type MemberOptions } from "../Team.ts"

const Turn = Rpc.make("Turn", { payload: { payload: Schema.String }, success: Schema.Int })

const Volatile = Entity.make("Toggle", [Turn])
const Persisted = Entity.make("Toggle", [Turn.annotate(ClusterSchema.Persisted, true)])

const tables = [
  `create table if not exists instances (
    id text primary key, sequence integer not null, tag text not null, updated_at bigint not null
  ) with (fillfactor = 70)`,
  `create table if not exists events (
    id text not null, sequence integer not null, at bigint not null, tag text not null, body text not null, primary key (id, sequence)
  )`,
]

const storing = Volatile.toLayer(
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const { entityId } = yield* Entity.CurrentAddress
    yield* sql`insert into instances values (${entityId}, 0, 'Even', 0) on conflict do nothing`
    const read = Effect.map(
      sql<{ readonly sequence: number }>`select sequence from instances where id = ${entityId}`,
      ([found]) => found?.sequence ?? 0,
    )
    let sequence = yield* read
    const append = (body: string): Effect.Effect<number, SqlError> =>
      Effect.gen(function* () {
        const next = sequence + 1
        const tag = next % 2 === 0 ? "Even" : "Odd"
        const stored = yield* sql`
          with moved as (
            update instances set sequence = ${next}, tag = ${tag}, updated_at = ${Date.now()}
            where id = ${entityId} and sequence = ${next - 1} returning id
          )
          insert into events (id, sequence, at, tag, body) select id, ${next}, ${Date.now()}, ${tag}, ${body} from moved returning sequence`
        // The previous runner of the entity may still have stored an event.
        sequence = stored.length === 1 ? next : yield* read
        return stored.length === 1 ? next : yield* append(body)
      })
    return Volatile.of({ Turn: ({ payload }) => Effect.orDie(append(JSON.stringify(payload))) })
  }).pipe(Effect.orDie),
)

const counting = Persisted.toLayer(
  Effect.sync(() => {
    let sequence = 0
    return Persisted.of({ Turn: () => Effect.sync(() => ++sequence) })
  }),
)

const countEvents = Effect.flatMap(SqlClient, (sql) => sql<{ readonly rows: string }>`select count(*)::text as rows from events`)

const countReplied = Effect.flatMap(
  SqlClient,
  (sql) => sql<{ readonly rows: string }>`
    select count(*)::text as rows from cluster_messages m
    where m.tag = 'Turn' and exists (select 1 from cluster_replies r where r.request_id = m.id)`,
)

/** With these settings it hands shards over within seconds, and does not serialise messages that stay in the process. */
const cluster = ({ database, port }: MemberOptions) =>
  NodeClusterSocket.layer({
    shardingConfig: {
      runnerAddress: Option.some(RunnerAddress.make({ host: "127.0.0.1", port })),
      refreshAssignmentsInterval: "500 millis",
      entityMessagePollInterval: "250 millis",
      entityReplyPollInterval: "50 millis",
      sendRetryInterval: "50 millis",
      simulateRemoteSerialization: false,
    },
  }).pipe(Layer.provideMerge(PgClient.layer({ url: Redacted.make(database), maxConnections: 10 })))

export const volatile = (options: MemberOptions) => sending(options, Volatile, storing, countEvents)

export const persisted = (options: MemberOptions) => sending(options, Persisted, counting, countReplied)

const sending = async (
  options: MemberOptions,
  entity: typeof Volatile | typeof Persisted,
  entities: typeof storing | typeof counting,
  count: typeof countEvents | typeof countReplied,
) => {
  const runtime = ManagedRuntime.make(
    entities.pipe(Layer.provideMerge(cluster(options)), Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error"))),
  )
  if (options.member === 0) await runtime.runPromise(Effect.flatMap(SqlClient, (sql) => Effect.forEach(tables, (one) => sql.unsafe(one))))
  const clientOf = await runtime.runPromise(entity.client)
  await runtime.runPromise(Effect.map(Sharding, (sharding) => sharding))
  const sends = Array.from({ length: options.senders }, (_, index) => {
    const client = clientOf(`toggle-${index % hotInstances}`)
    return Effect.suspend(() => client.Turn({ payload }))
  })
  return {
    play: (millis: number) => sendFor(millis, sends, (effect) => runtime.runPromise(effect)),
    stored: async () => Number((await runtime.runPromise(count))[0]?.rows),
    shards: async () => 0,
    close: () => runtime.dispose(),
  }
}
