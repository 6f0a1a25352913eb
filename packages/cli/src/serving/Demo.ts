/** Sample data: the shipped corpus as a batch, and a generated file as an upload. Loaded once; it resumes like any other. */
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { Batches, ManifestFileJson, StorageFolder } from "@detent/knowledge"
import { Uploads } from "@detent/uploads"
import { writeItemFile } from "@detent/uploads/generate"
import { Workspace } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Output } from "../output/Output.ts"

export const demoFolder = fileURLToPath(new URL("../corpus/", import.meta.resolve("@detent/knowledge")))

export const loadDemo = Effect.gen(function* () {
  const batches = yield* Batches
  const uploads = yield* Uploads
  const { data } = yield* Workspace
  const { note, noteStyle } = yield* Output
  const started = yield* batches.list({ limit: 1 })
  if (started.instances.length === 0) {
    const manifest = yield* Schema.decodeEffect(ManifestFileJson)(readFileSync(join(demoFolder, "manifest.json"), "utf8"))
    const id = yield* batches.start(StorageFolder.make(`${pathToFileURL(demoFolder).href}`), manifest)
    yield* note(noteStyle.dim(`${manifest.documents.length} documents: detent batch watch ${id}`))
  }
  const before = yield* uploads.batches({ limit: 1 })
  if (before.batches.length > 0) return
  const file = join(data, "demo", "items.jsonl")
  yield* Effect.promise(async () => {
    mkdirSync(join(data, "demo"), { recursive: true })
    await writeItemFile(file, { items: 2000, seed: 11, layout: "lines", bad: { missing_id: 0.005, unknown_type: 0.005 } })
  })
  const { batchId } = yield* uploads.start(file)
  yield* note(noteStyle.dim(`2000 items: detent upload show ${batchId}`))
})
