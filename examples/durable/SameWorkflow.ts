/**
 * One Effect workflow on two engines: Effect's own on a cluster of one node, and the journal. Only the layer changes, not the
 * workflow.
 *
 * Run it: `npx node examples/durable/SameWorkflow.ts`. Both print the same result, and how long they took.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DurableWorkflow } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as ClusterWorkflowEngine from "effect/cluster/ClusterWorkflowEngine"
import * as SingleRunner from "effect/cluster/SingleRunner"
import * as Digest from "effect/crypto/Digest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as DurableClock from "effect/workflow/DurableClock"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"

export const Approval = DurableDeferred.make("approval", { success: Schema.String })

export const Report = Workflow.make("Report", {
  payload: { title: Schema.String },
  success: Schema.String,
  error: Schema.String,
  idempotencyKey: ({ title }) => title,
})

export const reportLayer = Report.toLayer(({ title }) =>
  Effect.gen(function* () {
    const draft = yield* Activity.make({ name: "draft", success: Schema.String, execute: Effect.succeed(`draft of ${title}`) })
    yield* DurableClock.sleep({ name: "let it rest", duration: 100, inMemoryThreshold: 0 })
    const by = yield* DurableDeferred.await(Approval)
    const send = Activity.make({
      name: "send",
      success: Schema.String,
      error: Schema.String,
      execute: Effect.flatMap(Activity.CurrentAttempt, (attempt) =>
        attempt < 3 ? Effect.fail("the line is busy") : Effect.succeed(`${draft}, approved by ${by}, sent at attempt ${attempt}`),
      ),
    })
    return yield* Activity.retry(send, { times: 5 })
  }),
)

/** Starts a report, approves it, and waits for it. */
export const publish = (title: string) =>
  Effect.gen(function* () {
    const executionId = yield* Report.execute({ title }, { discard: true })
    const token = DurableDeferred.tokenFromExecutionId(Approval, { workflow: Report, executionId })
    yield* DurableDeferred.succeed(Approval, { token, value: "Grace" })
    return yield* Report.execute({ title })
  })

export const onJournal = (filename: string) => DurableWorkflow.layer().pipe(Layer.provide(SqliteStore.layer({ filename })))

export const onCluster = (filename: string) =>
  ClusterWorkflowEngine.layer.pipe(
    // By default the cluster polls for due durable clocks every ten seconds.
    Layer.provide(SingleRunner.layer({ runnerStorage: "memory", shardingConfig: { entityMessagePollInterval: "100 millis" } })),
    Layer.provide(SqliteStore.layer({ filename })),
    Layer.provide(Digest.layerWebCrypto),
  )

if (import.meta.main) {
  const folder = mkdtempSync(join(tmpdir(), "same-workflow-"))
  for (const [name, engine] of [
    ["the journal", onJournal(join(folder, "journal.db"))],
    ["Effect's cluster", onCluster(join(folder, "cluster.db"))],
  ] as const) {
    const started = performance.now()
    const result = await Effect.runPromise(publish("the year").pipe(Effect.provide(reportLayer.pipe(Layer.provideMerge(engine)))))
    console.log(`on ${name}: ${result} (${(performance.now() - started).toFixed(0)} ms)`)
  }
  rmSync(folder, { recursive: true })
}
