/** Uploads a file: node detent.ts FILE DATABASE COUNT. Prints its measurements. */
// Checks of values against schemas, compiled: what the README of packages/entity recommends for speed.
import "effect/schema/SchemaJITCompiler/enable"
import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { Uploads } from "@detent/uploads"
import { Posts } from "@detent/uploads/generate"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { measured } from "./measured.ts"

const [, , file = "", database = "", count = "0"] = process.argv

const runtime = ManagedRuntime.make(
  Uploads.layer({ uploads: [Posts] }).pipe(
    Layer.provide(Engine.layer()),
    Layer.provide(SqliteStore.layer({ filename: database })),
    Layer.provideMerge(Logger.layer([])),
  ),
)
const uploads = await runtime.runPromise(Effect.map(Uploads, (service) => service))
await measured(Number(count), async () => {
  const { state, items } = await runtime.runPromise(Effect.flatMap(uploads.start(file), ({ batchId }) => uploads.finished(batchId)))
  if (state !== "completed" || items.stored !== Number(count)) throw new Error(`${state} with ${items.stored} of ${count} items`)
})
await runtime.dispose()
