/** Effect workflows on Effect's own engine: a cluster of one on the same database, as `SingleRunner` is documented. */
import * as PgClient from "@detent/durable/PgClient"
import * as SqliteClient from "@detent/durable/SqliteClient"
import * as ClusterWorkflowEngine from "effect/cluster/ClusterWorkflowEngine"
import * as SingleRunner from "effect/cluster/SingleRunner"
import * as Digest from "effect/crypto/Digest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { Steps, stepsLayer } from "./steps.ts"
import { workflowsOf } from "./Workload.ts"

export const postgres = ({ database }: { readonly database: string }) =>
  running(PgClient.layer({ url: Redacted.make(database), maxConnections: 32 }))

/** In WAL mode, which the client sets; synchronous=FULL is SQLite's default and set explicitly. */
export const sqlite = ({ database }: { readonly database: string }) =>
  running(
    Layer.effectDiscard(Effect.flatMap(SqlClient, (sql) => sql`pragma synchronous = full`)).pipe(
      Layer.provideMerge(SqliteClient.layer({ filename: database })),
    ),
  )

const running = async <X>(database: Layer.Layer<SqlClient, X>) => {
  const engine = ClusterWorkflowEngine.layer.pipe(
    // There are no other runners, so serialisation to them is not simulated.
    Layer.provideMerge(SingleRunner.layer({ runnerStorage: "memory", shardingConfig: { simulateRemoteSerialization: false } })),
    Layer.provideMerge(database),
    Layer.provide(Digest.layerWebCrypto),
  )
  const runtime = ManagedRuntime.make(stepsLayer.pipe(Layer.provideMerge(engine)))
  await runtime.runPromise(Effect.void)
  return workflowsOf({
    run: (id) => runtime.runPromise(Steps.execute({ id })),
    count: () =>
      runtime.runPromise(
        Effect.gen(function* () {
          const sql = yield* SqlClient
          const [row] = yield* sql<{ readonly steps: number | bigint }>`
            select count(*) as steps from cluster_messages m
            where m.tag = 'activity' and exists (select 1 from cluster_replies r where r.request_id = m.id)`
          return Number(row?.steps)
        }),
      ),
    close: () => runtime.dispose(),
  })
}
