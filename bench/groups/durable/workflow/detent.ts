/** Effect workflows on our engine, with its default settings. */
import { DurableWorkflow } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { SqlClient } from "effect/sql/SqlClient"
import type { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import { Steps, stepsLayer } from "./steps.ts"
import { workflowsOf } from "./Workload.ts"

export const onSqlite = (filename: string) => DurableWorkflow.layer().pipe(Layer.provideMerge(SqliteStore.layer({ filename })))

export const postgres = ({ database }: { readonly database: string }) =>
  running(DurableWorkflow.layer().pipe(Layer.provideMerge(PostgresStore.layer({ url: database }))), "detent.events")

export const sqlite = ({ database }: { readonly database: string }) => running(onSqlite(database), "detent_events")

const running = async <X>(engine: Layer.Layer<WorkflowEngine | SqlClient, X>, events: string) => {
  const runtime = ManagedRuntime.make(stepsLayer.pipe(Layer.provideMerge(engine)))
  await runtime.runPromise(Effect.void)
  return workflowsOf({
    run: (id) => runtime.runPromise(Steps.execute({ id })),
    count: () =>
      runtime.runPromise(
        Effect.gen(function* () {
          const sql = yield* SqlClient
          const [row] = yield* sql<{ readonly steps: number | bigint }>`
            select count(*) as steps from ${sql.literal(events)} where tag like 'Activity/%'`
          return Number(row?.steps)
        }),
      ),
    close: () => runtime.dispose(),
  })
}
