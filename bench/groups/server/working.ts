/** Runs one batch of the documents in a folder, in the given workspace. Prints the id of the batch once it is started. */
import { pathToFileURL } from "node:url"
import { StorageFolder } from "@detent/blobs"
import { Batches, ManifestFile } from "@detent/knowledge"
import { Workspace } from "@detent/server"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const [, , data = "", documents = "", count = "0"] = process.argv
const manifest = Schema.decodeUnknownSync(ManifestFile)({
  targetNamespace: "coast",
  ontology: "ontology.ttl",
  examples: "examples.jsonl",
  documents: Array.from({ length: Number(count) }, (_, index) => ({ source: `${index}.txt` })),
})

const program = Effect.gen(function* () {
  const batches = yield* Batches
  const id = yield* batches.start(StorageFolder.make(`${pathToFileURL(documents).href}/`), manifest)
  console.log(JSON.stringify({ batchId: id }))
  yield* batches.awaitEnd(id)
  // Keeps running, because its last events are still being written to the log.
  return yield* Effect.never
})
process.stdin.on("end", () => process.exit()).resume()
await Effect.runPromise(Effect.provide(program, Workspace.open({ data, role: "work", readable: [documents], knowledge: {} })))
