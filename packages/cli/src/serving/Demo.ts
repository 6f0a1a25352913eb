/** Loads sample data once: the included corpus as a batch, and a generated file as an upload. Both resume like other work. */
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { ManifestFileJson, StorageFolder } from "@detent/knowledge"
import { writeItemFile } from "@detent/uploads/generate"
import { localFolderOf } from "@detent/workspace/DataLocation"
import * as batches from "@detent/workspace/operations/batches"
import * as uploads from "@detent/workspace/operations/uploads"
import { Workspace } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Output } from "../output/Output.ts"

export const demoFolder = fileURLToPath(new URL("../corpus/", import.meta.resolve("@detent/knowledge")))

export const loadDemo = Effect.gen(function* () {
  const { data } = yield* Workspace
  const { note, noteStyle } = yield* Output
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
    await writeItemFile(file, { items: 2000, seed: 11, layout: "lines", bad: { missing_id: 0.005, unknown_type: 0.005 } })
  })
  const { batchId } = yield* uploads.start(file, { force: false })
  yield* note(noteStyle.dim(`2000 items: detent upload show ${batchId}`))
})
