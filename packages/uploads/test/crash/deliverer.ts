/** A process that uploads and delivers by its arguments, and may kill itself in a delivery. Each delivery adds a line to a file. */
import { appendFileSync } from "node:fs"
import { Engine } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import { defineUpload, Uploads } from "../../src/index.ts"
import type { Address } from "../support/Databases.ts"

export interface Delivering {
  readonly address: Address
  readonly path: string
  readonly log: string
  /** The delivery after whose line the process kills itself, before it is recorded as done. */
  readonly dies: number | undefined
}

process.on("message", ({ address, path, log, dies }: Delivering) => {
  let sent = 0
  const Rows = defineUpload({
    name: "Rows",
    schema: Schema.Struct({ id: Schema.Int }),
    id: "id",
    deliver: {
      batchSize: 100,
      send: ({ key, items }) =>
        Effect.sync(() => {
          appendFileSync(log, `${JSON.stringify({ key, ids: items.map(({ id }) => Number(id)) })}\n`)
          if (++sent === dies) process.kill(process.pid, "SIGKILL")
        }),
    },
  })
  const store = address._tag === "Sqlite" ? SqliteStore.layer({ filename: address.filename }) : PostgresStore.layer({ url: address.url })
  const layer = Uploads.layer({ uploads: [Rows], deliver: { claimDuration: "1 second", pollInterval: "200 millis" } }).pipe(
    Layer.provideMerge(Engine.layer({ worker: false, lease: "1 second", nodeId: "deliverer" })),
    Layer.provide(store),
    Layer.provide(Logger.layer([])),
  )
  const work = Effect.gen(function* () {
    const uploads = yield* Uploads
    yield* Effect.catchTag(uploads.start(path, { batchId: "rows" }), "BatchExists", () => Effect.void)
    yield* uploads.finished("rows")
    process.send?.("stored")
    // The test ends this process when it has seen all deliveries.
    return yield* Effect.never
  })
  Effect.runPromise(Effect.provide(work, layer)).catch((cause: unknown) => {
    console.error(cause)
    process.exit(1)
  })
})
process.send?.("ready")
