/** Effect workflows on Effect's own engine: a cluster of one on the same database, as `SingleRunner` is documented. */
import { createHash, randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Crypto from "effect/Crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import * as ClusterWorkflowEngine from "effect/unstable/cluster/ClusterWorkflowEngine"
import * as SingleRunner from "effect/unstable/cluster/SingleRunner"
import { SqlClient } from "effect/unstable/sql/SqlClient"
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
    Layer.provide(Layer.succeed(Crypto.Crypto, nodeCrypto)),
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

const nodeCrypto = Crypto.make({
  randomBytes: (size) => randomBytes(size),
  digest: (algorithm, data) => Effect.sync(() => createHash(algorithm.toLowerCase().replace("-", "")).update(data).digest()),
})
