/** A process that uploads or resumes by its arguments, until it is killed. */
import { flushCompileCache } from "node:module"
import { Engine } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { Posts } from "../../src/generate/Post.ts"
import { Items, Uploads, type UploadsOptions } from "../../src/index.ts"
import { Stubborn } from "../support/Stubborn.ts"
import type { Death, Told, Work } from "./WorkerProcess.ts"

const tell = (told: Told) => process.send?.(told)

const doWork = ({ batchId, ask, kind = Posts.name }: Work) =>
  Effect.gen(function* () {
    const uploads = yield* Uploads
    tell({ _tag: "Open" })
    // The killed process may have got as far as asking.
    if (ask._tag === "Retry") yield* uploads.retryFailed(batchId)
    if (ask._tag === "Upload") yield* Effect.catchTags(uploads.start(ask.path, { batchId, kind }), { BatchExists: () => Effect.void })
    const { state, items, problem } = yield* uploads.finished(batchId)
    tell({ _tag: "Finished", state, items, problem: problem?.message })
  })

/** Dies in the middle of the step of its arguments. */
const dying = (death: Death | undefined): UploadsOptions => {
  const die = () => process.kill(process.pid, "SIGKILL")
  if (death === undefined) return { uploads: [Posts, Stubborn, Items] }
  if (death._tag === "Telling") return { uploads: [Posts, Stubborn, Items], notify: () => Effect.sync(die) }
  let checked = 0
  const check = () => {
    if (++checked === death.items) die()
    return undefined
  }
  return {
    // Without kept items, every item is checked while the file is validated, and again while it is extracted.
    keptBytes: 0,
    uploads: [Posts.with({ check }), Items.with({ check })],
  }
}

// Short, because most of the tests wait until the lease of a killed worker has ended.
const lease = "1 second"

process.on("message", (work: Work) => {
  const { address, nodeId } = work
  const store = address._tag === "Sqlite" ? SqliteStore.layer({ filename: address.filename }) : PostgresStore.layer({ url: address.url })
  const options: UploadsOptions = { itemLimit: { time: "400 millis", memory: 300 }, ...dying(work.dies) }
  const layer = Uploads.layer(options).pipe(
    Layer.provideMerge(Engine.layer({ worker: false, lease, ...(nodeId === undefined ? {} : { nodeId }) })),
    Layer.provide(store),
    Layer.provide(Logger.layer([])),
  )
  Effect.runPromise(Effect.provide(doWork(work), layer)).then(
    () => process.disconnect(),
    (cause: unknown) => {
      tell({ _tag: "Broken", problem: String(cause) })
      process.disconnect()
    },
  )
})

// A killed process does not write its cache of compiled modules, so this one does it before it may be killed.
flushCompileCache()
tell({ _tag: "Ready" })
