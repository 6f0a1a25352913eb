/** Detent's engine on PostgreSQL and SQLite: instances, each sent its next event when the last one is stored. */
import { Engine } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { SqlClient } from "effect/sql/SqlClient"
import { E, payload, Toggle } from "../machines/toggle.ts"
import { type ThroughputOptions, throughputOf } from "../Throughput.ts"

export const onPostgres = (url: string) => Engine.layer().pipe(Layer.provideMerge(PostgresStore.layer({ url })))

export const onSqlite = (filename: string, synchronous: "full" | "normal") =>
  Engine.layer().pipe(Layer.provideMerge(SqliteStore.layer({ filename, synchronous })))

export const postgres = ({ database, concurrency }: ThroughputOptions) => storing(onPostgres(database), "detent.events", concurrency)

export const sqliteFull = ({ database, concurrency }: ThroughputOptions) =>
  storing(onSqlite(database, "full"), "detent_events", concurrency)

export const sqliteNormal = ({ database, concurrency }: ThroughputOptions) =>
  storing(onSqlite(database, "normal"), "detent_events", concurrency)

const storing = async <X>(layer: Layer.Layer<Engine | SqlClient, X>, events: string, concurrency: number) => {
  const runtime = ManagedRuntime.make(layer)
  const instances = await runtime.runPromise(
    Effect.flatMap(Engine, (engine) =>
      Effect.forEach(Array.from({ length: concurrency }), (_, index) => engine.start(Toggle, `toggle-${index}`), { concurrency }),
    ),
  )
  const sendUntil = (isOver: () => boolean) =>
    Effect.forEach(
      instances,
      Effect.fnUntraced(function* (instance) {
        let sent = 0
        while (!isOver()) {
          yield* instance.send(E.Turn({ payload }))
          sent++
        }
        return sent
      }),
      { concurrency },
    )
  return throughputOf({
    store: async (isOver) => (await runtime.runPromise(sendUntil(isOver))).reduce((sum, sent) => sum + sent, 0),
    count: () => runtime.runPromise(countRows(events)),
    close: () => runtime.dispose(),
  })
}

export const countRows = (table: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql<{ readonly rows: number | bigint }>`select count(*) as rows from ${sql.literal(table)}`
    return Number(row?.rows)
  })
