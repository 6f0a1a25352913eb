/** Loads sample data once: three orders, the included corpus as a batch, and a generated file as an upload. All resume like other work. */
import { mkdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import { StorageFolder } from "@detent/blobs/Storage"
import { ManifestFileJson } from "@detent/knowledge"
import { writeItemFile } from "@detent/uploads/generate"
import { defineConfig, findConfig } from "@detent/workspace/Config"
import { CurrentWorkspace } from "@detent/workspace/CurrentWorkspace"
import { localFolderOf } from "@detent/workspace/DataLocation"
import * as batches from "@detent/workspace/operations/batches"
import * as instances from "@detent/workspace/operations/instances"
import * as uploads from "@detent/workspace/operations/uploads"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { bankAnswersAfter, firstOrders, fullMailboxes, unpaidOrder } from "../demo/orders.ts"
import { serveProvider } from "../demo/Provider.ts"
import { makeShop } from "../demo/Shop.ts"
import { Output } from "../output/Output.ts"

export const demoFolder = fileURLToPath(new URL("../corpus/", import.meta.resolve("@detent/knowledge")))

/** The configuration of a demo in a folder without one: the order machine, with its providers on a loopback port. */
export const sampleShop = (data: string) =>
  Effect.map(
    serveProvider({
      ledger: join(isBucketLocation(data) ? ".detent" : resolve(data), "demo", "charges.jsonl"),
      answersAfter: bankAnswersAfter,
      fullMailboxes,
    }),
    ({ url }) => defineConfig({ machines: [makeShop(url)] }),
  )

/** Starts the orders, unless a configuration names other machines. */
const loadOrders = Effect.gen(function* () {
  const { note, noteStyle } = yield* Output
  if (Option.isSome(yield* findConfig("."))) return
  const before = yield* instances.list({ machine: "order", limit: 1 })
  if (before.instances.length > 0) return
  for (const [id, input] of Object.entries(firstOrders)) {
    yield* instances.start({ machine: "order", id, input })
    if (id !== unpaidOrder) yield* instances.send({ machine: "order", id }, { _tag: "Pay" })
  }
  yield* note(noteStyle.dim("3 orders: detent instance history order-1"))
})

export const loadDemo = Effect.gen(function* () {
  const { data } = yield* CurrentWorkspace
  const { note, noteStyle } = yield* Output
  yield* loadOrders
  const started = yield* batches.list({ limit: 1 })
  if (started.batches.length === 0) {
    const manifest = yield* Schema.decodeEffect(ManifestFileJson)(readFileSync(join(demoFolder, "manifest.json"), "utf8"))
    const { batchId } = yield* batches.start({ folder: StorageFolder.make(pathToFileURL(demoFolder).href), manifest })
    yield* note(noteStyle.dim(`${manifest.documents.length} documents: detent batch watch ${batchId}`))
  }
  const before = yield* uploads.list({ limit: 1 })
  if (before.uploads.length > 0) return
  const folder = join(localFolderOf(data), "demo")
  const file = join(folder, "items.jsonl")
  yield* Effect.promise(async () => {
    mkdirSync(folder, { recursive: true })
    await writeItemFile(file, { items: 2000, seed: 11, layout: "lines", bad: { missing_id: 0.005, duplicate: 0.005 } })
  })
  const { batchId } = yield* uploads.start(file, { force: false })
  yield* note(noteStyle.dim(`2000 items: detent upload show ${batchId}`))
})
