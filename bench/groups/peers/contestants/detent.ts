/** Effect workflows on our engine, with its default settings. */
import { CommandQueue, CommandWorker, DurableWorkflow } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import { countRows } from "../../durable/contestants/detent.ts"
import { queueOf } from "../Jobs.ts"
import { peerOf } from "../Peer.ts"
import { runningEffect } from "./effectWorkflows.ts"

export { postgres as transition, postgres as transitions } from "../../durable/contestants/detent.ts"

export const peer = ({ database }: { readonly database: string }) =>
  peerOf((code) =>
    runningEffect(
      DurableWorkflow.layer().pipe(Layer.provideMerge(PostgresStore.layer({ url: database }))),
      "select count(*) as completed from detent.instances where machine like 'workflow/%' and status = 'final' and tag = 'Completed'",
      code,
    ),
  )

const Jobs = CommandQueue.make("jobs", { payload: Schema.Struct({ number: Schema.Number, payload: Schema.String }) })

export const queue = ({ database }: { readonly database: string }) =>
  queueOf(async (executed) => {
    const worker = CommandWorker.layer([Jobs.handler(({ number }) => Effect.sync(() => executed(number)))])
    const runtime = ManagedRuntime.make(worker.pipe(Layer.provideMerge(PostgresStore.layer({ url: database }))))
    await runtime.runPromise(Effect.void)
    return {
      enqueue: (number, payload) => runtime.runPromise(Jobs.enqueue({ number, payload })),
      unfinished: () => runtime.runPromise(countRows("detent.commands where status <> 'completed'")),
      close: () => runtime.dispose(),
    }
  })
