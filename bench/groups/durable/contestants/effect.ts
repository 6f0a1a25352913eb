/**
 * Effect's workflow engine on a cluster of one: workflows whose activities each return 200 bytes, which are stored. Once with the
 * defaults of `SingleRunner.layer()`, as documented for a single process, and once tuned: by default messages are encoded and
 * decoded as if they went to another runner, and the runner registers itself in the database.
 */
import * as PgClient from "@detent/durable/PgClient"
import * as SqliteClient from "@detent/durable/SqliteClient"
import * as ClusterWorkflowEngine from "effect/cluster/ClusterWorkflowEngine"
import * as SingleRunner from "effect/cluster/SingleRunner"
import * as Digest from "effect/crypto/Digest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import * as Activity from "effect/workflow/Activity"
import * as Workflow from "effect/workflow/Workflow"
import { payload } from "../machines/toggle.ts"
import { type ThroughputOptions, throughputOf } from "../Throughput.ts"

export const postgres = ({ database, concurrency }: ThroughputOptions) => storing(onPostgres(database), asItComes, concurrency)

export const postgresTuned = ({ database, concurrency }: ThroughputOptions) => storing(onPostgres(database), tuned, concurrency)

export const sqliteFull = ({ database, concurrency }: ThroughputOptions) => storing(onSqlite(database), asItComes, concurrency)

export const sqliteFullTuned = ({ database, concurrency }: ThroughputOptions) => storing(onSqlite(database), tuned, concurrency)

const asItComes = () => SingleRunner.layer()

/** There are no other runners, so serialisation to them is not simulated. */
const tuned = () => SingleRunner.layer({ runnerStorage: "memory", shardingConfig: { simulateRemoteSerialization: false } })

const onPostgres = (database: string) => PgClient.layer({ url: Redacted.make(database), maxConnections: 32 })

/** In WAL mode, which the client sets; synchronous=FULL is SQLite's default and set explicitly. */
const onSqlite = (database: string) =>
  Layer.effectDiscard(Effect.flatMap(SqlClient, (sql) => sql`pragma synchronous = full`)).pipe(
    Layer.provideMerge(SqliteClient.layer({ filename: database })),
  )

const Steps = Workflow.make("Steps", {
  payload: { id: Schema.String },
  success: Schema.Number,
  idempotencyKey: ({ id }) => id,
})

/** As many activities as fit into a turn, so that the cost of starting and ending a workflow hardly shows. */
const activityLimit = 1000

const storing = async <X>(database: Layer.Layer<SqlClient, X>, runner: typeof asItComes, concurrency: number) => {
  let isOver = () => true
  const stepsLayer = Steps.toLayer(
    Effect.fnUntraced(function* () {
      let done = 0
      while (done < activityLimit && !isOver()) {
        yield* Activity.make({ name: `step-${done}`, success: Schema.String, execute: Effect.succeed(payload) })
        done++
      }
      return done
    }),
  )
  const engine = ClusterWorkflowEngine.layer.pipe(
    Layer.provideMerge(runner()),
    Layer.provideMerge(database),
    Layer.provide(Digest.layerWebCrypto),
  )
  const runtime = ManagedRuntime.make(stepsLayer.pipe(Layer.provideMerge(engine)))
  let workflows = 0
  const workUntilOver = Effect.gen(function* () {
    let done = 0
    do done += yield* Steps.execute({ id: `workflow-${workflows++}` })
    while (!isOver())
    return done
  })
  return throughputOf({
    store: async (over) => {
      isOver = over
      const each = await runtime.runPromise(
        Effect.all(
          Array.from({ length: concurrency }, () => workUntilOver),
          { concurrency },
        ),
      )
      return each.reduce((sum, done) => sum + done, 0)
    },
    // Counts activities only: workflows are messages with replies too.
    count: async () => await runtime.runPromise(countActivities),
    close: () => runtime.dispose(),
  })
}

const countActivities = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [row] = yield* sql<{ readonly rows: number | bigint }>`
    select count(*) as rows from cluster_messages m
    where m.tag = 'activity' and exists (select 1 from cluster_replies r where r.request_id = m.id)`
  return Number(row?.rows)
})
